import type { WasmModule } from "../../../wasm/index.ts";
import type { RunsPerSite } from "./site-runs.ts";
import { SiteClass, type SiteTable } from "./site-table.ts";

/** How a site is followed: code for time where it is worth it. */
export const Heat = {
  /** By a function in its place. */
  Cold: 0,
  /** The commonest case inline. */
  Warm: 1,
  /** All cases that are not rare inline. */
  Hot: 2,
  /** A load that calls nothing: what it finds unread goes into a log; or what one store wrote inline, and only the rest into the log. */
  Logged: 3,
  HotLogged: 4,
} as const;

/**
 * Bytes that following takes by heat, for loads and stores, with a share of what counts blocks. Where ids have 32 bits, warm
 * loads are followed as hot ones are.
 */
const LOAD_BYTES = [9.4, 40, 97, 120, 180];
/** Of loads that log, for each four bytes beyond the first. */
const LOGGED_BYTES = 55;
const STORE_BYTES = [9.4, 53, 80];
const WIDE_LOAD_BYTES = [9.3, 50, 50];
const WIDE_STORE_BYTES = [9.3, 76, 98];
/** The same where ids of 16 bits are given while the program runs, and in frames. */
const GIVEN_LOAD_BYTES = [9.4, 40, 100];
const GIVEN_STORE_BYTES = [9.4, 68, 96];
const FRAMED_LOAD_BYTES = [7.8, 39, 102];
const FRAMED_STORE_BYTES = [7.8, 68, 96];
/** Added code may be this many times the module's own; the bytes above are for ids of 16 bits; of 32 it is more, and in frames still more. */
const BUDGETS = { fixed: 2.745, given: 2.62, table: 2.305, framed: 2.265, givenInFrames: 2.535 } as const;
const BYTES = {
  fixed: [LOAD_BYTES, STORE_BYTES],
  given: [GIVEN_LOAD_BYTES, GIVEN_STORE_BYTES],
  table: [WIDE_LOAD_BYTES, WIDE_STORE_BYTES],
  framed: [WIDE_LOAD_BYTES, WIDE_STORE_BYTES],
  givenInFrames: [FRAMED_LOAD_BYTES, FRAMED_STORE_BYTES],
} as const;
/**
 * What functions of the tool's take, those that every module gets and those in the place of instructions, as far as that is
 * room: much for small modules, nothing for large ones. The smallest keep theirs: nobody minds what they grow by.
 */
const RUNTIME = { bytes: 28000, share: 0.95, free: 3500 };

/** Sites that are heated together, to the highest heat, loads or stores. */
interface Region {
  first: number;
  end: number;
  heat: number;
  which: "all" | "loads" | "stores";
  /** Regions are heated in descending order while there is room. */
  worth: number;
}

/** Bytes that following a site takes at a heat. */
type BytesAt = (site: number, heat: number) => number;

/** What runs of a site save by being followed inline, in units of what it saves to have all inline: near 0.8 and 0.4 ns. */
const WARM_GAIN = 2.5;
/** Guessed frequencies are good for the order of sites, not for their distance: a power of them counts. */
const TRUST = 0.4;
/** What is saved, in any unit, by a run that is followed inline, and by one of those inline where more was to do than usual. */
const RUN_GAIN = 4;
const EVENT_GAIN = 2;
/** What a run loses where a call is nearby, though it is not made: the code around it has fewer registers. */
const CALL_COST = 0.15;
/** The same where loads log what they find, and no call is left nearby. */
const LAST_CALL_COST = 2;
/** Unread bytes are worth code of their own where more than one load in so many finds some. */
const SELDOM = 40;
/** What share of the runs of new code may find more to do than usual. */
const NEW_EVENTS = 0.3;
/** Functions of which no site ran so often are not worth the time that engines take to compile more code. */
const MOST_COLD_RUNS = 5000;

/**
 * `Heat` per site of a module: what runs often by the look of the code first, as far as the added code stays within its
 * budget. `frequencies`: see `siteFrequencies`, or `likelyRuns` where earlier runs are known. `ids`: how stores are
 * told apart, without contexts or with. `otherBytes`: what else is added. `known`: what earlier runs did.
 * `logs`: loads may log what they find.
 */
export function siteHeat(
  module: WasmModule,
  sites: SiteTable,
  frequencies: Float64Array,
  ids: keyof typeof BUDGETS,
  {
    otherBytes = 0,
    known,
    logs = false,
  }: { otherBytes?: number; known?: RunsPerSite | undefined; logs?: boolean } = {},
): Uint8Array {
  const bytesAt: BytesAt = (site, heat) => {
    const more = heat >= Heat.Logged ? Math.max(sites.bytes[site] / 4 - 1, 0) : 0;
    return BYTES[ids][sites.store[site] > 0 ? 1 : 0][heat] + more * LOGGED_BYTES;
  };
  const code = module.bodies.reduce((sum, { start, end }) => sum + end - start, 0);
  const runtime = Math.min(RUNTIME.bytes, Math.max(code - RUNTIME.free, 0) * RUNTIME.share);
  const room = code * BUDGETS[ids] - runtime - otherBytes;
  const regions =
    known === undefined
      ? guessedRegions(module, sites, frequencies, bytesAt)
      : knownRegions(sites, frequencies, known, logs, bytesAt);
  return heated(sites, regions, room, bytesAt);
}

