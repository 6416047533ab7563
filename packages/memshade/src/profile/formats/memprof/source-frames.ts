import type { MemprofFrame } from "../../model/memprof/index.ts";
import { functionGuid } from "./guid.ts";

/** One function of an inline chain, as debug information gives it. */
export interface SourceFrame {
  readonly linkageName?: string | undefined;
  readonly file?: string | undefined;
  /** From 1; 0 where unknown. Of the row for the innermost function, of the call for the others. */
  readonly line: number;
  readonly column: number;
  readonly discriminator?: number | undefined;
  /** Line where the function is declared; 0 where unknown. */
  readonly startLine: number;
}

/** The runtime's own wrappers of allocation functions, which LLVM leaves out. */
const RUNTIME_FILES = new Set([
  "memprof_malloc_linux.cpp",
  "memprof_interceptors.cpp",
  "memprof_new_delete.cpp",
]);

/** Whether a place is in MemProf's own allocation functions. */
export function isInRuntime({ file }: Pick<SourceFrame, "file">): boolean {
  return file !== undefined && RUNTIME_FILES.has(file.slice(file.lastIndexOf("/") + 1));
}

/**
 * Frames as MemProf has them (memprof-format, sections 6.4 and 6.5).
 *
 * @param chain innermost first
 * @returns none if the address is to be left out: no function is known, or it is in MemProf's runtime
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
