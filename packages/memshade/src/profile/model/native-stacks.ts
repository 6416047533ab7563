/** Function at a source position, as far as known. */
export interface NativeFunction {
  /** Readable name; undefined if the address has no name. */
  readonly function: string | undefined;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly inlined: boolean;
}

export interface SymbolOffset {
  readonly name: string;
  readonly offset: number;
}

/** File that symbolizing or unwinding needed and did not find. */
export interface MissingFile {
  /** Path and build id. */
  readonly path: string;
  readonly buildId: string | undefined;
  /** End of a sentence that begins with the path. */
  readonly reason: string;
}

/** Method that found a frame; the unwinder documents the values. */
export type FrameOrigin = "context" | "cfi" | "plt" | "signal" | "call" | "frame-pointer" | "scan";

/** Reason for a stack's end; the unwinder documents the values. */
export type StackEnd = "outermost" | "zero" | "memory" | "no-rule" | "loop" | "limit";

export interface NativeFrame {
  /** Address in the process: the return address, for callers. */
  readonly pc: number;
  /** Canonical frame address; undefined if unknown. */
  readonly cfa: number | undefined;
  readonly kind: "normal" | "signal";
  readonly foundBy: FrameOrigin;
  /** Path of the file that holds the code; undefined outside of all files. */
  readonly module: string | undefined;
  /** Functions, innermost first, so that an inlined function precedes its enclosing one; empty outside of all files. */
  readonly functions: readonly NativeFunction[];
  /** Demangled symbol, and the offset of `pc` from it. */
  readonly symbol: SymbolOffset | undefined;
  /** Known values by the register's name; undefined if they are not to be shown. */
  readonly registers: Readonly<Record<string, bigint>> | undefined;
}

export interface NativeThread {
  readonly lwp: number;
  readonly name: string | undefined;
  readonly frames: readonly NativeFrame[];
  readonly end: StackEnd;
}

export interface NativeStacks {
  readonly architecture: string;
  readonly command: string | undefined;
  readonly pid: number | undefined;
  readonly signal: number | undefined;
  /** Exception that ended the process, on other systems than Linux: `EXC_BAD_ACCESS`. */
  readonly exception?: string | undefined;
  readonly notes: readonly string[];
  readonly threads: readonly NativeThread[];
  readonly missing: readonly MissingFile[];
}

/** Code position of a sampled program. All members but the addresses are computed on demand. */
export interface SampledPlace {
  /** Address in the process; for callers, an address inside the call instruction. */
  readonly address: number;
  /** Address that perf shows: for code of files, the offset in the file. */
  readonly shownAddress: number;
  /** Path of the file that holds the code; undefined outside of all files, empty for files without a name. */
  readonly module: string | undefined;
  readonly object: string | undefined;
  readonly fileOffset: number | undefined;
  readonly shownSymbol: SymbolOffset | undefined;
  readonly symbol: SymbolOffset | undefined;
  /** Functions, innermost first, so that an inlined function precedes its enclosing one; empty outside of all files. */
  readonly functions: readonly NativeFunction[];
  /** Cached text of a printer: the same position occurs in many samples. */
  text: string | undefined;
}

export interface KernelPlace {
  readonly address: string;
  /** Symbol; undefined if the kernel's symbols are not available. */
  readonly symbol: SymbolOffset | undefined;
  readonly module: string | undefined;
  /** Cached text of a printer, as in {@link SampledPlace}. */
  text: string | undefined;
}

export interface NamedSample {
  readonly threadName: string;
  readonly pid: number;
  readonly tid: number;
  readonly time: number;
  readonly event: number;
  readonly period: number;
  /** Kernel frames, innermost first; their callers are the program's frames. */
  readonly kernel: readonly KernelPlace[];
  readonly frames: readonly SampledPlace[];
  /** Reason for an unwound stack's end; undefined if the kernel recorded the calls, or nothing did. */
  readonly end: StackEnd | undefined;
}

/** Header data of a recording, and findings from unwinding its samples. */
export interface NativeRecording {
  readonly architecture: string | undefined;
  readonly command: readonly string[];
  readonly events: readonly string[];
  readonly lost: number;
  readonly notes: readonly string[];
  readonly missing: readonly MissingFile[];
}
