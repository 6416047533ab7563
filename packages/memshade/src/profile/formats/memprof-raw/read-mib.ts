import type { Window } from "../../../ground/bytes/window.ts";
import { mibFromPacked } from "../../model/memprof/merge/block-merge.ts";
import type { Mib } from "../../model/mib.ts";
import type { RawVersion } from "../../model/raw-profile.ts";
import { decodeHistogramCount } from "./histogram.ts";
import { histogramEntryBytesOf, mibBytesOf } from "./layout.ts";

/** The block at an offset of a file, with its histogram. */
export function readMib(window: Window, offset: number, version: RawVersion): Mib {
  const bytes = mibBytesOf(version);
  const at = window.at(offset, bytes);
  const mib = mibFromPacked(window.view, at, bytes);
  const entryBytes = histogramEntryBytesOf(version);
  const histogram = readHistogram(window, offset + bytes, mib.accessHistogramSize, entryBytes);
  if (histogram !== undefined) mib.histogram = [...histogram];
  return mib;
}

/** The histogram at an offset of a file. */
export function readHistogram(
  window: Window,
  offset: number,
  entries: number,
  entryBytes: number,
): BigUint64Array | undefined {
  if (entries === 0) return undefined;
  const at = window.at(offset, entries * entryBytes);
  const { view } = window;
  return BigUint64Array.from({ length: entries }, (_, index) =>
    entryBytes === 8
      ? view.getBigUint64(at + 8 * index, true)
      : decodeHistogramCount(view.getUint16(at + 2 * index, true)),
  );
}
