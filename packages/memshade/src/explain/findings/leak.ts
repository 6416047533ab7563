import { isCollected } from "../../profile/model/collected-objects.ts";
import { formatBlocks, formatCount } from "../../profile/model/format.ts";
import type { HeapProfile, SiteColumns, SiteField } from "../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../profile/model/indices.ts";
import { isOfNativeProgram } from "../../profile/model/known-fields.ts";
import { type BlockMeasure, blockMeasure } from "../analyses/block-measure.ts";
import { dragOfContexts } from "../analyses/dragged-blocks.ts";
import { libraryOf, START_UP } from "../analyses/frames/libraries.ts";
import { sumOf } from "../analyses/groups.ts";
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

/** Blocks that were never released. The amount includes everything that only they hold. */
export interface LeakFinding extends Found<"leak", "heap"> {
  /** Leaked blocks of the site. */
  readonly blocks: number;
  /**
   * "lost": no pointer to them is left. "host": no pointer is left in the module's memory; only the host may
   * hold one. "growing": still reachable, but hardly any was released, most are idle, and their number grows.
   * "live": live at the end; whether they are lost is unknown.
   */
  readonly state: "lost" | "host" | "growing" | "live";
  /** Blocks of other sites that only they point to. */
  readonly behind: number;
  /** All blocks that the site allocated. */
  readonly allocated: number;
  /** True if the blocks exist for nearly all of the program's work: they were made once, and do not become more. */
  readonly isMadeOnce?: true | undefined;
}

/**
 * Least number of leaked blocks of a site, if allocated all through the run. A host keeps single addresses
 * for good (tables, objects in use) and a program keeps tables and caches, but not so many.
 */
const MANY_BLOCKS = 10;
/**
 * Least part of the blocks allocated in the second half of the run. Blocks allocated all through a run have
 * about half there.
 */
const LEAST_LATE = 1 / 4;
/**
 * The same part, measured by work. Blocks inside a host's object for most of the run's work are needed by it.
 * The limit is lower because operations of a growing object take longer.
 */
const LEAST_LATE_BY_WORK = LEAST_LATE / 2;
/** Least part of a growing collection's blocks that are never released. */
const MOST = 9 / 10;
/** Least part of a growing collection's blocks that are idle when the program ends. */
const LEAST_IDLE = 1 / 2;
/**
 * Largest part of the work after the last allocation: a program that runs on for longer has all the data it
 * needs.
 */
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
  findsLost: ({ state }) => state === "lost",
  leastPart: LEAST_PART,
  isLast: ({ isMadeOnce }) => isMadeOnce === true,
  ofBlocks: {},
  // Lost blocks, and the blocks that they hold, are not reported for other reasons.
  claims: ({ heap }) => (heap === undefined ? [] : lostPlaces(heap)),
  sums: ["blocks", "allocated", "behind"],
  apart: "state",
  isComparable: true,
  sentence: leakSentence,
  whole: { short: "of the peak", long: "of the bytes or of the blocks at the peak, whatever is more" },
  weight: "left",
  treeWeights: ["left", "lost", "bytes"],
};

/** Words for each state. */
const LEAK_STATES: { readonly [State in LeakFinding["state"]]: string } = {
  lost: "lost",
  host: "never released by the host",
  growing: "kept, and most are not used again",
  live: "never released",
};

/**
 * Forms the sentence of `blocksSentence`. For blocks that the host has not released: `1 block of … and 386
 * inside are never released by the host`.
 */
function leakSentence(finding: LeakFinding): FindingSentence {
  const state = LEAK_STATES[finding.state];
  const sentence = blocksSentence(finding, state, finding.state === "growing" ? "not used again" : state);
  if (finding.state !== "host" || finding.behind === 0) return sentence;
  const inside = `and ${formatCount(finding.behind)} inside are ${state}`;
  return { before: `${formatBlocks(finding.blocks)} of`, after: inside, shortAfter: sentence.after };
}

/**
 * Finds sites with lost blocks. If reachability is unknown, finds sites with several live blocks at the end.
 */
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
    // Leaks of small blocks are weighed by the number of blocks.
    part: Math.max(finding.amount / peakBytes, finding.blocks / peakBlocks),
    ...finding,
  }));
}

