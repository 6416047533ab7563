import { sumOf } from "../../../../explain/analyses/groups.ts";
import {
  type LiveAmount,
  type LiveKind,
  liveBlocksOf,
  liveByKind,
  reachOf,
} from "../../../../explain/analyses/live-blocks.ts";
import { formatBlocks, formatBytes, formatCount } from "../../../../profile/model/format.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../../../profile/model/indices.ts";
import { LEAK_KINDS, type LeakKind } from "../../../../profile/model/suppression.ts";
import { printWrapped } from "../common/header.ts";
import type { Screen } from "../common/screen.ts";

const HANGING = "      ";

const WORDS: { readonly [Kind in LiveKind]: string } = {
  definite: "lost",
  indirect: "indirectly lost",
  possible: "possibly lost",
  reachable: "still reachable",
  suppressed: "suppressed",
  unknown: "not known",
};

/** Prints what of the live blocks is lost and what to do about it; nothing where that was not looked for. */
export function printLiveKinds(screen: Screen, profile: HeapProfile): void {
  for (const amount of liveByKind(profile) ?? []) {
    const { kind, bytes, blocks } = amount;
    const size = `${formatBytes(bytes)} in ${formatBlocks(blocks)}`;
    const word = `${WORDS[kind][0]!.toUpperCase()}${WORDS[kind].slice(1)}`;
    printWrapped(screen, `${word}: ${size}${meaningOf(amount, profile)}`, "  ", HANGING);
  }
}

function meaningOf({ kind }: LiveAmount, profile: HeapProfile): string {
  switch (kind) {
    case "definite":
      return reachOf(profile)?.hostMayHold === true
        ? ". No pointer to them is left in the module's memory; only the host may still hold them: " +
            "delete() or free() each as soon as it is done with."
        : ". No pointer to them is left: free each before the last pointer to it goes.";
    case "indirect":
      return ". Only lost blocks point to them: free them with those.";
    case "possible":
      return ". No pointer to their beginning is left, or what local variables hold is not known.";
    case "reachable":
      return "";
    case "suppressed":
    case "unknown":
      return ", as said above.";
    default:
      throw new RangeError(`no such kind: ${kind satisfies never}`);
  }
}

/** `1 lost, 999 indirectly lost` of some contexts; empty where all is still reachable, or nothing is known. */
export function reachFacts(profile: HeapProfile, contexts: readonly IndexIntoContextTable[]): string {
  const counts = LEAK_KINDS.map((kind: LeakKind) => {
    const measure = liveBlocksOf(profile, kind);
    return { kind, blocks: measure === undefined ? 0 : sumOf(measure.blocks, contexts) };
  }).filter(({ blocks }) => blocks > 0);
  if (counts.every(({ kind }) => kind === "reachable")) return "";
  return counts.map(({ kind, blocks }) => `${formatCount(blocks)} ${WORDS[kind]}`).join(", ");
}
