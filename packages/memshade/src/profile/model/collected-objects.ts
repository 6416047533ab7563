/** Bytes before what the program keeps in an AssemblyScript object: two links of the collector, the class, and the size. */
const ASSEMBLYSCRIPT_HEADER_BYTES = 16;

/** Whether the functions of an allocator are those of AssemblyScript, whose objects a collector frees. */
export function areCollected(functions: readonly { readonly role: string }[]): boolean {
  return functions.some(({ role }) => role.startsWith("as_"));
}

/** Bytes at the beginning of each block that the language's runtime keeps for itself. */
export function headerBytes(functions: readonly { readonly role: string }[]): number {
  return areCollected(functions) ? ASSEMBLYSCRIPT_HEADER_BYTES : 0;
}
