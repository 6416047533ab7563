import { decodeModule } from "../../../../wasm/index.ts";
import type { StaticPlaces } from "../../../options.ts";
import { segmentStart } from "../segment-start.ts";
import type { InitialData } from "./classify-blocks.ts";

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
