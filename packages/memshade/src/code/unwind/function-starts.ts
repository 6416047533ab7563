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
