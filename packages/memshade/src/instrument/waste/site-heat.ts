import {
  IMMEDIATE_KIND,
  opcodeId,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../wasm/index.ts";
import { FunctionFact, type ModuleScan } from "../module-scan.ts";
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

/** Bytes that following takes by heat, for loads and stores, with a share of what counts blocks. */
const LOAD_BYTES = [10, 45, 130];
const STORE_BYTES = [10, 62, 100];
/** Added code may be this many times the module's own; the bytes above are for ids of 16 bits, of 32 it is more. */
const BUDGET = 2.5;
const BUDGET_OF_WIDE_IDS = 2.1;
/** Larger innermost loops are not what programs spend their time in: interpreters, mostly. */
const LARGEST_HOT_LOOP = 48;

const BLOCK = opcodeId("block");
const LOOP = opcodeId("loop");
const IF = opcodeId("if");
const TRY = opcodeId("try");
const TRY_TABLE = opcodeId("try_table");
const DELEGATE = opcodeId("delegate");
const END = opcodeId("end");

/** Sites that are heated together. */
interface Region {
  first: number;
  end: number;
  heat: number;
  /** Regions are heated in ascending order while there is room. */
  rank: number;
}

/**
 * `Heat` per site of a module. What loops often is heated first, the smallest loops and functions before larger ones, as
 * far as the added code stays within its budget. `otherBytes`: what else is added.
 */
export function siteHeat(
  module: WasmModule,
  sites: SiteTable,
  scan: ModuleScan,
  ids: 16 | 32,
  otherBytes = 0,
): Uint8Array {
  const regions: Region[] = [];
  module.bodies.forEach((body, defined) => {
    const [first, end] = [sites.firstOfFunction[defined], sites.firstOfFunction[defined + 1]];
    if (first === end) return;
    const hasLoops = (scan.facts[defined] & FunctionFact.HasLoop) !== 0;
    const count = end - first;
    // Functions without loops may be called by loops; what stands beside a function's loops runs rarely.
    const rank = hasLoops ? 4000 + count : 1000 + count;
    regions.push({ first, end, heat: Heat.Warm, rank }, { first, end, heat: Heat.Hot, rank: 100_000 + rank });
    if (hasLoops) findLoops(module, body.codeStart, body.end, sites, first, regions);
  });
  regions.sort((a, b) => a.rank - b.rank);
  const heat = new Uint8Array(sites.length);
  const bytesOf = (site: number): number => (sites.store[site] > 0 ? STORE_BYTES : LOAD_BYTES)[heat[site]];
  const code = module.bodies.reduce((sum, { start, end }) => sum + end - start, 0);
  let room = code * (ids === 16 ? BUDGET : BUDGET_OF_WIDE_IDS) - otherBytes;
  for (let site = 0; site < sites.length; site++) room -= bytesOf(site);
  for (const region of regions) {
    for (let site = region.first; site < region.end; site++) {
      if (heat[site] >= region.heat || sites.siteClass[site] !== SiteClass.Plain) continue;
      room += bytesOf(site);
      heat[site] = region.heat;
      room -= bytesOf(site);
    }
    if (room < 0) break;
  }
  return heat;
}

/** Adds the loops of a function. */
function findLoops(
  module: WasmModule,
  codeStart: number,
  end: number,
  sites: SiteTable,
  firstSite: number,
  regions: Region[],
): void {
  const { bytes, codePayloadStart } = module;
  /** First site of each open loop, −1 for other blocks; and whether there is a loop inside. */
  const open: { first: number; hasInner: boolean }[] = [];
  let site = firstSite;
  for (let pos = codeStart; pos < end; ) {
    while (site < sites.length && sites.offset[site] < pos - codePayloadStart) site++;
    const op = opcodeIdAt(bytes, pos);
    if (op === LOOP || op === BLOCK || op === IF || op === TRY || op === TRY_TABLE)
      open.push({ first: op === LOOP ? site : -1, hasInner: false });
    else if (op === END || op === DELEGATE) {
      const block = open.pop();
      if (block !== undefined && block.first >= 0) {
        const count = site - block.first;
        regions.push({ first: block.first, end: site, heat: Heat.Warm, rank: block.hasInner ? count : 0 });
        if (!block.hasInner && count <= LARGEST_HOT_LOOP)
          regions.push({ first: block.first, end: site, heat: Heat.Hot, rank: count * 10 });
        for (const outer of open) outer.hasInner = true;
      }
    }
    pos = skipImmediates(bytes, skipOpcode(bytes, pos), IMMEDIATE_KIND[op]);
  }
}
