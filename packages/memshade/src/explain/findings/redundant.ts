import { formatPercent } from "../../profile/model/format.ts";
import type { WasteFrame, WasteLoad } from "../../profile/model/waste.ts";
import { ownPlace } from "../analyses/frames/own-place.ts";
import {
  type FindingKind,
  type Found,
  LEAST_COMMON_PART,
  OF_MOVED,
  type WasteSearch,
} from "./finding-kind.ts";
import { isSpill, PLAIN, type WasteFinding } from "./waste/waste-finding.ts";
import { operationsInWords, repeatedBy } from "./waste/waste-words.ts";

/** Loads of bytes that the same loop has loaded before, unchanged, or of one value that never changes. */
export interface RedundantFinding extends Found<"redundant", "waste"> {
  /** Redundant part of all loads of the code location, 0…1. */
  readonly share: number;
  /** True if the same run of a loop has loaded the bytes before. */
  readonly isInLoop: boolean;
}

/** A wasted load costs less than a wasted store, because engines and caches hide most of it. */
const LOAD_WEIGHT = 0.25;

export const redundant: FindingKind<RedundantFinding> = {
  kind: "redundant",
  meaning: "A load of bytes that the program has loaded before and not changed since.",
  advice: "Keep the value in a local variable across the loop.",
  more: "tools/waste.md#what-the-words-mean",
  sources: ["waste"],
  waste: {
    ofLoad: repeatedLoads,
    isOfCode: true,
    part: (bytes, { moved }) => (LOAD_WEIGHT * bytes) / moved,
    facts: ({ share, isInLoop }) => ({ share, isInLoop }),
    inWords: (found) => {
      const load = operationsInWords(found, "load", "load");
      const last = repeatedBy(found, "load", "last loaded");
      const what = found.isInLoop ? "what the same loop has loaded" : "one value";
      return `${load} again ${what} and nothing has changed${last}${valueText(found)}.`;
    },
    advice: ({ isInLoop }) =>
      isInLoop ? redundant.advice : "Load the value once, in the caller, and pass it on.",
    rows: ["loads"],
  },
  leastPart: LEAST_COMMON_PART,
  sentence: ({ isInLoop }) => ({
    before: "loaded again by",
    after: isInLoop ? "in the same loop, although unchanged" : "at each call, although unchanged",
    shortAfter: isInLoop ? "in the same loop" : "at each call",
  }),
  whole: OF_MOVED,
  weight: "redundant",
  treeWeights: ["redundant"],
};

/**
 * Finds loads that repeat an unchanged load of the same address in the same run of a loop: a local variable
 * could keep the value. Other values loaded longer ago are not reported, because no register would have kept
 * them. The exception is a load of a single value that never changes: all loads but the first one are silent, so
 * a caller could pass the value on.
 */
function repeatedLoads(load: WasteLoad, index: number, { partners, fold }: WasteSearch): WasteFinding[] {
  const found = load.nof_redundant ?? load.nof_silent;
  const { nof_loads: loads, nof_again: again = 0 } = load;
  if (found <= 0 || load.class === "atomic") return [];
  const before = partners.of("redundant", index);
  if (isSpill(load, before.partner)) {
    fold("local variables in memory, loaded again", Math.round((load.bytes_loaded * found) / loads));
    return [];
  }
  // A library starts each search of a tree or table at the same values.
  const isOneValue = load.nof_silent === loads - 1 && ownPlace<WasteFrame>(load.ips)?.via === undefined;
  const isInLoop = 2 * again >= loads;
  const wasted = isOneValue ? found : Math.min(found, again);
  if (wasted === 0) return [];
  return [
    {
      ...PLAIN,
      kind: redundant.kind,
      ips: load.ips,
      bytes: Math.round((load.bytes_loaded * wasted) / loads),
      operations: loads,
      wasted,
      share: wasted / loads,
      isInLoop,
      class: load.class,
      value: (load.values ?? []).find((value) => value.loads * 2 >= found),
      ...before,
    },
  ];
}

/** Forms `; 98.0 % of them find 42`. */
function valueText({ value, wasted = 0 }: WasteFinding): string {
  if (value === undefined || wasted < 2) return "";
  const part = value.loads > 0.995 * wasted ? "all" : formatPercent(value.loads, wasted);
  return `; ${value.exact ? "" : "at least "}${part} of them find ${value.value}`;
}
