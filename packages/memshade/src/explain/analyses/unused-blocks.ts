import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { NONE } from "../../profile/model/indices.ts";
import { knowsField, siteColumn } from "../../profile/model/known-fields.ts";
import { type BlockMeasure, blockMeasure } from "./block-measure.ts";

/**
 * Blocks that nobody read or wrote. Without the run's own count, only contexts with no access at all are
 * certain, so the result is a lower bound.
 */
export function neverAccessed(profile: HeapProfile): BlockMeasure {
  return whereCounted(profile, untouched(profile));
}

function untouched(profile: HeapProfile): BlockMeasure {
  const { mibs, length } = profile.contexts;
  const [known, knownBytes] = [
    siteColumn(profile, "neverAccessed"),
    siteColumn(profile, "neverAccessedBytes"),
  ];
  if (known !== undefined && knownBytes !== undefined) return blockMeasure(known, knownBytes);
  const told = withoutAccesses(profile, (read, written) => read + written === 0);
  if (told !== undefined) return told;
  const blocks = new Float64Array(length);
  const bytes = new Float64Array(length);
  if (!knowsField(profile, "maxAccessCount")) return blockMeasure(blocks, bytes, true);
  for (let context = 0; context < length; context++)
    if (mibs.maxAccessCount[context] === 0n) {
      blocks[context] = mibs.allocCount[context]!;
      bytes[context] = Number(mibs.totalSize[context]);
    }
  return blockMeasure(blocks, bytes, true);
}

/** Blocks that were written but never read. Undefined where reads and writes were not told apart. */
export function writtenNeverRead(profile: HeapProfile): BlockMeasure | undefined {
  const [blocks, bytes] = [
    siteColumn(profile, "writtenNeverRead"),
    siteColumn(profile, "writtenNeverReadBytes"),
  ];
  const written =
    blocks !== undefined && bytes !== undefined
      ? blockMeasure(blocks, bytes)
      : withoutAccesses(profile, (read, stored) => read === 0 && stored > 0);
  return written && whereCounted(profile, written);
}

/** Without the blocks that code asked for whose accesses nobody counted: it may have used them. */
function whereCounted(profile: HeapProfile, measure: BlockMeasure): BlockMeasure {
  const { modules, functions, frames, stacks, contexts } = profile;
  if (!modules.some(({ isUncounted }) => isUncounted)) return measure;
  const isUncounted = (stack: number): boolean => {
    for (let row = stack; row !== NONE; row = stacks.prefix[row]!) {
      const module = functions.module[frames.function[stacks.frame[row]!]!]!;
      if (module !== NONE && modules[module]!.isUncounted === true) return true;
    }
    return false;
  };
  const [blocks, bytes] = [measure.blocks.slice(), measure.bytes.slice()];
  for (let context = 0; context < contexts.length; context++)
    if (blocks[context] !== 0 && isUncounted(contexts.stack[context]!)) blocks[context] = bytes[context] = 0;
  return blockMeasure(blocks, bytes, true);
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
