import type { PlanBlock } from "./rewrite/plan.ts";

/** Tools that insert code into native programs. */
export const NATIVE_TOOLS = ["heap", "waste", "working-set"] as const;
export type NativeToolName = (typeof NATIVE_TOOLS)[number];

/** Options that change the inserted code. They are sent to worker threads unchanged. */
export interface NativeToolOptions {
  /** Also counts or marks accesses to the stack. */
  readonly includeStack?: boolean | undefined;
  /** Also counts accesses, which are the unit of intervals. */
  readonly isCounting?: boolean | undefined;
  /** Also records which context owns each block, for the owners of touched lines. */
  readonly isOwned?: boolean | undefined;
  /** Counts dead and silent stores by the rules of deadstores. */
  readonly compat?: "deadstores" | undefined;
  /** Also distinguishes dead and silent stores by their call paths. */
  readonly contexts?: boolean | undefined;
}

/** A range of addresses that inserted code uses: whole pages, from a page boundary on. */
export interface ShadowRange {
  readonly address: number;
  readonly bytes: number;
}

export interface NativeTool {
  readonly name: NativeToolName;
  /**
   * Key of the inserted code, letters and digits. Files that were rewritten under another key are rewritten
   * again.
   */
  readonly key: string;
  readonly plan: PlanBlock;
  /** Replaces `plan` for a file whose code has sites of its own. */
  readonly planFile?: (file: PlannedFile) => FilePlan;
  /** Ranges that are mapped, private and zero, before the first rewritten instruction runs. */
  readonly shadows: readonly ShadowRange[];
  /**
   * Number of 8-byte words from `SLOW_PATHS` on that inserted code calls through: `call *[32-bit address]`.
   * Each word holds the address of a bare `ret` until the preloaded image replaces it.
   */
  readonly slowPaths: number;
  /** Bytes at the start of the first range that inserted code needs even after the recording has ended. */
  readonly keptBytes?: number | undefined;
  readonly isCounting?: boolean | undefined;
  /** 1 if the tool follows which stores are read; 2: by the rules of deadstores. */
  readonly isWaste?: 1 | 2 | undefined;
  readonly isMarking?: boolean | undefined;
  /** The preloaded image records which context owns each block. */
  readonly isOwned?: boolean | undefined;
  /**
   * The first word of the first range is set to 1 once the parent has mapped it; from then on the program may
   * block until the parent answers.
   */
  readonly isWatched?: boolean | undefined;
}

export interface PlannedFile {
  /** Key of the rewritten file in the cache. */
  readonly key: string;
  /** Folder of the cache of rewritten files, with a folder for each key. */
  readonly folder: string;
}

export interface FilePlan {
  readonly plan: PlanBlock;
  /** Returns the notes to store beside the rewritten file, once that is made. */
  readonly notes: () => Uint8Array;
  /** Called once the file is stored, or another process has stored it. `notes`: path of the stored notes. */
  readonly onStored: (notes: string) => void;
}

/** Address of the words of slow paths, the same in every process. */
export const SLOW_PATHS = 0x7ff0_0000;

export interface InsertedTool {
  readonly name: NativeToolName;
  readonly options: NativeToolOptions;
}
