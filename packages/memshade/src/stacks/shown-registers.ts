import type { UnwindTarget } from "../unwind/index.ts";

/**
 * The registers that outlive a call, and the stack pointer, by name in the order of their DWARF numbers: what is known
 * of every frame.
 */
export function registerNames(target: UnwindTarget): string[] {
  return [...target.calleeSaved, target.stackPointer]
    .sort((a, b) => a - b)
    .map((register) => target.registerNames[register]!);
}