type LeakFacts = Omit<LeakFinding, "kind" | "tool" | "unit" | "part">;

/**
 * True if a site made its blocks early and freed none, as registries and the parts of an interpreter. Blocks that are allocated all
 * through the run live for half of its work.
 */
function isMadeOnce(
  profile: HeapProfile,
  { contexts, allocated }: SiteBlocks,
  leaked: number,
): true | undefined {
  const work = accessesOf(profile);
  const { bytes, byteWork } = dragOfContexts(profile, contexts);
  if (work === undefined || bytes === 0 || leaked < allocated * MOST) return undefined;
  return byteWork > bytes * work * (1 - LEAST_LATE / 2) || undefined;
}

/**
 * Finds live blocks of a program that ended normally. Single small blocks may live as long as the program,
 * and a stopped program might have released everything.
 */
function liveFindings(profile: HeapProfile, { suppressedBlocks }: SiteColumns): LeakFacts[] {
  const { end, importedFrom } = profile.description;
  // Imported files do not record how a program ended, but their tools write them only after its end.
  const hasEnded =
    importedFrom === undefined ? end?.kind === "exit" && end.isLater !== true : end === undefined;
  const live = leaks(profile);
  if (!hasEnded || live === undefined) return [];
  const isReported = (_: number, context: number) => (suppressedBlocks?.[context] ?? 0) === 0;
  const keep = (values: Float64Array) =>
    values.map((value, context) => (isReported(value, context) ? value : 0));
  const collected = isCollected(profile);
  return blocksBySite(profile, blockMeasure(keep(live.blocks), keep(live.bytes)))
    .filter((found) =>
      // Objects that a collector has not freed yet are no leak. A site is reported only if nearly all of its
      // objects are live and it allocates until the end.
      collected
        ? found.blocks >= MANY_BLOCKS && found.blocks >= found.allocated * MOST && isGoingOn(profile, found)
        : found.blocks >= MANY_BLOCKS || (found.blocks > 1 && found.bytes >= LEAST_BYTES),
    )
    .map((found) => ({
      place: found.place,
      amount: found.bytes,
      blocks: found.blocks,
      allocated: found.allocated,
      isMadeOnce: isMadeOnce(profile, found, found.blocks),
      state: "live",
      behind: 0,
    }));
}

