import type { NativeToolName, NativeToolOptions } from "../native-tool.ts";

/** What a thread that rewrites begins with. */
export interface RewritingData {
  readonly tool: NativeToolName;
  readonly options: NativeToolOptions;
  /** Where what is made is kept. */
  readonly folder: string;
  /** See `rewrittenKey`. */
  readonly code: string;
  /** Bytes of addresses behind a program that rewritten code leaves to its heap. */
  readonly heapRoom: number;
}

/** A file to rewrite. */
export interface RewritingTask {
  readonly path: string;
}

/** It was kept what was made of it, or that nothing can be; else what went wrong. */
export type RewritingReply = string | undefined;
