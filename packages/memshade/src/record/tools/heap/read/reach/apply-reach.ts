import type { Bound } from "../../../../../profile/model/bound.ts";
import { counted } from "../../../../../profile/model/counted.ts";
import { type HeapReach, REACH_FIELDS } from "../../../../../profile/model/run.ts";
import type { ShadowContext } from "../context-table.ts";
import type { IndexedContext } from "../read-shadow.ts";
import type { UnknownReach } from "./look-through.ts";
import { NO_REACH, type ReachSums } from "./reach-sums.ts";
import type { InstanceReach } from "./sum-up.ts";

/** Reach of an instance's live blocks, or the reason why it is unknown. */
export type KnownReach = InstanceReach | UnknownReach;

/** Finds out which live blocks of an instance can still be reached; undefined if that is unknown. */
export type ReachSearch = () => KnownReach | undefined;

/** Reason for a host that cannot read the program's memory when a profile is taken. */
export const OUT_OF_REACH: UnknownReach = {
  unknown: "the program was running or had ended, so its memory could not be read",
};

/**
 * Adds to contexts the reach of their live blocks.
 *
 * @returns the reach, or the reason why it is unknown if the program has gone on since
 */
export function applyReach(
  contexts: readonly IndexedContext[],
  reach: KnownReach | undefined,
): KnownReach | undefined {
  if (reach === undefined || "unknown" in reach) return reach;
  const sumsOf = new Map(
    Array.from(reach.contexts, (index, place) => {
      const sums = REACH_FIELDS.map((field, i) => [field, reach.sums[place * REACH_FIELDS.length + i] ?? 0]);
      return [index, Object.fromEntries(sums) as ReachSums];
    }),
  );
  const isOfNow = contexts.every((context) => {
    const sums = sumsOf.get(context.index) ?? NO_REACH;
    const blocks =
      sums.lostBlocks + sums.indirectlyLostBlocks + sums.possiblyLostBlocks + sums.stillReachableBlocks;
    const bytes =
      sums.lostBytes + sums.indirectlyLostBytes + sums.possiblyLostBytes + sums.stillReachableBytes;
    return blocks === context.extras.liveBlocks && bytes === context.extras.liveBytes;
  });
  if (!isOfNow) return { unknown: "the program went on while its memory was read" };
  for (const { index, extras } of contexts) Object.assign(extras, sumsOf.get(index));
  return reach;
}

interface Looked {
  /** Undefined: the search was not requested. */
  reach: KnownReach | undefined;
  contents: { contexts: readonly ShadowContext[] };
}

export function heapReach(instances: readonly Looked[]): HeapReach | undefined {
  const withReach = instances.flatMap(({ reach, contents }) =>
    reach === undefined || "unknown" in reach ? [] : [{ reach, contexts: contents.contexts }],
  );
  if (withReach.length === 0) return undefined;
  const sum = (field: keyof ReachSums): number =>
    withReach.reduce((total, { contexts }) => total + sumOf(contexts, (extras) => extras[field]), 0);
  return {
    lostBytes: sum("lostBytes"),
    lostBlocks: sum("lostBlocks"),
    indirectlyLostBytes: sum("indirectlyLostBytes"),
    indirectlyLostBlocks: sum("indirectlyLostBlocks"),
    possiblyLostBytes: sum("possiblyLostBytes"),
    possiblyLostBlocks: sum("possiblyLostBlocks"),
    stillReachableBytes: sum("stillReachableBytes"),
    stillReachableBlocks: sum("stillReachableBlocks"),
    accessesAfter: withReach.reduce((total, { reach }) => total + reach.accessesAfter, 0),
    hostMayHold: withReach.some(({ reach }) => reach.hostMayHold),
  };
}

/**
 * Returns sentences about live blocks with unknown reach, and about those that are possibly lost only for
 * lack of information.
 */
export function reachSentences(instances: readonly Looked[]): string[] {
  const blocksBy = new Map<string, number>();
  const add = (reason: string, blocks: number): void => {
    if (blocks > 0) blocksBy.set(reason, (blocksBy.get(reason) ?? 0) + blocks);
  };
  let unseen = 0;
  for (const { reach, contents } of instances) {
    if (reach === undefined) continue;
    if ("unknown" in reach)
      add(
        reach.unknown,
        sumOf(contents.contexts, ({ liveBlocks }) => liveBlocks),
      );
    else if (reach.inside) unseen += sumOf(contents.contexts, ({ possiblyLostBlocks }) => possiblyLostBlocks);
  }
  const sentences = [...blocksBy].map(
    ([reason, blocks]) =>
      `Whether ${counted(blocks, "live block is", "live blocks are")} lost or still reachable is not known: ${reason}.`,
  );
  if (unseen > 0)
    sentences.push(
      `${counted(unseen, "block is", "blocks are")} counted as possibly lost because functions were still running: their local variables ` +
        "may point to them.",
    );
  return sentences;
}

/** Returns a bound for lost blocks: blocks of unknown reach may be lost, too. */
export function reachBounds(instances: readonly Looked[]): Bound[] {
  const isUnknown = instances.some(
    ({ reach, contents }) =>
      reach !== undefined &&
      "unknown" in reach &&
      sumOf(contents.contexts, ({ liveBlocks }) => liveBlocks) > 0,
  );
  return isUnknown
    ? [{ figures: ["lost"], are: "least", because: "whether some live blocks are lost is not known" }]
    : [];
}

function sumOf(
  contexts: readonly ShadowContext[],
  figure: (extras: ShadowContext["extras"]) => number,
): number {
  return contexts.reduce((sum, { extras }) => sum + figure(extras), 0);
}
