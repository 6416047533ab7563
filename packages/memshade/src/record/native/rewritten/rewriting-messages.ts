import type { NativeToolName, NativeToolOptions } from "../native-tool.ts";

export interface RewritingData {
  readonly tool: NativeToolName;
  readonly options: NativeToolOptions;
  readonly folder: string;
  /** See `rewrittenKey`. */
  readonly code: string;
  /** Bytes of address space behind a program for its heap. */
  readonly heapRoom: number;
}

export interface RewritingTask {
  readonly path: string;
}

/** The error; undefined if the result is in the cache, even if that is a refusal. */
export type RewritingReply = string | undefined;
