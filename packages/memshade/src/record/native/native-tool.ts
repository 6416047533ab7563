import type { PlanBlock } from "./rewrite/plan.ts";

/** Tools whose code is inserted into native programs. */
export const NATIVE_TOOLS = ["heap", "waste", "working-set"] as const;
export type NativeToolName = (typeof NATIVE_TOOLS)[number];

/** What may change the code that a tool inserts. It is handed to threads as it is. */
export interface NativeToolOptions {
  /** Accesses of the stack, too. */
  readonly includeStack?: boolean | undefined;
  /** Accesses are counted, too: intervals are measured by them. */
  readonly isCounting?: boolean | undefined;
  /** Whose blocks are is noted, for the lines that are touched. */
  readonly isOwned?: boolean | undefined;
  /** Dead and silent stores are counted as another tool counts them. */
  readonly compat?: "deadstores" | undefined;
  /** They are told by the contexts that they run in, too. */
  readonly contexts?: boolean | undefined;
}

/** A range of addresses that inserted code uses: a multiple of pages at one. */
export interface ShadowRange {
  readonly address: number;
  readonly bytes: number;
}

/** A tool that inserts its code into native programs. */
export interface NativeTool {
  readonly name: NativeToolName;
  /** Of the code that it inserts, letters and digits: what was rewritten under another key is rewritten anew. */
  readonly key: string;
  readonly plan: PlanBlock;
  /** In place of `plan`, where a file's code has places of its own. */
  readonly planFile?: (file: PlannedFile) => FilePlan;
  /** Mapped, private and zero, before the first rewritten instruction runs. */
  readonly shadows: readonly ShadowRange[];
  /**
   * Words of 8 bytes from `SLOW_PATHS` on, by which inserted code calls: `call *[address of 32 bits]`. Each begins with the address
   * of a bare `ret`; what is preloaded replaces it.
   */
  readonly slowPaths: number;
  /** What the first of the ranges begins with that code goes on needing when nothing is recorded any more: bytes. */
  readonly keptBytes?: number | undefined;
  /** It counts accesses to blocks. */
  readonly isCounting?: boolean | undefined;
  /** It tells waste: 1; as another tool counts it: 2. */
  readonly isWaste?: 1 | 2 | undefined;
  /** It marks the lines that are touched. */
  readonly isMarking?: boolean | undefined;
  /** What is preloaded notes whose blocks are. */
  readonly isOwned?: boolean | undefined;
  /** The first word of the first range becomes 1 when others see it: from there on the program may wait for them. */
  readonly isWatched?: boolean | undefined;
}

/** A file that is about to be rewritten. */
export interface PlannedFile {
  /** What it is kept by. */
  readonly key: string;
  /** Where everything that was rewritten is kept, in folders by their keys. */
  readonly folder: string;
}

/** What a tool has for one file. */
export interface FilePlan {
  readonly plan: PlanBlock;
  /** What is to be kept beside the rewritten file, when that is made. */
  readonly notes: () => Uint8Array;
  /** When it is kept, or another one that somebody else has made meanwhile: the path of what is kept beside it. */
  readonly kept: (notes: string) => void;
}

/** Where the words of slow paths lie, in every process. */
export const SLOW_PATHS = 0x7ff0_0000;

/** A tool that was asked for. */
export interface InsertedTool {
  readonly name: NativeToolName;
  readonly options: NativeToolOptions;
}
