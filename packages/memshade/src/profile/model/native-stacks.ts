/** Stacks of native programs with their names, as they are shown. */

/** A function at a place in the source, as far as it is known. */
export interface NativeFunction {
  /** Readable name; undefined where nothing names the address. */
  readonly function: string | undefined;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  /** Was inlined into the next function. */
  readonly inlined: boolean;
}

/** A symbol, and the distance of an address from it in bytes. */
export interface SymbolOffset {
  readonly name: string;
  readonly offset: number;
}

/** A file that naming or unwinding needed and did not find. */
export interface MissingFile {
  readonly path: string;
  readonly buildId: string | undefined;
  /** The end of a sentence that begins with the path. */
  readonly reason: string;
}

/** How a frame was found; the unwinder says what each of these means. */
export type FrameOrigin = "context" | "cfi" | "plt" | "signal" | "call" | "frame-pointer" | "scan";

/** Why a stack ends; the unwinder says what each of these means. */
export type StackEnd = "outermost" | "zero" | "memory" | "no-rule" | "loop" | "limit";

/** A frame of a thread that was stopped. */
export interface NativeFrame {
  /** Address in the process: the return address, for callers. */
  readonly pc: number;
  /** Canonical frame address; undefined where it is not known. */
  readonly cfa: number | undefined;
  readonly kind: "normal" | "signal";
  readonly foundBy: FrameOrigin;
  /** Path of the file that holds the code; undefined outside of all files. */
  readonly module: string | undefined;
  /** Innermost first, those inlined before the one they were inlined into; empty outside of all files. */
  readonly functions: readonly NativeFunction[];
  /** The demangled symbol, and how far behind it `pc` is. */
  readonly symbol: SymbolOffset | undefined;
  /** Values that are known, by the register's name; undefined if they are not to be shown. */
  readonly registers: Readonly<Record<string, bigint>> | undefined;
}

export interface NativeThread {
  /** The kernel's id of the thread. */
  readonly lwp: number;
  readonly name: string | undefined;
  /** Innermost first. */
  readonly frames: readonly NativeFrame[];
  readonly end: StackEnd;
}

/** The threads of a process that was stopped. */
export interface NativeStacks {
  readonly architecture: string;
  readonly command: string | undefined;
  readonly pid: number | undefined;
  /** The signal that ended the process. */
  readonly signal: number | undefined;
  /** What ended it on other systems than Linux: `EXC_BAD_ACCESS`. */
  readonly exception?: string | undefined;
  /** What the dump lacks, as sentences. */
  readonly notes: readonly string[];
  readonly threads: readonly NativeThread[];
  readonly missing: readonly MissingFile[];
}

/** A place in the code of a sampled program. All but the addresses is found when it is asked for. */
export interface SampledPlace {
  /** Address in the process: in the call, for callers. */
  readonly address: number;
  /** What perf calls the address: the offset in the file, for code of files. */
  readonly shownAddress: number;
  /** Path of the file that holds the code; undefined outside of all files, empty for files without a name. */
  readonly module: string | undefined;
  /** The module as perf calls it. */
  readonly object: string | undefined;
  /** Offset of the address in the file. */
  readonly fileOffset: number | undefined;
  /** The symbol that perf would show, demangled. */
  readonly shownSymbol: SymbolOffset | undefined;
  /** The linker's symbol. */
  readonly symbol: SymbolOffset | undefined;
  /** Innermost first, those inlined before the one they were inlined into; empty outside of all files. */
  readonly functions: readonly NativeFunction[];
  /** Room for a printer: how this place is written. The same place comes again in most samples. */
  text: string | undefined;
}

/** An address in the kernel. */
export interface KernelPlace {
  /** In hexadecimal. */
  readonly address: string;
  /** Undefined where the kernel's symbols are not at hand. */
  readonly symbol: SymbolOffset | undefined;
  /** The kernel's module; undefined for the kernel itself. */
  readonly module: string | undefined;
  /** Room for a printer, as in places of programs. */
  text: string | undefined;
}

/** A sample of a recording, with names. */
export interface NamedSample {
  readonly threadName: string;
  readonly pid: number;
  readonly tid: number;
  /** Nanoseconds of the recording's clock. */
  readonly time: number;
  /** Index into the events of the recording. */
  readonly event: number;
  /** How many events the sample stands for. */
  readonly period: number;
  /** Innermost first; the program's frames called them. */
  readonly kernel: readonly KernelPlace[];
  /** Innermost first. */
  readonly frames: readonly SampledPlace[];
  /** Why an unwound stack ends; undefined where the kernel recorded the calls, or nobody did. */
  readonly end: StackEnd | undefined;
}

/** What a recording says of itself, and what was found out while its samples were unwound. */
export interface NativeRecording {
  readonly architecture: string | undefined;
  readonly command: readonly string[];
  /** Names of the events. */
  readonly events: readonly string[];
  /** Samples that were lost while recording. */
  readonly lost: number;
  /** What the file lacks, as sentences. */
  readonly notes: readonly string[];
  readonly missing: readonly MissingFile[];
}
