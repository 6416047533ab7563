import { areCollected } from "../../profile/model/collected-objects.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";

/** Whether a collector in the program frees its blocks, whenever it comes to that, and not the program itself. */
export function isCollected({ modules }: HeapProfile): boolean {
  return modules.some(({ allocator }) => areCollected(allocator?.functions ?? []));
}