/**
 * True if a site may allocate until the end while most of its blocks are unused. If a part of its blocks is
 * allocated in the second half of a run, these live for at most half of it, the others for all of it. The
 * length of a run is its work, because the clock of allocations stands still while a program computes.
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

/** A site with sums over its contexts. */
interface Place {
  readonly found: SiteBlocks;
  readonly sum: (field: SiteField) => number;
  /** Lost blocks, and indirectly lost ones of the same site. */
  readonly blocks: number;
  readonly bytes: number;
  /** Bytes of lost blocks and of all blocks that only they hold. */
  readonly heldBytes: number;
  /** Number of held blocks of other sites. */
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

function factsOf(
  profile: HeapProfile,
  { found, blocks }: Place,
): Pick<LeakFacts, "place" | "allocated" | "isMadeOnce"> {
  const { place, allocated } = found;
  return { place, allocated, isMadeOnce: isMadeOnce(profile, found, blocks) };
}

/** Bytes held by blocks of sampled callers have margins of error too. */
function heldFacts(profile: HeapProfile, place: Place): ReturnType<typeof factsOf> {
  const facts = factsOf(profile, place);
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
 * Finds blocks that a host has not released: objects that a site makes again and again, and single objects
 * that are filled to the end, such as a database that is never closed. Each is reported with everything that
 * only it holds. Held blocks are not reported again. The exception is a site that makes most of the blocks in
 * single objects: the program may need these objects for the whole run, so that filling them is the problem.
 */
function hostFindings(profile: HeapProfile, site: SiteColumns, places: readonly Place[]): LeakFacts[] {
  const made = places.flatMap((place) => madeForHost(profile, place) ?? []);
  const isMade = new Set(made.map(({ place }) => place));
  const growing = places.flatMap((place) => (isMade.has(place) ? [] : growingFindings(profile, place)));
  const reportedKeys = new Set(
    [...made.map(({ facts }) => facts), ...growing].map(({ place }) => placeKey(place)),
  );
  const filled = filledForHost(profile, site).filter(({ facts }) => !reportedKeys.has(placeKey(facts.place)));
  const hanging = places.reduce((total, { sum }) => total + sum("indirectlyLostBytes"), 0);
  const inMade = heldBy(made);
  const inFilled = heldBy(filled);
  const isOwn = ({ place: { sum, heldBytes } }: HostFinding): boolean => {
    const inOthers = inMade + inFilled - sum("behindLostBytes");
    const parts = sum("indirectlyLostBytes");
    // Reported objects of other sites may hold at most half of the parts.
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

/** Returns the leak of a site that makes such objects until the end. */
function madeForHost(profile: HeapProfile, place: Place): HostFinding | undefined {
  const { sum, heldBytes, behind } = place;
  // Addresses inside a block may exist elsewhere, even if only the host has its start. If the module reaches
  // most blocks of a site, it reaches the others too: by inner addresses, or by tagged pointers as
  // interpreters use them.
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
 * Finds single objects that are filled until the end; objects that stay as they are may be needed for the
 * whole run. Blocks inside that come from the same site as the object are part of it.
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
  return growing === undefined
    ? []
    : [{ ...factsOf(profile, place), ...growing, state: "growing", behind: 0 }];
}

/**
 * Returns the reachable blocks of a site that only allocates, until the end of the program's work, and whose
 * blocks are mostly idle then. Data that was built early and queried a few times does not count, even if much
 * of it was never queried.
 */
function growthOf(
  profile: HeapProfile,
  { allocated }: SiteBlocks,
  sum: (field: SiteField) => number,
): { amount: number; blocks: number } | undefined {
  const blocks = sum("stillReachableBlocks");
  if (!isCollection(allocated, blocks, sum("lateReachableBlocks"))) return undefined;
  const { heapAccesses } = heapTotals(profile);
  const after = reachOf(profile)?.accessesAfter;
  const totalAccesses = heapAccesses + (profile.description.totals?.otherAccesses ?? 0);
  if (after === undefined || after > totalAccesses * MOST_AFTER) return undefined;
  if (sum("idleReachableBlocks") < blocks * LEAST_IDLE) return undefined;
  if (2 * sum("doneReachableBlocks") >= blocks) return undefined;
  return { amount: sum("stillReachableBytes"), blocks };
}

/** True for reachable blocks of a site that only allocates, until the end of the program. Their use is not judged. */
export function growsToTheEnd(
  { contexts: { site } }: HeapProfile,
  { contexts, blocks, allocated }: SiteBlocks,
): boolean {
  return site !== undefined && isCollection(allocated, blocks, sumOf(site.lateReachableBlocks, contexts));
}

function isCollection(allocated: number, blocks: number, late: number): boolean {
  return blocks >= allocated * MOST && isRepeated(blocks, late);
}

function isRepeated(blocks: number, late: number): boolean {
  return blocks >= MANY_BLOCKS && late >= blocks * LEAST_LATE;
}

/** True for start-up code of a native program without own code below: its blocks belong to the system. */
function isOfStartUp({ place }: SiteBlocks): boolean {
  return libraryOf({ function: place.path[0]!.function }) === START_UP;
}

/**
 * True for a single allocation in the main function: main runs once, and the block may live until the program
 * ends.
 */
function isOfMain({ place, allocated }: SiteBlocks): boolean {
  return (
    allocated === 1 &&
    place.path.slice(1).every((frame) => libraryOf({ function: frame.function }) === START_UP)
  );
}

/** Returns the sites that have many lost or indirectly lost blocks. */
function lostPlaces(profile: HeapProfile): FindingPlace[] {
  const { site } = profile.contexts;
  if (site === undefined) return [];
  const lostBlocks = blockMeasure(
    site.liveBlocks.map((_, context) => site.lostBlocks[context]! + site.indirectlyLostBlocks[context]!),
    site.liveBytes,
  );
  return blocksBySite(profile, lostBlocks)
    .filter(({ blocks, allocated }) => 2 * blocks >= allocated)
    .map(({ place }) => place);
}
