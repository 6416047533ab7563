import { buildId, importsOf, memoryType, type WasmModule } from "../../code/wasm/index.ts";
import { allocationNotes } from "../allocator/allocation-notes.ts";
import { IN_ENGINE_SENTENCES } from "../allocator/find/collectors.ts";
import type { AllocatorPlan } from "../allocator/find/index.ts";
import { COUNTED_LIBRARY_SENTENCE } from "../rewrite/facts/dynamic-library.ts";
import type { StaticData } from "../rewrite/facts/static-data.ts";
import type { InstrumentedInfo, InstrumentOptions, NotRecorded } from "./options.ts";
import type { WovenTool } from "./tool.ts";
import { exactImports, isCommand } from "./waste/pass/sites/wasi-functions.ts";

/** Name of the custom section in which an instrumented module describes itself. */
export const INFO_SECTION = "memshade";

/** What there is to tell of an instrumented module. */
export interface Described {
  module: WasmModule;
  options: InstrumentOptions;
  allocator: AllocatorPlan;
  /** The memory that is followed, −1 if there is none. */
  memory: number;
  tools: readonly WovenTool[];
  /** Size of the original code section's payload, bytes. */
  codeBytes: number;
  hiddenExports: string[];
  /** Sentences: what no tool sees in this module, and why tools found nothing to follow. */
  unseen: readonly string[];
  /** Addresses of static data that functions name whose accesses are not counted. */
  uncountedStatics(statics: StaticData): readonly number[];
  refusals: NotRecorded;
}

/** What the instrumented module says of itself. */
export function describe(described: Described): InstrumentedInfo {
  const { module, options, memory, tools, unseen } = described;
  const tables = tools.find((tool) => tool.tables !== undefined)?.tables;
  const { memory64, shared } = memoryKind(module, memory);
  const withLayouts = tools.filter((tool) => tool.tables === undefined);
  return {
    version: 1,
    name: options.name ?? "module",
    ...(options.script === undefined ? {} : { script: options.script }),
    buildId: buildId(module, options.sha256),
    originalBytes: module.bytes.length,
    codeBytes: described.codeBytes,
    tools: options.tools ?? ["heap"],
    counters: options.exactHistogram ? "exact" : "merged",
    granuleBytes: 8,
    clock: options.clock ?? "virtual",
    includeStack: options.includeStack === true,
    includeAllocator: options.includeAllocator === true,
    ...notes(described),
    ...(tables?.acrossThreads === true ? { acrossThreads: true } : {}),
    ...(tables?.hostStacks === undefined ? {} : { hostStacks: tables.hostStacks }),
    ...memoryImport(module, memory),
    ...memoryExport(module, memory),
    sharedMemory: shared,
    ...(memory64 ? { memory64 } : {}),
    ...(isCommand(module, exactImports(module, options.glue)) ? { knownHost: true } : {}),
    layout: tables?.beside === true ? undefined : tables?.layout,
    ...(tables?.statics === undefined
      ? {}
      : { statics: { ...tables.statics, uncounted: described.uncountedStatics(tables.statics) } }),
    ...(tables?.beside === true ? { beside: tables.layout } : {}),
    ...(tables?.roots === undefined ? {} : { roots: tables.roots }),
    ...(withLayouts.length === 0
      ? {}
      : {
          toolLayouts: Object.fromEntries(
            withLayouts.map((tool) => [
              tool.name,
              { ...tool.describe(), notTracked: [...tool.notTracked, ...unseen].join("\n") },
            ]),
          ),
        }),
    ...(Object.keys(described.refusals).length === 0 ? {} : { notRecorded: described.refusals }),
    hiddenExports: described.hiddenExports,
  };
}

function notes({
  module,
  memory,
  allocator: plan,
  tools,
  unseen,
  refusals,
}: Described): Pick<InstrumentedInfo, "allocator" | "notTracked"> {
  const isHeld = tools.some(({ memoryLimit }) => memoryLimit !== undefined);
  const acrossThreads = tools.some(({ tables }) => tables?.acrossThreads === true);
  const { allocator, notTracked } = allocationNotes(module, plan, acrossThreads, isHeld);
  if (tools.some(({ tables }) => tables?.beside === true)) allocator.refused = COUNTED_LIBRARY_SENTENCE;
  const ofHeap = tools.flatMap((tool) => (tool.tables === undefined ? [] : tool.notTracked));
  const { heap, alloc } = memory < 0 ? {} : refusals;
  const refused = [heap, alloc].filter((sentence) => sentence !== undefined);
  const isSeen = (sentence: string): boolean =>
    tools.some(({ seesEngine }) => seesEngine === true) && IN_ENGINE_SENTENCES.includes(sentence);
  return {
    allocator,
    notTracked: [...notTracked, ...ofHeap, ...unseen, ...refused].filter((sentence) => !isSeen(sentence)),
  };
}

function memoryKind(module: WasmModule, memory: number): { memory64: boolean; shared: boolean } {
  if (memory < 0) return { memory64: false, shared: false };
  const { index64, shared } = memoryType(module, memory);
  return { memory64: index64, shared };
}

function memoryImport(module: WasmModule, memory: number): Pick<InstrumentedInfo, "memoryImport"> {
  const from = memory < 0 ? undefined : importsOf(module, "memory")[memory];
  return from === undefined ? {} : { memoryImport: { module: from.module, field: from.field } };
}

function memoryExport(module: WasmModule, memory: number): Pick<InstrumentedInfo, "memoryExport"> {
  const found = module.exports.find(({ kind, index }) => kind === "memory" && index === memory);
  return found === undefined ? {} : { memoryExport: found.name };
}

/** The section with the description. */
export function infoSection(info: InstrumentedInfo): { name: string; content: Uint8Array } {
  return { name: INFO_SECTION, content: new TextEncoder().encode(JSON.stringify(info)) };
}

/**
 * The `memshade` custom section of a compiled module, or undefined when it is not an instrumented one.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { instrument, readInstrumentedInfo } from "memshade";
 *
 * const { bytes } = instrument(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0), { name: "empty" });
 * assert.equal(readInstrumentedInfo(new WebAssembly.Module(bytes))?.name, "empty");
 * ```
 */
export function readInstrumentedInfo(module: WebAssembly.Module): InstrumentedInfo | undefined {
  const [section] = WebAssembly.Module.customSections(module, INFO_SECTION);
  return section === undefined ? undefined : JSON.parse(new TextDecoder().decode(section));
}
