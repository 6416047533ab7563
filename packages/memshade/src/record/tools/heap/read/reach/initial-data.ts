import { decodeModule } from "../../../../../code/wasm/index.ts";
import type { StaticPlaces } from "../../../options.ts";
import { segmentStart } from "../segment-start.ts";
import type { PointerSpace } from "./classify-blocks.ts";

/** Bytes of the program's memory from an address on, as they were at the start. */
export interface InitialData {
  from: number;
  bytes: Uint8Array;
}

/**
 * Tells values that the program began with where they are: what its data was before it began, and is still, is no pointer to a block behind
 * that data, whose address no linker knows. It is text, or a table of numbers.
 */
export function isInitialValue(initial: InitialData | undefined): PointerSpace["isOther"] {
  if (initial === undefined) return undefined;
  const { bytes, from } = initial;
  return (value, at) => {
    const first = at - from;
    // Segments may end inside of a word, whose other bytes are zero.
    if (value < from + bytes.length || first <= -4 || first >= bytes.length) return false;
    const byte = (index: number): number => (bytes[first + index] ?? 0) << (8 * index);
    return (byte(0) | byte(1) | byte(2) | byte(3)) >>> 0 === value;
  };
}

/** What the segments of a module put into its memory, from the first to the last one; undefined: nothing, or nothing that is known. */
export function initialData(
  original: Uint8Array | undefined,
  statics: StaticPlaces | undefined,
): InitialData | undefined {
  // An instrumented module may be read where the original one is not at hand.
  if (original === undefined || original.length === 0) return undefined;
  const module = decodeModule(original);
  const segments = module.data.flatMap(({ start, end }, index) => {
    const address = segmentStart(module, index, statics);
    return address === undefined || start === end ? [] : [{ address, bytes: original.subarray(start, end) }];
  });
  const from = Math.min(...segments.map(({ address }) => address));
  const end = Math.max(...segments.map(({ address, bytes }) => address + bytes.length));
  if (segments.length === 0) return undefined;
  const bytes = new Uint8Array(end - from);
  for (const segment of segments) bytes.set(segment.bytes, segment.address - from);
  return { from, bytes };
}
