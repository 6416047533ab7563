import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { NONE } from "../../profile/model/indices.ts";
import { knowsField, siteColumn } from "../../profile/model/known-fields.ts";
import { type BlockMeasure, blockMeasure } from "./block-measure.ts";
import { libraryKeeps } from "./frames/library-blocks.ts";

/**
 * Returns blocks that were neither read nor written. Without the run's own count, only contexts without any access are
 * certain, so the result is a lower bound.
 */
export function neverAccessed(profile: HeapProfile): BlockMeasure {
  return ofProgram(profile, untouched(profile));
}

function untouched(profile: HeapProfile): BlockMeasure {
  const { mibs, length } = profile.contexts;
  const [recordedBlocks, recordedBytes] = [
    siteColumn(profile, "neverAccessed"),
    siteColumn(profile, "neverAccessedBytes"),
  ];
  if (recordedBlocks !== undefined && recordedBytes !== undefined)
    return blockMeasure(recordedBlocks, recordedBytes);
  const withoutAccess = withoutAccesses(profile, (read, written) => read + written === 0);
  if (withoutAccess !== undefined) return withoutAccess;
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

/** Returns blocks that were written but never read; undefined if reads and writes were not distinguished. */
export function writtenNeverRead(profile: HeapProfile): BlockMeasure | undefined {
  const [blocks, bytes] = [
    siteColumn(profile, "writtenNeverRead"),
    siteColumn(profile, "writtenNeverReadBytes"),
  ];
  const written =
    blocks !== undefined && bytes !== undefined
      ? blockMeasure(blocks, bytes)
      : withoutAccesses(profile, (read, stored) => read === 0 && stored > 0);
  return written && ofProgram(profile, written);
}

/**
 * Removes the blocks that the C library keeps, and those requested by code without access counting, which may have used
 * them.
 */
function ofProgram(profile: HeapProfile, measure: BlockMeasure): BlockMeasure {
  const { modules, functions, frames, stacks, contexts } = profile;
  const isKept = libraryKeeps(profile);
  const hasUncounted = modules.some((module) => module.isUncounted);
  const isUncounted = (stack: number): boolean => {
    for (let row = hasUncounted ? stack : NONE; row !== NONE; row = stacks.prefix[row]!) {
      const module = functions.module[frames.function[stacks.frame[row]!]!]!;
      if (module !== NONE && modules[module]!.isUncounted === true) return true;
    }
    return false;
  };
  const [blocks, bytes] = [measure.blocks.slice(), measure.bytes.slice()];
  for (let context = 0; context < contexts.length; context++)
    if (blocks[context] !== 0 && (isKept(context) || isUncounted(contexts.stack[context]!)))
      blocks[context] = bytes[context] = 0;
  return blockMeasure(blocks, bytes, hasUncounted || measure.isLowerBound);
}

/**
 * Returns all blocks of the contexts whose read and written bytes satisfy `isSuch`. Other contexts may have such blocks
 * too.
 */
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
