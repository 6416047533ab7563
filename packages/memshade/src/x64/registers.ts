/** A general register or a vector register. `number` is the one of the instruction set: bit 3 goes to a prefix. */
export interface Register {
  readonly kind: "general" | "vector";
  readonly number: number;
}

/** In the order of their numbers. */
export const GENERAL_NAMES = [
  ...["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"],
  ...["r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"],
] as const;

/** The general registers by their numbers. */
export const GENERAL: readonly Register[] = GENERAL_NAMES.map((_, number) => ({ kind: "general", number }));
/** xmm0 to xmm15. */
export const VECTOR: readonly Register[] = GENERAL_NAMES.map((_, number) => ({ kind: "vector", number }));

export const [RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI] = GENERAL;
export const [R8, R9, R10, R11, R12, R13, R14, R15] = GENERAL.slice(8);
