import { readU32Leb } from "../../../bytes/leb128.ts";
import { recursiveComponents } from "../../../rewrite/facts/call-graph.ts";
import { findReferences } from "../../../rewrite/facts/function-references.ts";
import type { ModuleScan } from "../../../rewrite/facts/module-scan.ts";
import {
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import { tableLabels } from "./branch-labels.ts";
import type { SiteTable } from "./site-table.ts";

/** Least and most trips of a loop. */
const TRIPS = 9;
const MOST_TRIPS = 50;
/** Shares of branches that leave a loop, of others, and of the first arm of `if`: guesses that fit programs. */
const LEAVES = 0.33;
const SKIPS = 0.6;
const ARM = 0.5;
/**
 * Each label of a table gets this power of its share of the labels, more than all in sum: what a loop branches on runs
 * often, whichever part of it that is.
 */
const TABLE_POWER = 0.6;
/** What is behind a trap or an exception is hardly run. */
const RARE = 0.02;
/** Runs of a function of which no call is known. */
const UNKNOWN_CALLS = 0.2;
/** Calls deeper than this from an entry, and rounds that calls through tables take. */
const DEPTH = 24;
const INDIRECT_ROUNDS = 2;
/**
 * Of runs that callers of callers bring, a power counts: guesses multiply along the way, and of functions far from the
 * entries they say hardly more than that they are far.
 */
const RUNS_POWER = 0.2;

interface Calls {
  /** Defined function that calls, defined function or type that is called, and calls per run of the caller. */
  caller: number[];
  callee: number[];
  rate: number[];
}

interface Open {
  /** Runs of its begin, per run of the function; of a loop, of the loop's entry. */
  runs: number;
  /** Runs that branches bring to its label. */
  left: number;
  loop: LoopStart | undefined;
}

/** What a loop's frequencies are scaled from: they are those of one trip until it ends. */
interface LoopStart {
  site: number;
  direct: number;
  indirect: number;
  /** `left` of the blocks around. */
  left: number[];
}

/**
 * How often each site runs, estimated from the code alone: loops run several times, branches share what reaches them, and
 * functions run as often as they are called (Wu and Larus 1994, with simpler guesses), though how often their callers do
 * counts less than how many calls there are. Only the order means something.
 */
export function siteFrequencies(module: WasmModule, sites: SiteTable, scan: ModuleScan): Float64Array {
  const frequencies = new Float64Array(sites.length);
  const direct: Calls = { caller: [], callee: [], rate: [] };
  const indirect: Calls = { caller: [], callee: [], rate: [] };
  module.bodies.forEach((_, defined) => {
    estimateBody(module, defined, sites, frequencies, direct, indirect);
  });
  const runs = functionRuns(module, scan, direct, indirect);
  const shown = callsInCode(module, direct);
  for (let defined = 0; defined < module.bodies.length; defined++) {
    const rate = runs[defined] ** RUNS_POWER * (1 + shown[defined]);
    for (let site = sites.firstOfFunction[defined]; site < sites.firstOfFunction[defined + 1]; site++)
      frequencies[site] *= rate;
  }
  return frequencies;
}

/** Calls of each defined function if all others run once. */
function callsInCode(module: WasmModule, { callee, rate }: Calls): Float64Array {
  const calls = new Float64Array(module.bodies.length);
  callee.forEach((to, i) => {
    calls[to] += rate[i];
  });
  return calls;
}

/** Frequencies of a function's sites and calls per run of the function. */
function estimateBody(
  module: WasmModule,
  defined: number,
  sites: SiteTable,
  frequencies: Float64Array,
  direct: Calls,
  indirect: Calls,
): void {
  const { bytes, codePayloadStart, importedFunctionCount } = module;
  const { codeStart, end } = module.bodies[defined];
  const lastSite = sites.firstOfFunction[defined + 1];
  const open: Open[] = [{ runs: 1, left: 0, loop: undefined }];
  let site = sites.firstOfFunction[defined];
  let runs = 1;
  const targetOf = (label: number): Open | undefined => open[open.length - 1 - label];
  const leavesLoop = (label: number): boolean => {
    for (let i = 0; i < label; i++) if (targetOf(i)?.loop !== undefined) return true;
    return false;
  };
  const branch = (label: number, rate: number): void => {
    const target = targetOf(label);
    if (target !== undefined) target.left += rate;
  };
  /** Everything inside has been estimated for one trip; the trips follow from what goes back. */
  const endLoop = ({ runs: entered, left: back }: Open, start: LoopStart): void => {
    const out = Math.max(entered - back, entered / MOST_TRIPS);
    const trips = entered === 0 ? 1 : Math.max(entered / out, TRIPS);
    for (let i = start.site; i < site; i++) frequencies[i] *= trips;
    for (let i = start.direct; i < direct.rate.length; i++) direct.rate[i] *= trips;
    for (let i = start.indirect; i < indirect.rate.length; i++) indirect.rate[i] *= trips;
    const scale = entered === 0 ? 1 : entered / out;
    start.left.forEach((before, i) => {
      open[i].left = before + (open[i].left - before) * scale;
    });
    runs = Math.min(entered, runs * scale);
  };
  for (let pos = codeStart; pos < end; ) {
    const op = opcodeIdAt(bytes, pos);
    const immediates = skipOpcode(bytes, pos);
    const next = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    if (site < lastSite && sites.offset[site] === pos - codePayloadStart) frequencies[site++] = runs;
    switch (op) {
      case Op.BLOCK:
      case Op.TRY:
      case Op.TRY_TABLE:
        open.push({ runs, left: 0, loop: undefined });
        break;
      case Op.LOOP: {
        const left = open.map((block) => block.left);
        const loop = { site, direct: direct.rate.length, indirect: indirect.rate.length, left };
        open.push({ runs, left: 0, loop });
        break;
      }
      case Op.IF:
        open.push({ runs, left: runs * (1 - ARM), loop: undefined });
        runs *= ARM;
        break;
      case Op.ELSE:
      case Op.CATCH:
      case Op.CATCH_ALL: {
        const block = open[open.length - 1];
        block.left = op === Op.ELSE ? block.left - block.runs * (1 - ARM) + runs : block.left + runs;
        runs = block.runs * (op === Op.ELSE ? 1 - ARM : RARE);
        break;
      }
      case Op.END:
      case Op.DELEGATE: {
        const block = open.pop();
        if (block?.loop !== undefined) endLoop(block, block.loop);
        else if (block !== undefined) runs = Math.min(block.runs, runs + block.left);
        break;
      }
      case Op.BR:
        branch(readU32Leb(bytes, immediates), runs);
        runs = 0;
        break;
      case Op.BR_IF: {
        const label = readU32Leb(bytes, immediates);
        const repeats = targetOf(label)?.loop !== undefined && opcodeIdAt(bytes, next) === Op.END;
        const share = repeats ? 1 - LEAVES : leavesLoop(label) ? LEAVES : SKIPS;
        branch(label, runs * share);
        runs *= 1 - share;
        break;
      }
      case Op.BR_TABLE: {
        const labels = tableLabels(bytes, immediates, next);
        const shares = new Map<number, number>();
        for (const label of labels) shares.set(label, (shares.get(label) ?? 0) + 1 / labels.length);
        for (const [label, share] of shares) branch(label, runs * share ** TABLE_POWER);
        runs = 0;
        break;
      }
      case Op.UNREACHABLE:
      case Op.RETURN:
      case Op.THROW:
        runs = 0;
        break;
      case Op.CALL:
      case Op.RETURN_CALL: {
        const callee = readU32Leb(bytes, immediates) - importedFunctionCount;
        if (callee >= 0) addCall(direct, defined, callee, runs);
        break;
      }
      case Op.CALL_INDIRECT:
      case Op.RETURN_CALL_INDIRECT:
        addCall(indirect, defined, readU32Leb(bytes, immediates), runs);
    }
    pos = next;
  }
}

function addCall(calls: Calls, caller: number, callee: number, rate: number): void {
  calls.caller.push(caller);
  calls.callee.push(callee);
  calls.rate.push(rate);
}

/** Runs of each defined function. */
function functionRuns(module: WasmModule, scan: ModuleScan, direct: Calls, indirect: Calls): Float64Array {
  const count = module.bodies.length;
  const imported = module.importedFunctionCount;
  const component = recursiveComponents(module, scan);
  const entries = new Float64Array(count).fill(UNKNOWN_CALLS);
  for (const { kind, index } of module.exports)
    if (kind === "function" && index >= imported) entries[index - imported] = 1;
  if (module.start !== undefined && module.start >= imported) entries[module.start - imported] = 1;
  const ofType = new Map<number, number[]>();
  for (const index of findReferences(module, scan).functions) {
    if (index < imported) continue;
    const type = module.functions[index - imported];
    const members = ofType.get(type);
    if (members === undefined) ofType.set(type, [index - imported]);
    else members.push(index - imported);
  }
  let runs = propagate(entries, component, direct);
  for (let round = 0; round < INDIRECT_ROUNDS; round++) {
    const calls = new Map<number, number>();
    indirect.callee.forEach((type, i) => {
      calls.set(type, (calls.get(type) ?? 0) + indirect.rate[i] * runs[indirect.caller[i]]);
    });
    const reached = entries.slice();
    for (const [type, rate] of calls) {
      const members = ofType.get(type) ?? [];
      for (const member of members) reached[member] += rate / Math.sqrt(members.length);
    }
    runs = propagate(reached, component, direct);
  }
  return runs;
}

/** Follows direct calls from the entries; functions that call each other run as often as all of them are called. */
function propagate(entries: Float64Array, component: Int32Array, direct: Calls): Float64Array {
  const caller = Int32Array.from(direct.caller);
  const callee = Int32Array.from(direct.callee);
  const rate = Float64Array.from(direct.rate);
  let runs = entries;
  for (let depth = 0; depth < DEPTH; depth++) {
    const next = entries.slice();
    const shared = new Float64Array(entries.length);
    for (let i = 0; i < caller.length; i++) {
      const to = component[callee[i]];
      if (to < 0) next[callee[i]] += rate[i] * runs[caller[i]];
      else if (component[caller[i]] !== to) shared[to] += rate[i] * runs[caller[i]];
    }
    for (let i = 0; i < next.length; i++) if (component[i] >= 0) next[i] += shared[component[i]];
    if (next.every((count, i) => count === runs[i])) break;
    runs = next;
  }
  return runs;
}
