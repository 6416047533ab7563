import { formatBlocks, formatCount } from "../../profile/model/format.ts";
import type { HeapProfile, SiteColumns, SiteField } from "../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../profile/model/indices.ts";
import { isOfNativeProgram } from "../../profile/model/known-fields.ts";
import { type BlockMeasure, blockMeasure } from "../analyses/block-measure.ts";
import { isCollected } from "../analyses/collected.ts";
import { dragOfContexts } from "../analyses/dragged-blocks.ts";
import { libraryOf, START_UP } from "../analyses/frames/libraries.ts";
import { leaks } from "../analyses/heap.ts";
import { marginOf } from "../analyses/host-stacks.ts";
import { reachOf } from "../analyses/live-blocks.ts";
import { heapTotals } from "../analyses/totals.ts";
import {
  type FindingKind,
  type FindingPlace,
  type FindingSentence,
  type Found,
  LEAST_PART,
} from "./finding-kind.ts";
import {
  accessesOf,
  blocksByOwner,
  blocksBySite,
  blocksSentence,
  LEAST_BYTES,
  type SiteBlocks,
} from "./heap-blocks.ts";
import { placeKey } from "./places.ts";

/** Blocks that were never released. The amount is all that goes with them. */
export interface LeakFinding extends Found<"leak", "heap"> {
  /** Of the place. */
  readonly blocks: number;
  /**
   * "lost": no pointer to them is left; "host": none is left in the module's memory, and only the host may hold one;
   * "growing": they can still be reached, but hardly any was released, most are idle, and there are ever more of them; "live": they were
   * live at the end, and it is not known whether they are lost.
   */
  readonly state: "lost" | "host" | "growing" | "live";
  /** Blocks of other places that only they point to. */
  readonly behind: number;
  /** All blocks that the place allocated. */
  readonly allocated: number;
}

/**
 * A host keeps some addresses for good: of the tables that it makes at the start, of an object that it goes on using. A program keeps
 * tables and caches. So many blocks of one place, allocated all through the run, they do not.
 */
const MANY_BLOCKS = 10;
/** Blocks that are allocated all through a run are allocated in its second half as often as in its first; some less will do. */
const LEAST_LATE = 1 / 4;
/**
 * What an object of the host's has inside, and had for most of the run's work, it needs. By work fewer will do: what an object does often
 * takes the longer the more it has.
 */
const LEAST_LATE_BY_WORK = LEAST_LATE / 2;
/** Of a collection that only grows, so much is never released. */
const MOST = 9 / 10;
/** And so much is not used when the program ends. */
const LEAST_IDLE = 1 / 2;
/** A program that has gone on for long after its last allocation has what it needs. */
const MOST_AFTER = 1 / 4;

export const leak: FindingKind<LeakFinding> = {
  kind: "leak",
  also: ["leaks"],
  meaning:
    "Blocks that were never released, although the program has no more use for them. Three cases are reported: lost blocks (no pointer to them is left), blocks that only the host can still release, and collections that only grow.",
  advice: "Release the blocks where their owner ends: with free, a destructor, delete() or close().",
  more: "concepts.md#lost-or-still-reachable",
  sources: ["heap"],
  find: ({ heap }) => (heap === undefined ? [] : leakFindings(heap)),
  leastPart: LEAST_PART,
  ofBlocks: {},
  // What is lost, and what hangs on it, is in the way because it is lost: nothing else is to be said of these blocks.
  claims: ({ heap }) => (heap === undefined ? [] : lostPlaces(heap)),
  sums: ["blocks", "allocated", "behind"],
  apart: "state",
  isComparable: true,
  sentence: leakSentence,
  whole: { short: "of the peak", long: "of the bytes or of the blocks at the peak, whatever is more" },
  weight: "left",
  treeWeights: ["left", "lost", "bytes"],
};

/** What is said of blocks in each state. */
const LEAK_STATES: { readonly [State in LeakFinding["state"]]: string } = {
  lost: "lost",
  host: "never released by the host",
  growing: "kept, and most are not used again",
  live: "never released",
};

