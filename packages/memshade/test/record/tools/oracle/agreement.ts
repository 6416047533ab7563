import {
  ACCESS_KIND,
  AccessKind,
  decodeModule,
  IMMEDIATE_KIND,
  OPCODE_NAME,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
} from "../../../../src/code/wasm/index.ts";
import type { WasteFile } from "../../../../src/profile/model/waste.ts";
import { totalOf } from "../../../../src/profile/model/working-set/working-set-series.ts";
import { instrument, type WasteOptions, type WorkingSetLayout } from "../../../../src/record/tools/index.ts";
import { WorkingSetReader } from "../../../../src/record/tools/working-set/read/working-set-session.ts";
import { wat } from "../../../support/assemble.ts";
import { runWaste } from "../waste/events.ts";
import { type LoadCounts, Model, type Site, type StoreCounts } from "./model.ts";
import { interpret, OTHER_FUNCTIONS, PAGE, type Program, STACK, type Trapped, textOf } from "./program.ts";

/** Ways of counting that must give the same figures. */
export const ENGINES = {
  summary: {},
  "more stores than ids": { mostIds: 1 },
  "nothing inline": { siteRuns: { offsets: [0], runs: [1] } },
  contexts: { contexts: true },
  "contexts, more stores than ids": { contexts: true, mostIds: 2 },
  precise: { pairs: true },
  "precise, contexts": { pairs: true, contexts: true },
  deadstores: { compat: "deadstores" },
  "precise deadstores": { compat: "deadstores", pairs: true },
} as const satisfies Readonly<Record<string, WasteOptions>>;

export function moduleOf(program: Program): Uint8Array {
  return wat(textOf(program));
}

/** Figures of one program as text that can be compared: by site, then pairs. */
type Told = Record<string, string>;

const SUMMED: readonly (keyof StoreCounts)[] = [
  "stores",
  "written",
  "read",
  "overwritten",
  "deallocated",
  "exit",
  "silent",
  "silentBytes",
  "hostRead",
];
const PRECISE: readonly (keyof StoreCounts)[] = [...SUMMED, "same", "overZero", "approximate"];
const LOADED: readonly (keyof LoadCounts)[] = ["loads", "bytes", "silent"];
const PRECISELY_LOADED: readonly (keyof LoadCounts)[] = [
  ...LOADED,
  "redundant",
  "redundantBytes",
  "zeroBytes",
  "approximate",
];

function described<Counts>(counts: Counts, names: readonly (keyof Counts)[]): string {
  return names.map((name) => `${String(name)} ${counts[name]}`).join(", ");
}

/** Figures of the model for a program, and the point where it traps. */
export function expectedWaste(
  program: Program,
  { pairs = false, compat }: WasteOptions,
): { told: Told; trapped: Trapped | undefined } {
  const model = new Model(PAGE, STACK, compat !== undefined);
  const trapped = interpret(program, model);
  const told: Told = {};
  for (const [site, counts] of model.stores)
    told[`store ${site}`] = described(counts, pairs ? PRECISE : SUMMED);
  for (const [site, counts] of model.loads)
    told[`load ${site}`] = described(counts, pairs ? PRECISELY_LOADED : LOADED);
  if (pairs) for (const [name, bytes] of model.pairs) told[name] = String(bytes);
  return { told, trapped };
}

/** Figures of the tool for the program; whether it reports unfinished loops, and the sites of these. */
export function countedWaste(
  module: Uint8Array,
  waste: WasteOptions,
  traps: boolean,
): { told: Told; isCutShort: boolean; incomplete: Site[] } {
  const file = runWaste(module, waste, { traps, imports: { "js.look": "" } });
  const numbers = siteNumbers(module);
  const incomplete = [...file.stores, ...file.loads].filter((one) => one.incomplete !== undefined);
  return {
    told: toldBy(file, numbers, waste.pairs === true),
    isCutShort: file.notTracked.some((sentence) => sentence.includes("did not end")),
    incomplete: incomplete.map(({ ips }) => numbers.get(ips[0].address) ?? Number.NaN),
  };
}

