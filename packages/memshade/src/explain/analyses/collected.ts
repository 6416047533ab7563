import { areCollected } from "../../profile/model/collected-objects.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";

/** Returns true if a collector frees the program's blocks, not the program itself. */
export function isCollected({ modules }: HeapProfile): boolean {
  return modules.some(({ allocator }) => areCollected(allocator?.functions ?? []));
}
