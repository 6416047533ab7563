import type { Bound } from "../../../../../profile/model/bound.ts";
import { counted } from "../../../../../profile/model/counted.ts";
import { REACH_FIELDS } from "../../../../../profile/model/reach-fields.ts";
import type { HeapReach } from "../../../../../profile/model/run.ts";
import type { ShadowContext } from "../context-table.ts";
import type { IndexedContext } from "../read-shadow.ts";
import type { UnknownReach } from "./look-through.ts";
import type { ReachSums } from "./reach-sums.ts";
import type { InstanceReach } from "./sum-up.ts";

/** What is known of an instance when its figures are read. */
export type KnownReach = InstanceReach | UnknownReach;

/** Finds out which live blocks of an instance can still be reached; undefined where that cannot be told. */
export type LookThrough = () => KnownReach | undefined;

/** What a host says that cannot look when a profile is taken. */
export const OUT_OF_REACH: UnknownReach = {
  unknown: "the program was running or gone, and nobody else can read its memory",
};

/**
 * Gives contexts what was found of their live blocks.
 *
 * @returns what was found; why nothing is known where the program has gone on since.
 */
export function applyReach(
  contexts: readonly IndexedContext[],
  found: KnownReach | undefined,
): KnownReach | undefined {
  if (found === undefined || "unknown" in found) return found;
  const places = new Map(Array.from(found.contexts, (index, place) => [index, place]));
  const sumsOf = ({ index }: IndexedContext): ReachSums => {
    const at = (places.get(index) ?? places.size) * REACH_FIELDS.length;
    return Object.fromEntries(REACH_FIELDS.map((field, i) => [field, found.sums[at + i] ?? 0])) as ReachSums;
  };
  const isOfNow = contexts.every((context) => {
    const sums = sumsOf(context);
    const blocks =
      sums.lostBlocks + sums.indirectlyLostBlocks + sums.possiblyLostBlocks + sums.stillReachableBlocks;
    const bytes =
      sums.lostBytes + sums.indirectlyLostBytes + sums.possiblyLostBytes + sums.stillReachableBytes;
    return blocks === context.extras.liveBlocks && bytes === context.extras.liveBytes;
  });
  if (!isOfNow) return { unknown: "the program went on while its memory was read" };
  for (const context of contexts) Object.assign(context.extras, sumsOf(context));
  return found;
}

interface Looked {
  /** Undefined: nobody has asked. */
  reach: KnownReach | undefined;
  contents: { contexts: readonly ShadowContext[] };
}

/** Sums of all instances; undefined where nothing is known of any. */
export function heapReach(instances: readonly Looked[]): HeapReach | undefined {
  const known = instances.flatMap(({ reach, contents }) =>
    reach === undefined || "unknown" in reach ? [] : [{ reach, contexts: contents.contexts }],
  );
  if (known.length === 0) return undefined;
  const sum = (field: keyof ReachSums): number =>
    known.reduce((total, { contexts }) => total + sumOf(contexts, (extras) => extras[field]), 0);
  return {
    lostBytes: sum("lostBytes"),
    lostBlocks: sum("lostBlocks"),
    indirectlyLostBytes: sum("indirectlyLostBytes"),
    indirectlyLostBlocks: sum("indirectlyLostBlocks"),
    possiblyLostBytes: sum("possiblyLostBytes"),
    possiblyLostBlocks: sum("possiblyLostBlocks"),
    stillReachableBytes: sum("stillReachableBytes"),
    stillReachableBlocks: sum("stillReachableBlocks"),
    accessesAfter: known.reduce((total, { reach }) => total + reach.accessesAfter, 0),
    hostMayHold: known.some(({ reach }) => reach.hostMayHold),
  };
}

/** Sentences: of which live blocks nothing is known, and of which less than usual. */
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
      `${counted(unseen, "block is", "blocks are")} possibly lost only, as the program ended or was looked at inside of its ` +
        "functions: what only their variables point to cannot be seen.",
    );
  return sentences;
}

/** Blocks of which nothing is known may be lost. */
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
