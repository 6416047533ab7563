export const KIB = 1024;
export const MIB = 1024 * KIB;

/** Page of a WebAssembly memory. */
export const WASM_PAGE_BYTES = 64 * KIB;

/** Page of a process's memory on x86-64. */
export const PAGE_BYTES = 4 * KIB;

/** Line of a processor's caches. */
export const LINE_BYTES = 64;

export function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
