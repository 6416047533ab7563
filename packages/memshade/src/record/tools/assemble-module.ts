import {
  appendFunctionNames,
  appendToVectorSection,
  buildId,
  encodeConstantExpression,
  encodeDataEntry,
  encodeExportEntry,
  encodeGlobalEntry,
  encodeImportEntry,
  encodeMemoryEntry,
  encodeModule,
  encodeTableEntry,
  FUNCREF,
  I32,
  importsOf,
  type MemoryType,
  memoryCount,
  memoryType,
  readNames,
  SectionId,
  type SectionView,
  sectionPayload,
  type WasmModule,
} from "../../code/wasm/index.ts";
import { WASM_PAGE_BYTES } from "../../ground/bytes/sizes.ts";
import { ByteWriter } from "../../ground/bytes/writer.ts";
import { allocationNotes } from "../allocator/allocation-notes.ts";
import { IN_ENGINE_SENTENCES } from "../allocator/find/collectors.ts";
import type { AllocatorPlan } from "../allocator/find/index.ts";
import type { CarriedWord } from "../contexts/wrap-entries.ts";
import { COUNTED_LIBRARY_SENTENCE } from "../rewrite/facts/dynamic-library.ts";
import type { StaticData } from "../rewrite/facts/static-data.ts";
import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import { BRANCH_HINT_SECTION, branchHints } from "../rewrite/write/branch-hints.ts";
import type { FunctionWriter } from "../rewrite/write/function-writer.ts";
import { ModuleSections } from "../rewrite/write/module-sections.ts";
import type { RewrittenBodies } from "../rewrite/write/rewritten-bodies.ts";
import { addSmallFunctions } from "../rewrite/write/small-functions.ts";
import { HIDDEN_EXPORT_PREFIX, HostSlot } from "./host-interface.ts";
import type { InstrumentedInfo, InstrumentOptions, NotRecorded } from "./options.ts";
import type { WovenTool } from "./tool.ts";
import { exactImports, isCommand } from "./waste/pass/sites.ts";

/** Sections of debug information and hints, which hold code offsets of the original module. */
const OUTDATED_SECTION = /^(\.debug_|reloc\.|metadata\.code\.)|^(sourceMappingURL|external_debug_info)$/;

interface HiddenExport {
  name: string;
  kind: "memory" | "table" | "function" | "global";
  index: number;
}

export interface Instrumented {
  bytes: Uint8Array;
  info: InstrumentedInfo;
}

/** Code of a module with the tools in it, before its last functions are written. */
export interface Rewritten {
  writer: FunctionWriter;
  bodies: RewrittenBodies;
  /** Start function, −1 if it does not change. */
  start: number;
}

/** Parts of a module besides its code. */
export interface ModuleParts {
  module: WasmModule;
  memory: number;
  tools: readonly WovenTool[];
  appended: AppendedFunctions;
  hostTable: HostTable;
  /**
   * Global that is set by calls by reference from inside the module, after those of the tools; −1 if there is
   * none.
   */
  inside: number;
  carried: CarriedWord | undefined;
  /** True if other threads read the tools' memories. */
  sharesShadow: boolean;
  /** Returns the module's description. Called when all other parts are complete. */
  describe(hiddenExports: string[]): InstrumentedInfo;
}

export function assembleModule(parts: ModuleParts, rewritten: Rewritten): Instrumented {
  return new Assembly(parts).assemble(rewritten);
}

class Assembly {
  readonly #parts: ModuleParts;

  constructor(parts: ModuleParts) {
    this.#parts = parts;
  }

  assemble({ writer, bodies, start }: Rewritten): Instrumented {
    const { module, appended, hostTable } = this.#parts;
    const sections = new ModuleSections(module);
    const exported = this.#hiddenExports();
    if (hostTable.isUsed) sections.append(SectionId.Table, [hostTable.entry()]);
    this.#addGlobals(sections);
    sections.append(SectionId.Export, exported.map(encodeExportEntry));
    appended.writeBodies(writer);
    addSmallFunctions(appended, writer, module.importedFunctionCount);
    // The tools' data and memory sizes are final once all functions are written.
    this.#addMemories(sections);
    this.#addData(sections);
    const code = writer.finish(module.bodies.length + appended.count);
    sections.set(SectionId.Code, code);
    sections.set(
      SectionId.Function,
      appendToVectorSection(this.#functionSection(bodies), appended.count, appended.functionEntries()),
    );
    sections.append(SectionId.Type, appended.types);
    if (start >= 0) sections.setNumber(SectionId.Start, start);
    return this.#encode(
      sections,
      writer,
      code,
      exported.map(({ name }) => name),
    );
  }

