import type { WasmModule } from "../../wasm/index.ts";
import { SiteClass, type SiteTable } from "./site-table.ts";

/** How a site is followed: code for time where it is worth it. */
export const Heat = {
  /** By a function in its place. */
  Cold: 0,
  /** The commonest case inline. */
  Warm: 1,
  /** All cases that are not rare inline. */
  Hot: 2,
} as const;

/**
 * Bytes that following takes by heat, for loads and stores, with a share of what counts blocks. Where ids have 32 bits, warm
 * loads are followed as hot ones are.
 */
const LOAD_BYTES = [10, 41, 106];
const STORE_BYTES = [10, 54, 80];
const WIDE_LOAD_BYTES = [10, 58, 58];
const WIDE_STORE_BYTES = [10, 84, 104];
/** The same where ids of 16 bits are given while the program runs. */
const GIVEN_LOAD_BYTES = [10, 41, 110];
const GIVEN_STORE_BYTES = [10, 72, 98];
/** Added code may be this many times the module's own; the bytes above are for ids of 16 bits; of 32 it is more, and in frames still more. */
const BUDGETS = { narrow: 2.79, wide: 2.345, framed: 2.215, given: 2.435 } as const;
const BYTES = {
  narrow: [LOAD_BYTES, STORE_BYTES],
  wide: [WIDE_LOAD_BYTES, WIDE_STORE_BYTES],
  framed: [WIDE_LOAD_BYTES, WIDE_STORE_BYTES],
  given: [GIVEN_LOAD_BYTES, GIVEN_STORE_BYTES],
} as const;
/**
 * What the functions take that every module gets, as far as that is room: much for small ones, nothing for large ones. The
 * smallest keep theirs: nobody minds what they grow by.
 */
const RUNTIME = { bytes: 21500, share: 0.87, free: 3500 };

/** Sites that are heated together: those side by side that run equally often; to the highest heat, loads or stores. */
interface Region {
  first: number;
  end: number;
  heat: number;
  which: "all" | "loads" | "stores";
  /** Regions are heated in descending order while there is room. */
  worth: number;
}

/** What runs of a site save by heat, in any unit. */
const GAIN = [0, 9, 1];
/** Guessed frequencies are good for the order of sites, not for their distance: a power of them counts. */
const TRUST = 0.4;

/**
 * `Heat` per site of a module: what runs often by the look of the code first, as far as the added code stays within its
 * budget. `frequencies`: see `siteFrequencies`. `ids`: of 16 bits, of 32, those of 32 that frames have, or those of 16 that they
 * are given. `otherBytes`: what else is added.
 */
export function siteHeat(
  module: WasmModule,
  sites: SiteTable,
  frequencies: Float64Array,
  ids: keyof typeof BUDGETS,
  otherBytes = 0,
): Uint8Array {
  const [loadBytes, storeBytes] = BYTES[ids];
  const bytesAt = (site: number, at: number): number => (sites.store[site] > 0 ? storeBytes : loadBytes)[at];
  const hotBytes = (sizes: readonly number[]): number => Math.max(sizes[Heat.Hot] - sizes[Heat.Warm], 1);
  const regions: Region[] = [];
  for (let defined = 0; defined < module.bodies.length; defined++) {
    const last = sites.firstOfFunction[defined + 1];
    for (let first = sites.firstOfFunction[defined]; first < last; ) {
      let end = first + 1;
      while (end < last && frequencies[end] === frequencies[first]) end++;
      const value = frequencies[first] ** TRUST;
      let bytes = 0;
      for (let site = first; site < end; site++) bytes += bytesAt(site, Heat.Warm) - bytesAt(site, Heat.Cold);
      const worth = (GAIN[Heat.Warm] * value * (end - first)) / bytes;
      regions.push({ first, end, heat: Heat.Warm, which: "all", worth });
      for (const which of ["loads", "stores"] as const) {
        const gain = (GAIN[Heat.Hot] * value) / hotBytes(which === "loads" ? loadBytes : storeBytes);
        regions.push({ first, end, heat: Heat.Hot, which, worth: gain });
      }
      first = end;
    }
  }
  regions.sort((a, b) => b.worth - a.worth);
  const heat = new Uint8Array(sites.length);
  const bytesOf = (site: number): number => bytesAt(site, heat[site]);
  const code = module.bodies.reduce((sum, { start, end }) => sum + end - start, 0);
  const runtime = Math.min(RUNTIME.bytes, Math.max(code - RUNTIME.free, 0) * RUNTIME.share);
  let room = code * BUDGETS[ids] - runtime - otherBytes;
  for (let site = 0; site < sites.length; site++) room -= bytesOf(site);
  for (const region of regions) {
    for (let site = region.first; site < region.end && room >= 0; site++) {
      if (heat[site] >= region.heat || sites.siteClass[site] !== SiteClass.Plain) continue;
      if (region.which !== "all" && sites.store[site] > 0 !== (region.which === "stores")) continue;
      room += bytesOf(site);
      heat[site] = region.heat;
      room -= bytesOf(site);
    }
  }
  return heat;
}
