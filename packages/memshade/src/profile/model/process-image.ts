/** What a dump says about a process at the moment when it was stopped. */

/** Machines whose dumps are read. */
export type ProcessArchitecture = "x86_64" | "aarch64";

/**
 * Values of a thread's registers by DWARF number, in halves of 32 bits: the low one of register n at 2n, the high one
 * behind it. x86-64: 0 to 15, and 16 the program counter; AArch64: 0 to 30, 31 the stack pointer, 32 the program
 * counter.
 */
export type RegisterWords = Uint32Array;

/** How many registers `RegisterWords` of a machine have. */
export const REGISTER_COUNT: Readonly<Record<ProcessArchitecture, number>> = { x86_64: 17, aarch64: 33 };

export interface ProcessThread {
  /** The kernel's id of the thread. */
  readonly lwp: number;
  readonly name?: string | undefined;
  readonly registers: RegisterWords;
}

/** A part of a file in the process's memory. */
export interface MappedFile {
  /** `[start, end)` in the process. */
  readonly start: number;
  readonly end: number;
  /** Offset in the file of what is mapped at `start`, in bytes. */
  readonly fileOffset: number;
  /** As the dump names it; `[vdso]` for the kernel's library. */
  readonly path: string;
  /** Hexadecimal, as far as the dump has it. */
  readonly buildId?: string | undefined;
}

export interface ProcessImage {
  readonly architecture: ProcessArchitecture;
  readonly pid?: number | undefined;
  /** The command line, or what is left of it. */
  readonly command?: string | undefined;
  /** The signal that ended the process. */
  readonly signal?: number | undefined;
  /** What ended it where the system has no such signals: `EXC_BAD_ACCESS`. */
  readonly exception?: string | undefined;
  /** The thread that caused the dump comes first. */
  readonly threads: readonly ProcessThread[];
  /** By address. */
  readonly files: readonly MappedFile[];
  /** AArch64: the bits of a code address that hold a signature, as two halves. */
  readonly pointerAuthenticationMask?: readonly [low: number, high: number] | undefined;
  /** Memory at an address, as far as the dump has it in one piece: shorter, or empty, where it has not. */
  readMemory(address: number, length: number): Uint8Array;
  /** What is missing in the dump, as sentences. */
  readonly gaps: readonly string[];
}