/** As of any blocks; `1 block of … and 386 inside are left to the host` of what the host has not given back. */
function leakSentence(finding: LeakFinding): FindingSentence {
  const state = LEAK_STATES[finding.state];
  const sentence = blocksSentence(finding, state);
  if (finding.state !== "host" || finding.behind === 0) return sentence;
  const inside = `and ${formatCount(finding.behind)} inside are ${state}`;
  return { before: `${formatBlocks(finding.blocks)} of`, after: inside, shortAfter: sentence.after };
}

/** Places of which blocks are lost; where that is not known, places of which several were live at the end. */
function leakFindings(profile: HeapProfile): LeakFinding[] {
  const { site } = profile.contexts;
  const { peakBytes = 0, peakBlocks = 0 } = profile.description.totals ?? {};
  if (site === undefined || peakBytes === 0 || peakBlocks === 0) return [];
  const reach = reachOf(profile);
  const found = reach === undefined ? liveFindings(profile, site) : lostFindings(profile, site, reach);
  return found.map((finding) => ({
    kind: "leak",
    tool: "heap",
    unit: "bytes",
    // What is leaked in small blocks is in the way as so many blocks.
    part: Math.max(finding.amount / peakBytes, finding.blocks / peakBlocks),
    ...finding,
  }));
}

type LeakFacts = Omit<LeakFinding, "kind" | "tool" | "unit" | "part">;

/** What a program has one of may live as long as the program; and one that was stopped might have released all. */
function liveFindings(profile: HeapProfile, { suppressedBlocks }: SiteColumns): LeakFacts[] {
  const { end, importedFrom } = profile.description;
  // Other tools do not say how a program ended, but they write when it has.
  const hasEnded =
    importedFrom === undefined ? end?.kind === "exit" && end.isLater !== true : end === undefined;
  const live = leaks(profile);
  if (!hasEnded || live === undefined) return [];
  const isTold = (_: number, context: number) => (suppressedBlocks?.[context] ?? 0) === 0;
  const keep = (values: Float64Array) => values.map((value, context) => (isTold(value, context) ? value : 0));
  const collected = isCollected(profile);
  return blocksBySite(profile, blockMeasure(keep(live.blocks), keep(live.bytes)))
    .filter((found) =>
      // What a collector has not come to yet is no leak; what lives after it came by for most is.
      collected
        ? found.blocks >= MANY_BLOCKS && found.blocks >= found.allocated * MOST && isGoingOn(profile, found)
        : found.blocks >= MANY_BLOCKS || (found.blocks > 1 && found.bytes >= LEAST_BYTES),
    )
    .map(({ place, blocks, bytes, allocated }) => ({
      place,
      amount: bytes,
      blocks,
      allocated,
      state: "live",
      behind: 0,
    }));
}

/**
 * Whether a place may be one that goes on allocating to the end, without a use for most of what it has. If a part of its blocks is
 * allocated in the second half of a run, they live for half of it at most and the others for all of it. A run is as long as its work: the
 * clock of allocations stands still while a program computes.
 */
function isGoingOn(profile: HeapProfile, { contexts, allocated }: SiteBlocks): boolean {
  if (profile.description.clock.kind !== "virtual") return true;
  const most = 1 - LEAST_LATE / 2;
  const work = accessesOf(profile);
  const { blocks, bytes, byteWork, lateBlocks } = dragOfContexts(profile, contexts);
  if (work !== undefined && blocks > 0)
    return byteWork <= bytes * work * most && lateBlocks >= blocks * LEAST_IDLE;
  const { totalLifetime } = profile.contexts.mibs;
  const lived = contexts.reduce((sum, context) => sum + Number(totalLifetime[context]!), 0);
  return lived <= allocated * heapTotals(profile).allocations * most;
}

function lostFindings(
  profile: HeapProfile,
  site: SiteColumns,
  { hostMayHold }: { readonly hostMayHold: boolean },
): LeakFacts[] {
  const places = placesOf(profile, site, blockMeasure(site.liveBlocks, site.liveBytes));
  return hostMayHold ? hostFindings(profile, site, places) : moduleFindings(profile, places);
}

