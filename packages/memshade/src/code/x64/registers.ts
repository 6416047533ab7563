/** General register or vector register. `number` is that of the instruction set; its bit 3 is encoded in a prefix. */
export interface Register {
  readonly kind: "general" | "vector";
  readonly number: number;
}

export const GENERAL_NAMES = [
  "rax",
  "rcx",
  "rdx",
  "rbx",
  "rsp",
  "rbp",
  "rsi",
  "rdi",
  "r8",
  "r9",
  "r10",
  "r11",
  "r12",
  "r13",
  "r14",
  "r15",
] as const;

export const GENERAL: readonly Register[] = GENERAL_NAMES.map((_, number) => ({ kind: "general", number }));
export const VECTOR: readonly Register[] = GENERAL_NAMES.map((_, number) => ({ kind: "vector", number }));

export const [RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI] = GENERAL;
export const [R8, R9, R10, R11, R12, R13, R14, R15] = GENERAL.slice(8);

export const bitsOf = (...names: (typeof GENERAL_NAMES)[number][]): number =>
  names.reduce((mask, name) => mask | (1 << GENERAL_NAMES.indexOf(name)), 0);

/** Registers that functions preserve by the System V ABI, including the stack pointer: one bit each. */
export const KEPT_BY_CALLS = bitsOf("rbx", "rbp", "rsp", "r12", "r13", "r14", "r15");
