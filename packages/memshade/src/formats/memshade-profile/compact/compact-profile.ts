import { FormatError } from "../../../bytes/errors.ts";
import {
  frameAt,
  isUnresolved,
  type MemprofFrame,
  type MemprofProfile,
  ProfileMerger,
  unresolvedName,
  unresolvedPlace,
} from "../../../model/memprof/index.ts";
import { MIB_FIELDS, zeroMib } from "../../../model/mib-fields.ts";
import { functionGuid } from "../../memprof/guid.ts";
import type { ProfileOrigin } from "../write.ts";
import { FIELDS } from "./columns.ts";

/** A context: its stack and its block. */
export interface CompactContext {
  /** Outermost first: places in the profile's frames. */
  readonly frames: readonly number[];
  /** Of {@link FIELDS}. */
  readonly fields: readonly bigint[];
  readonly histogram: readonly bigint[];
}

/** What a profile of raw profiles consists of; all else follows from it. */
export interface CompactProfile {
  readonly origin: ProfileOrigin;
  readonly hasHistograms: boolean;
  /** In the order in which the contexts first name them. */
  readonly frames: readonly MemprofFrame[];
  readonly contexts: readonly CompactContext[];
}

/** What a profile consists of; undefined if more is known of it, or less, than merging raw profiles gives. */
export function compactOf(profile: MemprofProfile, origin: ProfileOrigin): CompactProfile | undefined {
  const { blocks, stacks, frames: table, records } = profile;
  const hasHistograms = blocks.histograms.size > 0;
  if (profile.dataAccess !== undefined || table.source === undefined) return undefined;
  if (!FIELDS.every((field) => blocks.fields.includes(field))) return undefined;
  const columns = FIELDS.map((field) => blocks.columns[blocks.fields.indexOf(field)]!);
  const stackOfBlock = new Uint32Array(blocks.length);
  for (const [site, block] of records.allocBlock.entries()) stackOfBlock[block] = records.allocStack[site]!;
  const frames: MemprofFrame[] = [];
  const numbers = new Map<number, number>();
  const contexts = Array.from(stackOfBlock, (stack, block): CompactContext => {
    const path: number[] = [];
    for (let at = stack; at !== 0; at = stacks.parent[at]!) path.push(stacks.frame[at]!);
    return {
      frames: path.reverse().map((row) => {
        const known = numbers.get(row);
        if (known !== undefined) return known;
        numbers.set(row, frames.length);
        return frames.push(frameAt(table, row)) - 1;
      }),
      fields: columns.map((column) => BigInt(column[block]!)),
      histogram: Array.from(blocks.histograms.get(block) ?? []),
    };
  });
  if (!frames.every(followsFromName)) return undefined;
  const compact = { origin, hasHistograms, frames, contexts };
  return isSame(profile, profileOf(compact)) ? compact : undefined;
}

/** Whether a frame has a name, and nothing of what that tells is otherwise. */
function followsFromName(frame: MemprofFrame): boolean {
  const { name, guid, lineOffset, column, inline, file, line, discriminator } = frame;
  if (name === undefined || guid !== functionGuid(name)) return false;
  const place = unresolvedPlace(name);
  if (place === undefined) return true;
  const numbers = [lineOffset, column, line ?? 0, discriminator ?? 0];
  return (
    !inline && file === undefined && numbers.every((number) => number === 0) && unresolvedName(place) === name
  );
}

/**
 * The profile that consists of this, in its canonical order.
 *
 * @throws FormatError of kind malformed, if a context comes twice
 */
export function profileOf({ hasHistograms, frames, contexts }: CompactProfile): MemprofProfile {
  const merger = new ProfileMerger(hasHistograms ? MIB_FIELDS : FIELDS, true, true);
  const rows = frames.map((frame) => merger.frames.intern(frame));
  const isPlace = frames.map(({ name }) => isUnresolved(name));
  for (const context of contexts) {
    const stack = context.frames.reduce((caller, frame) => merger.stacks.child(caller, rows[frame]!), 0);
    const known = merger.contexts.length;
    const row = merger.contexts.rowOf(stack);
    if (row !== known || stack === 0) {
      throw new FormatError("malformed", 0, "memshade profile", "a context comes twice");
    }
    const mib = zeroMib();
    for (const [index, field] of FIELDS.entries()) {
      const value = context.fields[index]!;
      if (field.bytes === 4) mib[field.name] = Number(value);
      else mib[field.name] = value;
    }
    mib.accessHistogramSize = context.histogram.length;
    merger.blocks.addMib(mib, row, true, 0);
    if (context.histogram.length > 0) merger.addHistogram(row, BigUint64Array.from(context.histogram));
    addCallSites(merger, context.frames, rows, isPlace);
  }
  return merger.build().profile;
}

/**
 * Adds the call sites of a stack as a raw profile does: every inline chain in each function of it, but that of the
 * allocation itself in the innermost one.
 */
function addCallSites(
  merger: ProfileMerger,
  frames: readonly number[],
  rows: readonly number[],
  isPlace: readonly boolean[],
): void {
  const chains: number[][] = [];
  for (const frame of frames) {
    if (isPlace[frame]) continue;
    const row = rows[frame]!;
    if (merger.frames.at(row).inline && chains.length > 0) chains.at(-1)!.push(row);
    else chains.push([row]);
  }
  for (const [index, chain] of chains.entries()) {
    const callers = index === chains.length - 1 ? chain.slice(0, -1) : chain;
    if (callers.length === 0) continue;
    const stack = chain.reduce((caller, row) => merger.stacks.child(caller, row), 0);
    for (const row of callers) merger.callSites.add(merger.frames.at(row).guid, stack, undefined);
  }
}

/** Whether two profiles have the same tables. Strings may stand in other places. */
function isSame(a: MemprofProfile, b: MemprofProfile): boolean {
  if (a.frames.length !== b.frames.length || a.blocks.fields.length !== b.blocks.fields.length) return false;
  for (let row = 0; row < a.frames.length; row++) {
    const [left, right] = [frameAt(a.frames, row), frameAt(b.frames, row)];
    for (const key of Object.keys(left) as (keyof MemprofFrame)[]) if (left[key] !== right[key]) return false;
  }
  const { histograms } = b.blocks;
  return (
    a.records.callees.size === 0 &&
    a.blocks.histograms.size === histograms.size &&
    [...a.blocks.histograms].every(([block, list]) => areEqual(list, histograms.get(block) ?? [])) &&
    areEqual(a.stacks.parent, b.stacks.parent) &&
    areEqual(a.stacks.frame, b.stacks.frame) &&
    a.blocks.columns.every((column, index) => areEqual(column, b.blocks.columns[index]!)) &&
    (["guid", "allocStart", "allocStack", "allocBlock", "callStart", "callStack"] as const).every((name) =>
      areEqual(a.records[name], b.records[name]),
    )
  );
}

function areEqual(a: ArrayLike<number | bigint>, b: ArrayLike<number | bigint>): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}