/** A place, with sums over its contexts. */
interface Place {
  readonly found: SiteBlocks;
  readonly sum: (field: SiteField) => number;
  /** Lost blocks, and those of the place that hang on lost ones. */
  readonly blocks: number;
  readonly bytes: number;
  /** Lost blocks with all that hangs on them. */
  readonly heldBytes: number;
  /** How many of these are of other places. */
  readonly behind: number;
}

function placesOf(profile: HeapProfile, site: SiteColumns, measure: BlockMeasure): Place[] {
  return blocksByOwner(profile, measure).map((found) => {
    const sum = (field: SiteField): number =>
      found.contexts.reduce((total, context: IndexIntoContextTable) => total + site[field][context]!, 0);
    const blocks = sum("lostBlocks") + sum("indirectlyLostBlocks");
    return {
      found,
      sum,
      blocks,
      bytes: sum("lostBytes") + sum("indirectlyLostBytes"),
      heldBytes: sum("lostBytes") + sum("behindLostBytes"),
      behind: Math.max(0, sum("lostBlocks") + sum("behindLostBlocks") - blocks),
    };
  });
}

function factsOf({ found: { place, allocated } }: Place): Pick<LeakFacts, "place" | "allocated"> {
  return { place, allocated };
}

/** What hangs on blocks of sampled callers may be off as well. */
function heldFacts(profile: HeapProfile, place: Place): ReturnType<typeof factsOf> {
  const facts = factsOf(place);
  const { margins } = facts.place;
  const behind = profile.contexts.site!.behindLostBytes;
  if (margins === undefined || place.heldBytes <= place.bytes) return facts;
  const bytes = margins.bytes + Math.ceil(marginOf(profile, behind, place.found.contexts) ?? 0);
  return { ...facts, place: { ...facts.place, margins: { ...margins, bytes } } };
}

function moduleFindings(profile: HeapProfile, places: readonly Place[]): LeakFacts[] {
  return places.flatMap((place): LeakFacts[] => {
    const { found, sum, blocks, bytes, heldBytes, behind } = place;
    if (sum("lostBlocks") === 0 || isOfMain(found)) return growingFindings(profile, place);
    if (isOfNativeProgram(profile) && isOfStartUp(found)) return [];
    return [
      { ...heldFacts(profile, place), amount: Math.max(heldBytes, bytes), blocks, state: "lost", behind },
    ];
  });
}

/**
 * What a host has not given back: objects that a place makes again and again, and single ones that are filled to the end, as is a database
 * that nobody closes. Either is told with all that only it leads to. What hangs on them is not told again, but for a place that makes
 * most of what is in single ones: the program may need these for as long as it runs, and fill them there in vain.
 */
function hostFindings(profile: HeapProfile, site: SiteColumns, places: readonly Place[]): LeakFacts[] {
  const made = places.flatMap((place) => madeForHost(profile, place) ?? []);
  const isMade = new Set(made.map(({ place }) => place));
  const growing = places.flatMap((place) => (isMade.has(place) ? [] : growingFindings(profile, place)));
  const known = new Set([...made.map(({ facts }) => facts), ...growing].map(({ place }) => placeKey(place)));
  const filled = filledForHost(profile, site).filter(({ facts }) => !known.has(placeKey(facts.place)));
  const hanging = places.reduce((total, { sum }) => total + sum("indirectlyLostBytes"), 0);
  const inMade = heldBy(made);
  const inFilled = heldBy(filled);
  const isOwn = ({ place: { sum, heldBytes } }: HostFinding): boolean => {
    const inOthers = inMade + inFilled - sum("behindLostBytes");
    const parts = sum("indirectlyLostBytes");
    // No more than half of the parts can hang on objects of other places that are told.
    if (parts <= heldBytes || parts <= 2 * (hanging - inOthers)) return true;
    return 2 * parts > inFilled && parts <= inFilled;
  };
  return [...[...made.filter(isOwn), ...filled].map(({ facts }) => facts), ...growing];
}

export interface HostFinding {
  readonly place: Place;
  readonly facts: LeakFacts;
}

function heldBy(findings: readonly HostFinding[]): number {
  return findings.reduce((total, { place }) => total + place.sum("behindLostBytes"), 0);
}

