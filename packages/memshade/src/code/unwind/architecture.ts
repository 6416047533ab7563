import type { Architecture } from "../objects/types.ts";

/**
 * Description of a processor for the unwinder. Registers have their DWARF numbers everywhere: x86-64 psABI, figure
 * 3.36; DWARF for the Arm 64-bit Architecture, section 4.1.
 */
export interface UnwindTarget {
  readonly architecture: Architecture;
  /** Bytes of an address and of a register. */
  readonly wordSize: 4 | 8;
  /** Names of the recovered registers, by number; the last one is the program counter. */
  readonly registerNames: readonly string[];
  /** Column of the return address in a CIE, as compilers write it. */
  readonly returnAddress: number;
  /** Number of the register with the frame's pc: the last one. */
  readonly pc: number;
  readonly stackPointer: number;
  readonly framePointer: number;
  /** Register with the return address on entry to a function; undefined if the call pushes it. */
  readonly linkRegister: number | undefined;
  /** Registers that a function preserves, except the stack pointer. */
  readonly calleeSaved: readonly number[];
}

/** Pseudo register of AArch64 whose bit 0 is set if the return address is signed. */
export const RA_SIGN_STATE = 34;

const x86_64: UnwindTarget = {
  architecture: "x86_64",
  wordSize: 8,
  // biome-ignore format: the order is the point, rdx and rcx come before rbx
  registerNames: [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip",
  ],
  returnAddress: 16,
  pc: 16,
  stackPointer: 7,
  framePointer: 6,
  linkRegister: undefined,
  calleeSaved: [3, 6, 12, 13, 14, 15],
};

const aarch64: UnwindTarget = {
  architecture: "aarch64",
  wordSize: 8,
  registerNames: [...Array.from({ length: 31 }, (_, number) => `x${number}`), "sp", "pc"],
  returnAddress: 30,
  pc: 32,
  stackPointer: 31,
  framePointer: 29,
  linkRegister: 30,
  calleeSaved: [19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30],
};

const i386: UnwindTarget = {
  architecture: "i386",
  wordSize: 4,
  registerNames: ["eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"],
  returnAddress: 8,
  pc: 8,
  stackPointer: 4,
  framePointer: 5,
  linkRegister: undefined,
  calleeSaved: [3, 5, 6, 7],
};

/**
 * Returns the description of an architecture with call frame information. The result is undefined for WebAssembly,
 * which has none, and for unknown machines.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { unwindTarget } from "memshade/unwind";
 *
 * assert.equal(unwindTarget("aarch64")?.registerNames[31], "sp");
 * ```
 */
export function unwindTarget(architecture: Architecture): UnwindTarget | undefined {
  switch (architecture) {
    case "x86_64":
      return x86_64;
    case "aarch64":
      return aarch64;
    case "i386":
      return i386;
    case "wasm32":
    case "other":
      return undefined;
  }
}
