/** Function at an address: the one that the compiler emitted, or one that was inlined into it. */
export interface Frame {
  /** Linker name, else the source name; undefined if neither debug information nor symbols have one. */
  readonly linkageName?: string | undefined;
  /** Readable name: demangled. */
  readonly function?: string | undefined;
  readonly file?: string | undefined;
  /** Line from 1; an unknown line or column is 0. */
  readonly line: number;
  readonly column: number;
  /** Distinguishes pieces of code on the same line. */
  readonly discriminator: number;
  /** Declaration of the function; line 0 if it is unknown. */
  readonly startFile?: string | undefined;
  readonly startLine: number;
  /** Address of the function's first instruction. */
  readonly startAddress?: number | undefined;
  /** True if the function is inlined into the next frame's function. */
  readonly inlined: boolean;
  /** True if the function is declared to allocate untyped memory of a size that its caller chooses. */
  readonly handsOutMemory?: boolean | undefined;
  /** True if the line is that of an earlier place, because this one has none (`skipLineZero`, and in source maps). */
  readonly approximate?: boolean | undefined;
}

/** Frame under construction, not shared yet. */
export type GrowingFrame = { -readonly [Key in keyof Frame]: Frame[Key] };
