import type { MemprofFrame } from "../../model/memprof/index.ts";
import { functionGuid } from "./guid.ts";

export interface SourceFrame {
  readonly linkageName?: string | undefined;
  readonly file?: string | undefined;
  /** Line from 1, or 0 if unknown: of the address for the innermost function, of the call for the others. */
  readonly line: number;
  readonly column: number;
  readonly discriminator?: number | undefined;
  readonly startLine: number;
}

/** Files with MemProf's own wrappers of allocation functions, which LLVM leaves out. */
const RUNTIME_FILES = new Set([
  "memprof_malloc_linux.cpp",
  "memprof_interceptors.cpp",
  "memprof_new_delete.cpp",
]);

export function isInRuntime({ file }: Pick<SourceFrame, "file">): boolean {
  return file !== undefined && RUNTIME_FILES.has(file.slice(file.lastIndexOf("/") + 1));
}

/**
 * Converts an inline chain to MemProf frames (memprof-format, sections 6.4 and 6.5).
 *
 * @param chain innermost first
 * @returns an empty array if the address is to be dropped: its function is unknown, or belongs to MemProf's runtime
 */
export function memprofFrames(chain: readonly SourceFrame[]): MemprofFrame[] {
  const [innermost] = chain;
  if (innermost?.linkageName === undefined || innermost.linkageName === "") return [];
  if (isInRuntime(innermost)) return [];
  return chain.map((frame, depth) => ({
    guid: functionGuid(frame.linkageName ?? ""),
    lineOffset: (frame.line - frame.startLine) >>> 0,
    column: frame.column,
    inline: depth < chain.length - 1,
    name: frame.linkageName,
    file: frame.file,
    line: frame.line,
    discriminator: frame.discriminator,
  }));
}
