import type { Registers, UnwindTarget } from "../unwind/index.ts";

/**
 * The registers that outlive a call, and the stack pointer, by name in the order of their DWARF numbers: what is known
 * of every frame.
 */
export function registerNames(target: UnwindTarget): string[] {
  return [...target.calleeSaved, target.stackPointer]
    .sort((a, b) => a - b)
    .map((register) => target.registerNames[register]!);
}

/** `rbx=0x1`; undefined if the value is not known. */
export function registerText(registers: Registers, name: string): string | undefined {
  const value = registers.get(registers.target.registerNames.indexOf(name));
  return value === undefined ? undefined : `${name}=0x${value.toString(16)}`;
}
