/** A general register or a vector register. `number` is the one of the instruction set: bit 3 goes to a prefix. */
export interface Register {
  readonly kind: "general" | "vector";
  readonly number: number;
}

/** In the order of their numbers. */
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

/** The general registers by their numbers. */
export const GENERAL: readonly Register[] = GENERAL_NAMES.map((_, number) => ({ kind: "general", number }));
/** xmm0 to xmm15. */
export const VECTOR: readonly Register[] = GENERAL_NAMES.map((_, number) => ({ kind: "vector", number }));

export const [RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI] = GENERAL;
export const [R8, R9, R10, R11, R12, R13, R14, R15] = GENERAL.slice(8);

/** One bit each, by their numbers. */
export const bitsOf = (...names: (typeof GENERAL_NAMES)[number][]): number =>
  names.reduce((mask, name) => mask | (1 << GENERAL_NAMES.indexOf(name)), 0);

/** Registers that functions give back as they got them, by the System V ABI, the stack pointer among them: one bit each. */
export const KEPT_BY_CALLS = bitsOf("rbx", "rbp", "rsp", "r12", "r13", "r14", "r15");
