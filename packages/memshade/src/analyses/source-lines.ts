import type { HeapProfile } from "../model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../model/indices.ts";
import { siteFrameOfContext } from "../model/site-frame.ts";

/** What the allocations of one source line add up to. */
export interface SourceLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly bytes: number;
  readonly blocks: number;
  readonly accesses: number;
  /** Bytes never released; undefined where the profile does not know. */
  readonly liveBytes: number | undefined;
}

/** The source lines that allocate, by bytes, the largest first. Contexts whose line is not known are left out. */
export function sourceLines(profile: HeapProfile): SourceLine[] {
  const { contexts, frames, strings } = profile;
  const lines = new Map<string, { -readonly [Key in keyof SourceLine]: SourceLine[Key] }>();
  for (let row = 0; row < contexts.length; row++) {
    const frame = siteFrameOfContext(profile, row as IndexIntoContextTable);
    if (frame === undefined || frames.file[frame] === NONE || frames.line[frame] === 0) continue;
    const file = strings[frames.file[frame]!]!;
    const line = frames.line[frame]!;
    const key = `${line} ${file}`;
    let sums = lines.get(key);
    if (sums === undefined) {
      sums = { file, line, bytes: 0, blocks: 0, accesses: 0, liveBytes: contexts.site && 0 };
      lines.set(key, sums);
    }
    sums.bytes += Number(contexts.mibs.totalSize[row]);
    sums.blocks += Number(contexts.mibs.allocCount[row]);
    sums.accesses += Number(contexts.mibs.totalAccessCount[row]);
    if (contexts.site !== undefined) sums.liveBytes! += contexts.site.liveBytes[row]!;
  }
  return [...lines.values()].sort((one, other) => other.bytes - one.bytes);
}
