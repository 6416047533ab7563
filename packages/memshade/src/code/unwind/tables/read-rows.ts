import type { FdeSink } from "../cfi/fde-sink.ts";
import { type CfiCounts, type CfiDictionary, CfiReader } from "../cfi/reader.ts";
import type { ObjectCfi } from "../cfi/sections-of-object.ts";

/** Bytes of all sections with call frame information. */
export function cfiBytes({ sections }: ObjectCfi): number {
  return sections.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

/** Reads all FDEs of all sections of an object, in their order there. */
export function readFdes(cfi: ObjectCfi, dictionary: CfiDictionary, sink: FdeSink): CfiCounts {
  const counts: CfiCounts = { cies: 0, fdes: 0, emptyFdes: 0, outsideFdes: 0 };
  for (const section of cfi.sections) {
    const reader = new CfiReader(section, dictionary, cfi, sink);
    reader.readAll();
    for (const name of Object.keys(counts) as (keyof CfiCounts)[]) counts[name] += reader.counts[name];
  }
  return counts;
}
