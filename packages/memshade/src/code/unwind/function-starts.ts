import type { ObjectFile } from "../objects/types.ts";
import { cfiOfObject } from "./cfi/reader.ts";
import { UnwindTable } from "./tables/unwind-table.ts";

/**
 * Tells where the function around an address of an object begins (SVMA), by its call frame information, which stays where names are
 * stripped. Undefined where that knows no function, or the object has no `.eh_frame_hdr`.
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
