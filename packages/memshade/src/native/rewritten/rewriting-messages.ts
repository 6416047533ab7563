import type { NativeToolName, NativeToolOptions } from "../native-tool.ts";
import type { RewrittenCachePlace } from "./rewritten-cache.ts";

/** What a thread that rewrites begins with. */
export interface RewritingData {
  readonly tool: NativeToolName;
  readonly options: NativeToolOptions;
  readonly place: RewrittenCachePlace;
  /** See `rewrittenKey`. */
  readonly code: string;
}

/** A file to rewrite. */
export interface RewritingTask {
  readonly path: string;
}

/** It was kept what was made of it, or that nothing can be; else what went wrong. */
export type RewritingReply = string | undefined;