  #encode(
    sections: ModuleSections,
    writer: FunctionWriter,
    code: Uint8Array,
    hiddenExports: string[],
  ): Instrumented {
    const { module, appended } = this.#parts;
    const hints = branchHints(code, writer.rare, module.importedFunctionCount);
    // Stack traces then show moved functions under their old names.
    const names = appendFunctionNames(module, appended.names(readNames(module).functions));
    let info: InstrumentedInfo | undefined;
    const bytes = encodeModule(module, {
      sections: sections.payloads,
      dropCustom: ({ name = "" }: SectionView) =>
        OUTDATED_SECTION.test(name) || (name === "name" && names !== undefined),
      customsBeforeCode: writer.rare.length > 0 ? [{ name: BRANCH_HINT_SECTION, content: hints }] : [],
      customs: (codeStart) => {
        this.#passMarks(writer, codeStart);
        info = this.#parts.describe(hiddenExports);
        const own = infoSection(info);
        return names === undefined ? [own] : [{ name: "name", content: names }, own];
      },
    });
    return { bytes, info: { ...(info as unknown as InstrumentedInfo), rewrittenBytes: bytes.length } };
  }

  /** Passes the offsets of marked instructions to the tools. */
  #passMarks(writer: FunctionWriter, codeStart: number): void {
    const { codePayloadStart } = this.#parts.module;
    for (const tool of this.#parts.tools)
      tool.codeWritten?.({
        offsets: writer.marks.map((offset) => offset + codeStart),
        originals: writer.markPositions.map((at) => (at < 0 ? at : at - codePayloadStart)),
      });
  }

  #addGlobals(sections: ModuleSections): void {
    const globals = this.#parts.tools.flatMap((tool) => tool.globals ?? []);
    const entries = globals.map(({ type, initial, mutable = true }) =>
      encodeGlobalEntry({ type, mutable }, initial),
    );
    if (this.#parts.inside >= 0)
      entries.push(encodeGlobalEntry({ type: I32, mutable: true }, encodeConstantExpression(I32, 0)));
    sections.append(SectionId.Global, entries);
  }

  /** Adds the tools' memories after the module's own. Memories that instances share are imported. */
  #addMemories(sections: ModuleSections): void {
    const shared = this.#parts.sharesShadow;
    const imported: Uint8Array[] = [];
    const memories: Uint8Array[] = [];
    for (const { shadowBytes, sharedMemory, tableBytes = [] } of this.#parts.tools) {
      if (sharedMemory !== undefined)
        imported.push(
          encodeImportEntry({ ...sharedMemory, kind: "memory", memory: shadowMemoryType(shadowBytes, true) }),
        );
      else memories.push(encodeMemoryEntry(shadowMemoryType(shadowBytes, shared)));
      for (const bytes of tableBytes) memories.push(encodeMemoryEntry(shadowMemoryType(bytes, shared)));
    }
    sections.append(SectionId.Import, imported);
    const limited = this.#limitMemory();
    if (limited === undefined) sections.append(SectionId.Memory, memories);
    else sections.setEntries(SectionId.Memory, [...limited, ...memories]);
  }

  /**
   * Returns the module's own memories, the followed one limited to the size that the tools can follow;
   * undefined if nothing changes.
   */
  #limitMemory(): readonly Uint8Array[] | undefined {
    const limits = this.#parts.tools.flatMap(({ memoryLimit }) => memoryLimit ?? []);
    const own = this.#parts.memory - this.#parts.module.importedMemoryCount;
    if (limits.length === 0 || own < 0) return undefined;
    return this.#parts.module.memories.map((memory, index) => {
      const most = Math.floor(Math.min(...limits) / 2 ** memory.pageSizeLog2);
      return encodeMemoryEntry(
        index === own ? { ...memory, maximum: Math.max(memory.minimum, most) } : memory,
      );
    });
  }

  #addData(sections: ModuleSections): void {
    const data = this.#parts.tools.flatMap((tool) => tool.data?.() ?? []);
    sections.append(SectionId.Data, data.map(encodeDataEntry));
    const { dataCount } = this.#parts.module;
    if (data.length > 0 && dataCount !== undefined)
      sections.setNumber(SectionId.DataCount, dataCount + data.length);
  }

  /**
   * Returns the module's function section with new types for functions that pass on a word. Their wrappers
   * keep the old types.
   */
  #functionSection(bodies: RewrittenBodies): Uint8Array | undefined {
    const types = this.#parts.carried?.types;
    if (types === undefined) return sectionPayload(this.#parts.module, SectionId.Function);
    const { functions, importedFunctionCount } = this.#parts.module;
    const writer = new ByteWriter(functions.length * 2 + 5).u32Leb(functions.length);
    for (const [defined, type] of functions.entries()) {
      const index = defined + importedFunctionCount;
      const isWrapper = bodies.replacementOf(index) !== undefined;
      writer.u32Leb((isWrapper ? undefined : types.get(index)) ?? type);
    }
    return writer.finish();
  }

  /**
   * Returns the exports for the host: the tools' memories, functions and globals, and the table of host
   * functions.
   */
  #hiddenExports(): HiddenExport[] {
    const exported: HiddenExport[] = [];
    const add = (name: string, kind: HiddenExport["kind"], index: number): void => {
      exported.push({ name: HIDDEN_EXPORT_PREFIX + name, kind, index });
    };
    let memory = memoryCount(this.#parts.module);
    for (const { name, exports = {}, exportedMemory = name, tableBytes = [] } of this.#parts.tools) {
      if (exportedMemory !== false) add(exportedMemory, "memory", memory);
      memory++;
      for (const table of tableBytes.keys()) add(`${name}.${table + 1}`, "memory", memory++);
      for (const [key, index] of Object.entries(exports)) add(`${name}.${key}`, "function", index);
    }
    if (this.#parts.tools.some(({ exportsProgram }) => exportsProgram === true))
      add("program", "memory", this.#parts.memory);
    if (this.#parts.hostTable.isUsed) add("table", "table", this.#parts.hostTable.index);
    for (const { name, index } of this.#parts.tools.flatMap(({ globalExports = [] }) => globalExports))
      add(name, "global", index);
    return exported;
  }
}

function shadowMemoryType(bytes: number, shared: boolean): MemoryType {
  const pages = bytes / WASM_PAGE_BYTES;
  return { minimum: pages, maximum: pages, shared, index64: false, pageSizeLog2: 16 };
}

/** Name of the custom section in which an instrumented module describes itself. */
export const INFO_SECTION = "memshade";

interface Described {
  module: WasmModule;
  options: InstrumentOptions;
  allocator: AllocatorPlan;
  /** Memory that is followed, −1 if there is none. */
  memory: number;
  tools: readonly WovenTool[];
  /** Size of the original code section's payload, bytes. */
  codeBytes: number;
  hiddenExports: string[];
  /** Sentences about code that no tool sees in this module. */
  unseen: readonly string[];
  /** Returns addresses of static data in functions whose accesses are not counted. */
  uncountedStatics(statics: StaticData): readonly number[];
  refusals: NotRecorded;
}

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

export function infoSection(info: InstrumentedInfo): { name: string; content: Uint8Array } {
  return { name: INFO_SECTION, content: new TextEncoder().encode(JSON.stringify(info)) };
}

/**
 * Reads the `memshade` custom section of a compiled module. Undefined if the module is not instrumented.
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

const SLOTS = Object.keys(HostSlot).length;

/** Table through which an instrumented module calls its host. The host fills its slots. */
export class HostTable {
  readonly index: number;
  readonly #appended: AppendedFunctions;
  isUsed = false;

  constructor(module: WasmModule, appended: AppendedFunctions) {
    this.index = module.importedTableCount + module.tables.length;
    this.#appended = appended;
  }

  /**
   * Returns a function () → () that calls the function in a slot. If `answers` is true it is () → i32 and
   * returns 1 if the slot was filled.
   */
  caller(slot: number, answers: boolean): number {
    this.isUsed = true;
    const appended = this.#appended;
    return appended.add(appended.typeIndex([], answers ? [I32] : []), () => {
      const noValues = appended.typeIndex([], []);
      const body = new BodyBuilder();
      body.i32(slot).op("table.get", this.index).op("ref.is_null").open("if");
      if (answers) body.i32(0);
      body.op("return").end();
      body.i32(slot).op("call_indirect", noValues, this.index);
      if (answers) body.i32(1);
      return body.finish();
    });
  }

  entry(): Uint8Array {
    return encodeTableEntry({
      element: FUNCREF,
      minimum: SLOTS,
      maximum: SLOTS,
      shared: false,
      index64: false,
    });
  }
}
