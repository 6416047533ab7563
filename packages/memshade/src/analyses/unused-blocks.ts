import type { HeapProfile } from "../model/heap-profile.ts";
import { knowsField, siteColumn } from "../model/known-fields.ts";
import { type BlockMeasure, blockMeasure } from "./block-measure.ts";

/**
 * Blocks that nobody read or wrote. Without the run's own count, only contexts with no access at all are
 * certain, so the result is a lower bound.
 */
export function neverAccessed(profile: HeapProfile): BlockMeasure {
  const { mibs, length } = profile.contexts;
  const [known, knownBytes] = [
    siteColumn(profile, "neverAccessed"),
    siteColumn(profile, "neverAccessedBytes"),
  ];
  if (known !== undefined && knownBytes !== undefined) return blockMeasure(known, knownBytes);
  const untouched = withoutAccesses(profile, (read, written) => read + written === 0);
  if (untouched !== undefined) return untouched;
  const blocks = new Float64Array(length);
  const bytes = new Float64Array(length);
  if (!knowsField(profile, "maxAccessCount")) return blockMeasure(blocks, bytes, true);
  for (let context = 0; context < length; context++) {
    if (mibs.maxAccessCount[context] === 0n) {
      blocks[context] = mibs.allocCount[context]!;
      bytes[context] = Number(mibs.totalSize[context]);
    }
  }
  return blockMeasure(blocks, bytes, true);
}

/** Blocks that were written but never read. Undefined where reads and writes were not told apart. */
export function writtenNeverRead(profile: HeapProfile): BlockMeasure | undefined {
  const [blocks, bytes] = [
    siteColumn(profile, "writtenNeverRead"),
    siteColumn(profile, "writtenNeverReadBytes"),
  ];
  if (blocks !== undefined && bytes !== undefined) return blockMeasure(blocks, bytes);
  return withoutAccesses(profile, (read, written) => read === 0 && written > 0);
}

/** All blocks of the contexts that bytes were read from and written to as told: there may be such blocks in others too. */
function withoutAccesses(
  { contexts: { mibs, site, length } }: HeapProfile,
  isSuch: (read: number, written: number) => boolean,
): BlockMeasure | undefined {
  const { readBytes, writtenBytes } = site ?? {};
  if (readBytes === undefined || writtenBytes === undefined) return undefined;
  const blocks = new Float64Array(length);
  const bytes = new Float64Array(length);
  for (let context = 0; context < length; context++) {
    if (!isSuch(readBytes[context]!, writtenBytes[context]!)) continue;
    blocks[context] = mibs.allocCount[context]!;
    bytes[context] = Number(mibs.totalSize[context]);
  }
  return blockMeasure(blocks, bytes, true);
}