/** Sites side by side that seem to run equally often. */
function guessedRegions(
  module: WasmModule,
  sites: SiteTable,
  frequencies: Float64Array,
  bytesAt: BytesAt,
): Region[] {
  const regions: Region[] = [];
  for (let defined = 0; defined < module.bodies.length; defined++) {
    const last = sites.firstOfFunction[defined + 1];
    for (let first = sites.firstOfFunction[defined]; first < last; ) {
      let end = first + 1;
      while (end < last && frequencies[end] === frequencies[first]) end++;
      const value = frequencies[first] ** TRUST;
      let bytes = 0;
      for (let site = first; site < end; site++) bytes += bytesAt(site, Heat.Warm) - bytesAt(site, Heat.Cold);
      const worth = (WARM_GAIN * value * (end - first)) / bytes;
      regions.push({ first, end, heat: Heat.Warm, which: "all", worth });
      for (const which of ["loads", "stores"] as const) {
        const one = findSite(sites, first, end, which);
        if (one < 0) continue;
        const hotBytes = Math.max(bytesAt(one, Heat.Hot) - bytesAt(one, Heat.Warm), 1);
        regions.push({ first, end, heat: Heat.Hot, which, worth: value / hotBytes });
      }
      first = end;
    }
  }
  return regions;
}

function findSite(sites: SiteTable, first: number, end: number, which: "loads" | "stores"): number {
  for (let site = first; site < end; site++) if (sites.store[site] > 0 === (which === "stores")) return site;
  return -1;
}

/**
 * Each site by itself: all of it is worth while only where more was to do than usual. What did not run, in functions that did,
 * comes behind what ran, by its guessed frequency: a call in a loop would keep the loop from being followed as a whole. New functions
 * are taken for busy ones: programs are built anew where somebody is at work.
 */
function knownRegions(
  sites: SiteTable,
  likely: Float64Array,
  { runs, events, isNew }: RunsPerSite,
  logs: boolean,
  bytesAt: BytesAt,
): Region[] {
  const regions: Region[] = [];
  const add = (site: number, heat: number, gain: number) => {
    const bytes = Math.max(bytesAt(site, heat) - bytesAt(site, Math.min(heat - 1, Heat.Warm)), 1);
    regions.push({ first: site, end: site + 1, heat, which: "all", worth: gain / bytes });
  };
  for (let defined = 0; defined + 1 < sites.firstOfFunction.length; defined++) {
    const [first, end] = [sites.firstOfFunction[defined], sites.firstOfFunction[defined + 1]];
    if (isNew[first] === 0 && !runs.subarray(first, end).some((count) => count >= MOST_COLD_RUNS)) continue;
    for (let site = first; site < end; site++) {
      add(site, Heat.Warm, RUN_GAIN * likely[site]);
      if (isNew[site] === 1) add(site, Heat.Hot, (EVENT_GAIN * NEW_EVENTS + CALL_COST) * likely[site]);
      if (runs[site] === 0) continue;
      const gain = EVENT_GAIN * events[site] + (logs ? LAST_CALL_COST : CALL_COST) * runs[site];
      // A byte has one id: hot loads of bytes call nothing anyway.
      if (!logs || sites.store[site] > 0 || sites.bytes[site] === 1) add(site, Heat.Hot, gain);
      else add(site, events[site] * SELDOM > runs[site] ? Heat.HotLogged : Heat.Logged, gain);
    }
  }
  return regions;
}

/** The heat per site when regions are heated by their worth, as far as `room` bytes are enough for all sites. */
function heated(sites: SiteTable, regions: Region[], room: number, bytesAt: BytesAt): Uint8Array {
  const heat = new Uint8Array(sites.length);
  const bytesOf = (site: number): number => bytesAt(site, heat[site]);
  let left = room;
  for (let site = 0; site < sites.length; site++) left -= bytesOf(site);
  for (const region of regions.sort((a, b) => b.worth - a.worth)) {
    for (let site = region.first; site < region.end && left >= 0; site++) {
      if (heat[site] >= region.heat || sites.siteClass[site] !== SiteClass.Plain) continue;
      if (region.which !== "all" && sites.store[site] > 0 !== (region.which === "stores")) continue;
      left += bytesOf(site);
      heat[site] = region.heat;
      left -= bytesOf(site);
    }
  }
  return heat;
}
