import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { knowsField } from "../../profile/model/known-fields.ts";

export interface HistogramBin {
  /** Smallest and largest value, both included. */
  readonly from: number;
  readonly to: number;
  /** Blocks, and their bytes. */
  readonly blocks: number;
  readonly bytes: number;
  /** Call paths that the blocks belong to. */
  readonly paths: number;
}

export interface BlockHistogram {
  /** Powers of two, ascending, from the first to the last bin with blocks; the lowest possible bin is for 0 alone. */
  readonly bins: readonly HistogramBin[];
  /**
   * True if each block is in its own bin. Otherwise the blocks of a call path with different values count at their
   * mean.
   */
  readonly isExact: boolean;
}

/** Returns blocks by their size in bytes; undefined if sizes were not recorded. */
export function sizeHistogram(profile: HeapProfile): BlockHistogram | undefined {
  const { contexts } = profile;
  const { totalSize, minSize, maxSize } = contexts.mibs;
  if (!knowsField(profile, "totalSize")) return undefined;
  const isKnown = knowsField(profile, "minSize");
  return histogramOf(contexts.mibs, totalSize, (row) => isKnown && minSize[row] === maxSize[row]);
}

/** Returns blocks by their lifetime, in units of the profile's clock; undefined if lifetimes were not recorded. */
export function lifetimeHistogram(profile: HeapProfile): BlockHistogram | undefined {
  const { contexts } = profile;
  const { totalLifetime, minLifetime, maxLifetime } = contexts.mibs;
  if (!knowsField(profile, "totalLifetime") || !knowsField(profile, "allocCount")) return undefined;
  const isKnown = knowsField(profile, "minLifetime");
  return histogramOf(contexts.mibs, totalLifetime, (row) => isKnown && minLifetime[row] === maxLifetime[row]);
}

function histogramOf(
  { allocCount, totalSize }: HeapProfile["contexts"]["mibs"],
  totals: BigUint64Array,
  isUniform: (row: number) => boolean,
): BlockHistogram {
  const blocks: number[] = [];
  const bytes: number[] = [];
  const paths: number[] = [];
  let isExact = true;
  for (const [row, count] of allocCount.entries()) {
    if (count === 0) continue;
    if (!isUniform(row)) isExact = false;
    const bin = binOf(Math.floor(Number(totals[row]!) / count));
    blocks[bin] = (blocks[bin] ?? 0) + count;
    bytes[bin] = (bytes[bin] ?? 0) + Number(totalSize[row]!);
    paths[bin] = (paths[bin] ?? 0) + 1;
  }
  const first = blocks.findIndex((count) => count !== undefined);
  const bins = Array.from({ length: first < 0 ? 0 : blocks.length - first }, (_, index) => {
    const bin = first + index;
    return {
      from: bin === 0 ? 0 : 2 ** (bin - 1),
      to: bin === 0 ? 0 : 2 ** bin - 1,
      blocks: blocks[bin] ?? 0,
      bytes: bytes[bin] ?? 0,
      paths: paths[bin] ?? 0,
    };
  });
  return { bins, isExact };
}

/** Returns 0 for 0, else one more than the exponent of the largest power of two up to the value. */
function binOf(value: number): number {
  return value <= 0 ? 0 : Math.floor(Math.log2(value)) + 1;
}

/** Merges bins, several powers of two each, so that at most `most` bins remain. */
export function coarser({ bins, isExact }: BlockHistogram, most: number): BlockHistogram {
  const together = Math.ceil(bins.length / most);
  if (together <= 1) return { bins, isExact };
  const merged: HistogramBin[] = [];
  for (let start = 0; start < bins.length; start += together) {
    const group = bins.slice(start, start + together);
    const sum = (key: "blocks" | "bytes" | "paths") => group.reduce((total, bin) => total + bin[key], 0);
    merged.push({
      from: group[0]!.from,
      to: group.at(-1)!.to,
      blocks: sum("blocks"),
      bytes: sum("bytes"),
      paths: sum("paths"),
    });
  }
  return { bins: merged, isExact };
}
