import type { WasteField, WasteObjects } from "../../../profile/model/waste/waste.ts";
import { LINE_BYTES } from "../locality/common-caches.ts";

/** Part of the accesses that hot fields have together. */
const HOT_PART = 0.9;

/**
 * EfficiencySanitizer's figure for fields of one struct that are accessed very unequally often: over neighbouring fields, the sum of
 * ⌊larger ÷ smaller⌋ of their access counts; a count of 0 is taken as 1 there.
 */
export function disparityRatio(counts: readonly number[]): number {
  let ratio = 0;
  for (let i = 1; i < counts.length; i++) {
    const [a, b] = [counts[i - 1]!, counts[i]!];
    ratio += Math.floor(Math.max(a, b) / Math.max(Math.min(a, b), 1));
  }
  return ratio;
}

export interface FieldOrder {
  /** Of all fields' accesses, and their sum. */
  disparity: number;
  accesses: number;
  /** The fields that have most of the accesses, the hottest first, and their bytes. */
  hot: readonly WasteField[];
  hotBytes: number;
  /** Lines of 64 bytes of an object that hot fields lie in (as if it began with one), now and moved together. */
  lines: { before: number; after: number };
}

/** What the order of a type's fields costs; undefined where the type is not known or nothing was accessed. */
export function fieldOrder(site: WasteObjects): FieldOrder | undefined {
  const { type } = site;
  if (type === undefined) return undefined;
  const fields = site.fields.filter(({ name }) => name !== undefined);
  const counts = fields.map((field) => field.accesses ?? 0);
  const accesses = counts.reduce((sum, count) => sum + count, 0);
  if (accesses === 0) return undefined;
  const hot: WasteField[] = [];
  let covered = 0;
  for (const field of [...fields].sort((a, b) => (b.accesses ?? 0) - (a.accesses ?? 0))) {
    if (covered >= HOT_PART * accesses) break;
    hot.push(field);
    covered += field.accesses ?? 0;
  }
  const hotBytes = hot.reduce((sum, { size }) => sum + size, 0);
  const touched = new Set<number>();
  for (const { offset, size } of hot)
    for (let line = Math.floor(offset / LINE_BYTES); line * LINE_BYTES < offset + size; line++)
      touched.add(line);
  return {
    disparity: disparityRatio(counts),
    accesses,
    hot,
    hotBytes,
    lines: { before: touched.size, after: Math.ceil(hotBytes / LINE_BYTES) },
  };
}
