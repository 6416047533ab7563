import {
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { readU32Leb } from "../../../../ground/bytes/leb128.ts";
import { LARGE_FUNCTION_BYTES } from "../../../rewrite/facts/size-limits.ts";
import { SiteClass, type SiteRuns, type SiteTable } from "../site-table.ts";

/** Estimate of the bytes that inline code adds per access, near enough to bound the growth. */
const INLINED_BYTES = 100;
/**
 * Limits of the code that inlining adds to a module: this many times its size, and this many bytes. Engines and the
 * rewriter process all of it. It grows no function beyond `LARGE_FUNCTION_BYTES`.
 */
const MOST_GROWTH = 2;
const MOST_MODULE_BYTES = 2_000_000;
/** Trips that a loop is assumed to have, as is usual without a profile. */
const TRIPS = 10;
/** Deeper loops count as loops of this depth. */
const MOST_DEPTH = 8;

/** Run of sites, in code order from `first` on, with the same estimated frequency. */
interface Region {
  first: number;
  end: number;
  defined: number;
  frequency: number;
}

/**
 * Returns which accesses get inline code, a byte per site. The others are replaced by calls. The most frequent sites
 * come first, as long as the module and their function have room.
 * @param frequencies runs of each site, see `siteFrequencies`
 */
export function inlinedSites(module: WasmModule, sites: SiteTable, frequencies: Float64Array): Uint8Array {
  const inlined = new Uint8Array(sites.length);
  const sizes = module.bodies.map(({ start, end }) => end - start);
  const code = sizes.reduce((sum, size) => sum + size, 0);
  const roomIn = sizes.map((size) => LARGE_FUNCTION_BYTES - size);
  let room = Math.min(code * MOST_GROWTH, MOST_MODULE_BYTES);
  const regions = regionsOf(module, sites, frequencies);
  const order = Float64Array.from(regions.keys()).sort(
    (a, b) => regions[b].frequency - regions[a].frequency || a - b,
  );
  for (const at of order) {
    const { first, end, defined } = regions[at];
    for (let site = first; site < end; site++) {
      if (sites.siteClass[site] !== SiteClass.Plain) continue;
      if (roomIn[defined] < INLINED_BYTES || room < INLINED_BYTES) break;
      inlined[site] = 1;
      roomIn[defined] -= INLINED_BYTES;
      room -= INLINED_BYTES;
    }
  }
  return inlined;
}

/** Groups neighbouring sites with one frequency. Sites that never run are left out. */
function regionsOf(module: WasmModule, sites: SiteTable, frequencies: Float64Array): Region[] {
  const regions: Region[] = [];
  for (let defined = 0; defined < module.bodies.length; defined++) {
    const last = sites.firstOfFunction[defined + 1];
    for (let first = sites.firstOfFunction[defined]; first < last; ) {
      const frequency = frequencies[first];
      let end = first + 1;
      while (end < last && frequencies[end] === frequency) end++;
      if (frequency > 0) regions.push({ first, end, defined, frequency });
      first = end;
    }
  }
  return regions;
}

/** Returns frequencies from an earlier run. A site that did not run there, in a function that did, counts as rare. */
export function knownFrequencies(
  sites: SiteTable,
  { runs }: RunsPerSite,
  guessed: Float64Array,
): Float64Array {
  const found = new Float64Array(sites.length);
  for (let defined = 0; defined + 1 < sites.firstOfFunction.length; defined++) {
    const [first, end] = [sites.firstOfFunction[defined], sites.firstOfFunction[defined + 1]];
    if (!runs.subarray(first, end).some((count) => count > 0)) continue;
    for (let site = first; site < end; site++)
      found[site] = runs[site] > 0 ? runs[site] : guessed[site] / (1 + guessed[site]);
  }
  return found;
}

/** Estimates the frequency of each site from the loops around it, and from those around the calls of its function. */
export function siteFrequencies(module: WasmModule, sites: SiteTable): Float64Array {
  const frequencies = new Float64Array(sites.length);
  const calls = new Float64Array(module.bodies.length);
  module.bodies.forEach((_, defined) => {
    readBody(module, defined, sites, frequencies, calls);
  });
  for (let defined = 0; defined < module.bodies.length; defined++)
    for (let site = sites.firstOfFunction[defined]; site < sites.firstOfFunction[defined + 1]; site++)
      frequencies[site] *= 1 + calls[defined];
  return frequencies;
}

function readBody(
  module: WasmModule,
  defined: number,
  sites: SiteTable,
  frequencies: Float64Array,
  calls: Float64Array,
): void {
  const { bytes, codePayloadStart, importedFunctionCount } = module;
  const { codeStart, end } = module.bodies[defined];
  const isLoop: boolean[] = [false];
  let depth = 0;
  let site = sites.firstOfFunction[defined];
  const frequency = (): number => TRIPS ** Math.min(depth, MOST_DEPTH);
  for (let pos = codeStart; pos < end; ) {
    const op = opcodeIdAt(bytes, pos);
    const immediates = skipOpcode(bytes, pos);
    if (site < sites.firstOfFunction[defined + 1] && sites.offset[site] === pos - codePayloadStart)
      frequencies[site++] = frequency();
    switch (op) {
      case Op.LOOP:
        depth++;
        isLoop.push(true);
        break;
      case Op.BLOCK:
      case Op.IF:
      case Op.TRY:
      case Op.TRY_TABLE:
        isLoop.push(false);
        break;
      case Op.END:
      case Op.DELEGATE:
        if (isLoop.pop() === true) depth--;
        break;
      case Op.CALL:
      case Op.RETURN_CALL: {
        const callee = readU32Leb(bytes, immediates) - importedFunctionCount;
        if (callee >= 0) calls[callee] += frequency();
      }
    }
    pos = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
  }
}

interface RunsPerSite {
  runs: Float64Array;
}

export function runsPerSite(sites: SiteTable, { offsets, runs }: SiteRuns): RunsPerSite {
  const found = { runs: new Float64Array(sites.length) };
  for (let site = 0, at = 0; site < sites.length; site++) {
    while (at < offsets.length && offsets[at] < sites.offset[site]) at++;
    if (at === offsets.length) break;
    if (offsets[at] === sites.offset[site]) found.runs[site] = runs[at];
  }
  return found;
}
