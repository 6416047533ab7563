import type { HeapProfile } from "./heap-profile.ts";

/** Size of an AssemblyScript object's header: two links of the collector, the class, and the size. */
const ASSEMBLYSCRIPT_HEADER_BYTES = 16;

/** Returns true for AssemblyScript's allocator, whose objects a collector frees. */
export function areCollected(functions: readonly { readonly role: string }[]): boolean {
  return functions.some(({ role }) => role.startsWith("as_"));
}

/** Returns the bytes at the start of each block that the language's runtime uses. */
export function headerBytes(functions: readonly { readonly role: string }[]): number {
  return areCollected(functions) ? ASSEMBLYSCRIPT_HEADER_BYTES : 0;
}

/** Returns true if a collector frees the program's blocks, not the program itself. */
export function isCollected({ modules }: HeapProfile): boolean {
  return modules.some(({ allocator }) => areCollected(allocator?.functions ?? []));
}