/** Of a place that goes on making them, to the end. */
function madeForHost(profile: HeapProfile, place: Place): HostFinding | undefined {
  const { sum, heldBytes, behind } = place;
  // Whatever only the host has the address of, there may be others that lead inside it. A module that has most blocks of a place
  // has the rest, too: by addresses inside of them, or with a mark in their lowest bits, as interpreters have them.
  const possible = sum("possiblyLostBlocks");
  const isOwn = possible <= sum("stillReachableBlocks");
  const blocks = place.blocks + (isOwn ? 0 : possible);
  const bytes = place.bytes + (isOwn ? 0 : sum("possiblyLostBytes"));
  const late = sum("lateLostBlocks") - (isOwn ? possible : 0);
  if (!isRepeated(blocks, late) || late - sum("settledLostBlocks") < blocks * LEAST_LATE_BY_WORK)
    return undefined;
  return {
    place,
    facts: {
      ...heldFacts(profile, place),
      amount: Math.max(heldBytes, bytes),
      blocks,
      state: "host",
      behind,
    },
  };
}

/**
 * One that stays as it is may be one that the program needs for as long as it runs. What is in it from the place where it is made, it
 * is made of.
 */
function filledForHost(profile: HeapProfile, site: SiteColumns): HostFinding[] {
  if (profile.description.end?.kind !== "exit") return [];
  return placesOf(profile, site, blockMeasure(site.lostBlocks, site.lostBytes)).flatMap(
    (place): HostFinding[] => {
      const { sum, heldBytes } = place;
      if (!isRepeated(place.behind, sum("lateBehindBlocks"))) return [];
      const [blocks, behind] = [sum("lostBlocks"), sum("behindLostBlocks")];
      return [
        { place, facts: { ...heldFacts(profile, place), amount: heldBytes, blocks, state: "host", behind } },
      ];
    },
  );
}

function growingFindings(profile: HeapProfile, place: Place): LeakFacts[] {
  const growing = growthOf(profile, place.found, place.sum);
  return growing === undefined ? [] : [{ ...factsOf(place), ...growing, state: "growing", behind: 0 }];
}

/**
 * What can be reached of a place that only allocates, to the end of the program's work, and of which most is not used then. What was
 * built before and asked a few times is none, whatever of it was not asked for.
 */
function growthOf(
  profile: HeapProfile,
  { allocated }: SiteBlocks,
  sum: (field: SiteField) => number,
): { amount: number; blocks: number } | undefined {
  const blocks = sum("stillReachableBlocks");
  if (blocks < allocated * MOST || !isRepeated(blocks, sum("lateReachableBlocks"))) return undefined;
  const { heapAccesses } = heapTotals(profile);
  const after = reachOf(profile)?.accessesAfter;
  const all = heapAccesses + (profile.description.totals?.otherAccesses ?? 0);
  if (after === undefined || after > all * MOST_AFTER) return undefined;
  if (sum("idleReachableBlocks") < blocks * LEAST_IDLE) return undefined;
  if (2 * sum("doneReachableBlocks") >= blocks) return undefined;
  return { amount: sum("stillReachableBytes"), blocks };
}

function isRepeated(blocks: number, late: number): boolean {
  return blocks >= MANY_BLOCKS && late >= blocks * LEAST_LATE;
}

/** What begins a native program, with nothing of its own below, is the system's. */
function isOfStartUp({ place }: SiteBlocks): boolean {
  return libraryOf({ function: place.path[0]!.function }) === START_UP;
}

/** The function that a program starts with runs once, and what it allocates once may live until it ends. */
function isOfMain({ place, allocated }: SiteBlocks): boolean {
  return (
    allocated === 1 &&
    place.path.slice(1).every((frame) => libraryOf({ function: frame.function }) === START_UP)
  );
}

/** The places of which many blocks are lost, or hang on lost ones. */
function lostPlaces(profile: HeapProfile): FindingPlace[] {
  const { site } = profile.contexts;
  if (site === undefined) return [];
  const all = blockMeasure(
    site.liveBlocks.map((_, context) => site.lostBlocks[context]! + site.indirectlyLostBlocks[context]!),
    site.liveBytes,
  );
  return blocksBySite(profile, all)
    .filter(({ blocks, allocated }) => 2 * blocks >= allocated)
    .map(({ place }) => place);
}
