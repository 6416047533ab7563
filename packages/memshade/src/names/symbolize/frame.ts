/** One function at an address: the one that the compiler emitted, or one that was inlined into it. */
export interface Frame {
  /** The linker's name, else the source's; undefined where neither debug information nor symbols know one. */
  readonly linkageName?: string | undefined;
  /** The name for people: demangled. */
  readonly function?: string | undefined;
  readonly file?: string | undefined;
  /** 0 where it is not known, as line and column are. */
  readonly line: number;
  readonly column: number;
  /** Tells apart pieces of code on the same line. */
  readonly discriminator: number;
  /** Where the function is declared; line 0 if that is not known. */
  readonly startFile?: string | undefined;
  readonly startLine: number;
  /** Address of the function's first instruction. */
  readonly startAddress?: number | undefined;
  /** Whether the function is inlined into that of the next frame. */
  readonly inlined: boolean;
  /** Its function is declared to give memory of no type in particular to whoever says how much. */
  readonly handsOutMemory?: boolean | undefined;
  /** The line is that of an earlier place: this one has none (`skipLineZero`, and in source maps). */
  readonly approximate?: boolean | undefined;
}

/** A frame that is still being made: nobody else has it yet. */
export type GrowingFrame = { -readonly [Key in keyof Frame]: Frame[Key] };
