export type ProcessArchitecture = "x86_64" | "aarch64";

/**
 * Values of a thread's registers by DWARF number, in halves of 32 bits: the low one of register n at 2n, the high one
 * after it. x86-64: 0 to 15, and 16 the program counter; AArch64: 0 to 30, 31 the stack pointer, 32 the program
 * counter.
 */
export type RegisterWords = Uint32Array;

/** Number of registers in `RegisterWords`. */
export const REGISTER_COUNT: Readonly<Record<ProcessArchitecture, number>> = { x86_64: 17, aarch64: 33 };

export interface ProcessThread {
  readonly lwp: number;
  readonly name?: string | undefined;
  readonly registers: RegisterWords;
}

export interface MappedFile {
  /** Address range `[start, end)` in the process. */
  readonly start: number;
  readonly end: number;
  /** File offset, in bytes, of the content mapped at `start`. */
  readonly fileOffset: number;
  /** Path in the dump; `[vdso]` for the kernel's library. */
  readonly path: string;
  /** Hexadecimal, if the dump has it. */
  readonly buildId?: string | undefined;
}

export interface ProcessImage {
  readonly architecture: ProcessArchitecture;
  readonly pid?: number | undefined;
  readonly command?: string | undefined;
  readonly signal?: number | undefined;
  /** Exception that ended the process, on systems without such signals: `EXC_BAD_ACCESS`. */
  readonly exception?: string | undefined;
  /** Threads; the one that caused the dump comes first. */
  readonly threads: readonly ProcessThread[];
  readonly files: readonly MappedFile[];
  /** Bits of an AArch64 code address that hold a signature, as two halves. */
  readonly pointerAuthenticationMask?: readonly [low: number, high: number] | undefined;
  /** Returns the memory at an address, as far as the dump has it without a gap: possibly shorter, or empty. */
  readMemory(address: number, length: number): Uint8Array;
  readonly gaps: readonly string[];
}
