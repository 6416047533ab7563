import type { ObjectFile } from "../objects/types.ts";
import { cfiOfObject } from "./cfi/reader.ts";
import { UnwindTable } from "./tables/unwind-table.ts";

/**
 * Returns a function that maps an address to the start of its function (SVMA), by call frame information, which
 * stripped objects keep. The result is undefined if no function is known there, or the object has no
 * `.eh_frame_hdr`.
 */
export function functionStarts(object: ObjectFile): (address: number) => number | undefined {
  const { header } = cfiOfObject(object);
  if (header === undefined) return () => undefined;
  const table = UnwindTable.fromObject(object, { lazy: true });
  return (address) => {
    const entry = header.search(address);
    return entry >= 0 && table.find(address) !== 0 ? header.startAt(entry) : undefined;
  };
}

/** Like `functionStarts`, also with the start of the next function, which is the end of this one and its padding. */
export function functionBounds(
  object: ObjectFile,
): (address: number) => { start: number; end: number } | undefined {
  const { header, base, code } = cfiOfObject(object);
  if (header === undefined) return () => undefined;
  return (address) => {
    const entry = header.search(address);
    if (entry < 0) return undefined;
    const end = entry + 1 < header.count ? header.startAt(entry + 1) : base + code.end;
    return { start: header.startAt(entry), end };
  };
}
