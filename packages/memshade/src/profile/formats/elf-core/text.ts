import type { CoreMemory } from "./memory.ts";

const LONGEST_PATH = 4096;

/** The NUL-terminated text at an address. */
export function textAt(memory: CoreMemory, address: number | undefined): string {
  if (address === undefined || address === 0) return "";
  const bytes = memory.read(address, LONGEST_PATH);
  const end = bytes.indexOf(0);
  return end < 0 ? "" : new TextDecoder().decode(bytes.subarray(0, end));
}