function toldBy(file: WasteFile, numbers: ReadonlyMap<number, Site>, pairs: boolean): Told {
  const stores = new Map<number, StoreCounts>();
  const loads = new Map<number, LoadCounts>();
  const siteOf = (one: { ips: { address: number }[] } | undefined): number =>
    numbers.get(one?.ips[0].address ?? -1) ?? Number.NaN;
  const addTo = <Counts extends object>(all: Map<number, Counts>, site: number, counts: Counts): void => {
    const sums = all.get(site) as Record<string, number> | undefined;
    if (sums === undefined) all.set(site, counts);
    else for (const [name, count] of Object.entries(counts)) sums[name] += count;
  };
  for (const store of file.stores)
    addTo(stores, siteOf(store), {
      stores: store.nof_stores,
      written: store.bytes_written,
      read: store.bytes_read - store.host_assumed_read,
      overwritten: store.dead_overwritten,
      deallocated: store.dead_deallocated,
      exit: store.dead_exit,
      silent: store.nof_silent,
      silentBytes: store.bytes_silent,
      hostRead: store.host_assumed_read,
      same: store.bytes_same ?? 0,
      overZero: store.silent_over_zero ?? 0,
      approximate: store.silent_approximate ?? 0,
    });
  for (const load of file.loads)
    addTo(loads, siteOf(load), {
      loads: load.nof_loads,
      bytes: load.bytes_loaded,
      silent: load.nof_silent,
      redundant: load.nof_redundant ?? 0,
      redundantBytes: load.bytes_redundant ?? 0,
      zeroBytes: load.bytes_zero ?? 0,
      approximate: load.nof_approximate ?? 0,
    });
  const told: Told = {};
  for (const [site, counts] of stores) told[`store ${site}`] = described(counts, pairs ? PRECISE : SUMMED);
  for (const [site, counts] of loads)
    told[`load ${site}`] = described(counts, pairs ? PRECISELY_LOADED : LOADED);
  const between = new Map<string, number>();
  for (const { kind, first, origin, second, bytes } of file.pairs ?? []) {
    if (kind !== "overwritten" && kind !== "silent" && kind !== "redundant") continue;
    const table = kind === "redundant" ? file.loads : file.stores;
    const name = (index: number | undefined) => (index === undefined ? origin : siteOf(table[index]));
    const pair = `${kind} ${name(first)} ${name(second)}`;
    between.set(pair, (between.get(pair) ?? 0) + bytes);
  }
  for (const [pair, bytes] of between) told[pair] = String(bytes);
  return told;
}

function siteNumbers(bytes: Uint8Array): Map<number, number> {
  const module = decodeModule(bytes);
  const numbers = new Map<number, number>();
  const calloc = module.importedFunctionCount + 1;
  for (const body of module.bodies.slice(OTHER_FUNCTIONS))
    for (let pos = body.codeStart; pos < body.end; ) {
      const op = opcodeIdAt(module.bytes, pos);
      const immediates = skipOpcode(module.bytes, pos);
      const next = skipImmediates(module.bytes, immediates, IMMEDIATE_KIND[op]);
      const name = OPCODE_NAME[op] ?? "";
      const isOther = name === "i32.store8" && (module.bytes[immediates] & 64) !== 0;
      const isAccess = ACCESS_KIND[op] !== AccessKind.None && ACCESS_KIND[op] !== AccessKind.Notify;
      const isBulk = /^memory\.(copy|fill|init)$/.test(name);
      const callee = name === "call" ? module.bytes[immediates] : Number.NaN;
      const isSite =
        (isAccess && !isOther) || isBulk || callee < module.importedFunctionCount || callee === calloc;
      if (isSite) numbers.set(pos - module.codePayloadStart, numbers.size);
      pos = next;
    }
  return numbers;
}

export function expectedLines(program: Program): Record<string, number> {
  const model = new Model(PAGE, STACK, false);
  interpret(program, model);
  const { accesses, linesRead, linesWritten } = model;
  return {
    accesses,
    read: linesRead.size,
    written: linesWritten.size,
    both: [...linesRead].filter((line) => linesWritten.has(line)).length,
    lines: new Set([...linesRead, ...linesWritten]).size,
  };
}

export function countedLines(module: Uint8Array, traps: boolean): Record<string, number> {
  const { bytes, info } = instrument(module, { tools: ["workingset"] });
  let exports: Record<string, (...operands: number[]) => void> = {};
  const imports = {
    wasi_snapshot_preview1: {
      fd_write: (address: number, size: number) => exports["memshade.workingset.hostRead"](address, size),
      fd_read: (address: number, size: number) => exports["memshade.workingset.hostWrote"](address, size),
    },
    js: { look: () => {} },
  };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), imports);
  exports = instance.exports as never;
  if (traps)
    try {
      exports._start();
    } catch {}
  else exports._start();
  const memory = instance.exports["memshade.workingset"] as WebAssembly.Memory;
  const { records, duration } = new WorkingSetReader(
    memory,
    info.toolLayouts?.workingset as WorkingSetLayout,
  ).read();
  return {
    accesses: duration,
    read: totalOf(records, "read"),
    written: totalOf(records, "written"),
    both: totalOf(records, "both"),
    lines: totalOf(records, "lines"),
  };
}
