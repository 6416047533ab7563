import { allocationNotes, largeFunctionsNote } from "../allocator/allocation-notes.ts";
import { type AllocatorPlan, findAllocator } from "../allocator/find/index.ts";
import { HookedCalls } from "../allocator/hooked-calls.ts";
import { UserError } from "../bytes/errors.ts";
import { ByteWriter } from "../bytes/writer.ts";
import { NO_CONTEXTS } from "../contexts/call-plan.ts";
import { ContextPlan } from "../contexts/context-plan.ts";
import { FRAME_BYTES, fixedFrameBase } from "../contexts/frame-base.ts";
import { HostFrameFunctions } from "../contexts/host-frame-functions.ts";
import { COUNTED_LIBRARY_SENTENCE, canCountBeside } from "../rewrite/facts/dynamic-library.ts";
import { type ModuleScan, scanModule } from "../rewrite/facts/module-scan.ts";
import { findStackPointer } from "../rewrite/facts/stack-pointer.ts";
import { type MergedRuntime, mergeRuntime } from "../rewrite/link/shadow-runtime.ts";
import { type CodePart, follows, type WovenTool } from "../rewrite/tool.ts";
import { FunctionWalker } from "../rewrite/walk/function-walker.ts";
import { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import { BRANCH_HINT_SECTION, branchHints } from "../rewrite/write/branch-hints.ts";
import { BulkFunctions } from "../rewrite/write/bulk-functions.ts";
import { FunctionWriter } from "../rewrite/write/function-writer.ts";
import { Insertions } from "../rewrite/write/insertions.ts";
import { RewrittenBodies } from "../rewrite/write/rewritten-bodies.ts";
import { addSmallFunctions } from "../rewrite/write/small-functions.ts";
import {
  appendFunctionNames,
  appendToVectorSection,
  buildId,
  decodeModule,
  encodeConstantExpression,
  encodeDataEntry,
  encodeExportEntry,
  encodeGlobalEntry,
  encodeImportEntry,
  encodeMemoryEntry,
  encodeModule,
  encodeTableEntry,
  encodeVectorPayload,
  FUNCREF,
  functionType,
  functionTypeIndex,
  I32,
  importsOf,
  type MemoryType,
  memoryType,
  readNames,
  SectionId,
  type SectionView,
  sectionPayload,
  type WasmModule,
} from "../wasm/index.ts";
import { CONTROL_BYTES } from "./heap/layout.ts";
import { LARGEST_COVERED_BYTES, planLayout, runtimeConstants } from "./heap/memory-plan.ts";
import { CountFunctions } from "./heap/pass/count-functions.ts";
import { commonPathBytes, shadowRuntimeBytes } from "./heap/pass/shadow-runtime-bytes.ts";
import { canShareMemory, shareTables } from "./heap/pass/thread-sharing.ts";
import type { InstrumentedInfo, InstrumentOptions, ShadowLayout, ToolName } from "./options.ts";
import { WEAVERS } from "./weavers.ts";

/** Prefix of everything instrumentation adds to a module's exports, and name of its custom section. */
export const HIDDEN_EXPORT_PREFIX = "memshade.";
export const INFO_SECTION = "memshade";
/** Where the shadow memory comes from that several instances share. */
const SHADOW_IMPORT = { module: "memshade", field: "memory" } as const;
const PAGE_BYTES = 65536;
/** Room that is reserved for the new code, in multiples of the old; it grows when that is not enough. */
const EXPECTED_GROWTH = 2.2;
/** Slots of the exported table: called when tables are full, when the wall clock is asked, and at snapshots. */
const HOST_SLOTS = 3;
const FLUSH_SLOT = 0;
const TICK_SLOT = 1;
const STACK_SLOT = 2;
/** Debug information and hints hold code offsets of the original module. */
const OUTDATED_SECTION = /^(\.debug_|reloc\.|metadata\.code\.)|^(sourceMappingURL|external_debug_info)$/;

interface HiddenExport {
  name: string;
  kind: "memory" | "table" | "function" | "global";
  index: number;
}

/** A rewritten module and what it says of itself. */
export interface Instrumented {
  bytes: Uint8Array;
  info: InstrumentedInfo;
}

/**
 * Weaves the heap profiler or other tools into a module. The result imports nothing more than the original and runs wherever several
 * memories are supported. Throws `FormatError` for bytes that are no module and `UserError` for options that do not
 * fit it.
 */
export function instrument(bytes: Uint8Array, options: InstrumentOptions = {}): Instrumented {
  const module = decodeModule(bytes);
  return new Instrumentation(module, options).run();
}

class Instrumentation {
  readonly #module: WasmModule;
  readonly #options: InstrumentOptions;
  readonly #appended: AppendedFunctions;
  readonly #scan: ModuleScan;
  readonly #allocator: AllocatorPlan;
  readonly #insertions = new Insertions();
  readonly #memory: number;
  readonly #memory64: boolean;
  readonly #tools: readonly ToolName[];
  /** Tables of another module to count in. */
  readonly #beside: ShadowLayout | undefined;
  /** Why tools found nothing to follow. */
  readonly #refusals: string[] = [];
  /** What no tool sees in this module. */
  readonly #unseen: string[] = [];
  /** A tool calls the host. */
  #usesHost = false;

  constructor(module: WasmModule, options: InstrumentOptions) {
    this.#module = module;
    this.#options = options;
    this.#appended = new AppendedFunctions(module);
    this.#scan = scanModule(module);
    const { allocator, glue } = options;
    this.#allocator = findAllocator(module, { allocator, glue }, this.#scan);
    this.#memory = memoryCount(module) > 0 ? 0 : -1;
    this.#tools = options.tools ?? ["heap"];
    this.#memory64 = this.#memory >= 0 && memoryType(module, this.#memory).index64;
    const countsBeside =
      this.#allocator.how === "none" && this.#tools.includes("heap") && canCountBeside(module);
    this.#beside = countsBeside ? options.beside : undefined;
  }

  run(): Instrumented {
    const wantsHeap = this.#tools.includes("heap");
    const countersOnly = this.#options.countersOnly === true;
    const followsHeap = wantsHeap && this.#allocator.functions.length > 0 && !countersOnly;
    const countsHeap = followsHeap || (wantsHeap && countersOnly) || this.#beside !== undefined;
    const active = this.#memory >= 0 && (countsHeap || this.#tools.some((tool) => tool !== "heap"));
    if (!active) {
      const info = this.#describe(undefined, [], []);
      return { bytes: encodeModule(this.#module, { customs: [infoSection(info)] }), info };
    }
    return this.#weave(followsHeap, countsHeap);
  }

  #weave(followsHeap: boolean, countsHeap: boolean): Instrumented {
    const module = this.#module;
    const appended = this.#appended;
    const heap = countsHeap ? this.#mergeHeapRuntime(followsHeap) : undefined;
    const { layout } = heap ?? {};
    const stackPointer = findStackPointer(module, readNames(module), this.#scan);
    const heapGlobals = heap?.globals ?? [];
    const tools = this.#weaveTools(stackPointer, countsHeap ? 1 : 0, heapGlobals.length);
    const passes = tools.flatMap(({ pass, beside }) => [pass, ...(beside === undefined ? [] : [beside])]);
    const allocations = tools.flatMap((tool) => tool.allocations ?? []);

    const contexts = followsHeap
      ? new ContextPlan(module, this.#scan, this.#allocator, (offset) => offset)
      : undefined;
    const followsCalls = tools.flatMap(({ followedCalls }) => followedCalls ?? []);
    const leadsElsewhere = allocations.length > 0 || followsCalls.length > 0;
    const hooks = contexts ?? (leadsElsewhere ? new HookedCalls(module, this.#allocator) : undefined);
    const shadowMemory = memoryCount(module);
    const counters = new CountFunctions(appended, shadowMemory);
    const bulkFor = (part: CodePart) =>
      new BulkFunctions(
        module,
        appended,
        this.#memory,
        heap === undefined || part !== "program"
          ? undefined
          : () => heap.functions.get("countRange") as number,
        tools.flatMap(({ pass, listeners }) => (follows(pass, part) ? [listeners] : [])),
      );
    const bulk = {
      program: bulkFor("program"),
      wrapper: bulkFor("wrapper"),
      allocator: bulkFor("allocator"),
    };
    const walker = new FunctionWalker(module, this.#scan, this.#insertions, hooks ?? NO_CONTEXTS, {
      memory: this.#memory,
      memory64: this.#memory64,
      stackPointer,
      exact: this.#options.exactHistogram === true,
      includeStack: this.#options.includeStack === true,
      counts: countsHeap,
      tools: passes,
      dropsUnreachable: tools.some(({ carried }) => carried !== undefined),
      bulkFunction: (instruction, first, second, part) => bulk[part].get(instruction, first, second),
    });
    const frameTargets = {
      shadowMemory,
      stackGlobal: this.#stackGlobal,
      frames: heap?.threads?.frames ?? fixedFrameBase(layout ?? { stack: 0, hostWord: 0 }),
    };
    const hostFrames = new HostFrameFunctions(appended, frameTargets);
    const writer = new FunctionWriter(
      module.bytes,
      this.#insertions,
      {
        ...frameTargets,
        unreadCounter: layout === undefined ? 0 : layout.control + CONTROL_BYTES - 4,
        countTrips: () => heap?.functions.get("countTrips") as number,
        countStrided: () => heap?.functions.get("countStrided") as number,
        countGathered: () => heap?.functions.get("countGathered") as number,
        countFunction: (word) => counters.get(word),
        pushHostFrame: (leaves) => hostFrames.push(leaves),
        returnFromHost: () => hostFrames.returned(),
        tools: passes,
      },
      this.#memory64,
      Math.ceil(this.#codeBytes() * EXPECTED_GROWTH) + PAGE_BYTES,
    );
    const bodies = new RewrittenBodies({
      module,
      scan: this.#scan,
      allocator: this.#allocator,
      appended,
      insertions: this.#insertions,
      walker,
      writer,
      includeAllocator: this.#options.includeAllocator === true,
    });
    const start = this.#startFunction([heap?.threads?.start ?? -1, ...tools.map(({ start: own }) => own)]);
    if (hooks !== undefined) {
      if (contexts !== undefined || allocations.length > 0)
        bodies.hookAllocator(hooks, this.#memory, heap, allocations);
      if (contexts !== undefined) followsCalls.unshift({ ...frameTargets, entries: contexts.entries });
      if (followsCalls.length > 0)
        bodies.wrapEntries(
          hooks,
          followsCalls.map(({ entries }) => entries),
          followsCalls,
        );
    }
    bodies.write();

    const exported = this.#hiddenExports(heap !== undefined, tools);
    for (const { name, index } of heap?.threads?.exports ?? [])
      exported.push({ name: `${HIDDEN_EXPORT_PREFIX}${name}`, kind: "global", index });
    const sections = new Map<number, Uint8Array | null>();
    const appendBytes = (id: number, count: number, entries: Uint8Array): void => {
      sections.set(id, appendToVectorSection(sectionPayload(module, id), count, entries));
    };
    const append = (id: number, entries: readonly Uint8Array[]): void => {
      if (entries.length === 0) return;
      const writer = new ByteWriter(256);
      for (const entry of entries) writer.bytes(entry);
      appendBytes(id, entries.length, writer.finish());
    };
    if (exported.some(({ kind }) => kind === "table"))
      append(SectionId.Table, [
        encodeTableEntry({
          element: FUNCREF,
          minimum: HOST_SLOTS,
          maximum: HOST_SLOTS,
          shared: false,
          index64: false,
        }),
      ]);
    const imported = heap?.threads !== undefined || this.#beside !== undefined;
    if (imported && layout !== undefined)
      append(SectionId.Import, [
        encodeImportEntry({
          ...SHADOW_IMPORT,
          kind: "memory",
          memory: shadowMemoryType(layout.endBytes, true),
        }),
      ]);
    append(
      SectionId.Global,
      [...heapGlobals, ...tools.flatMap(({ globals }) => globals)].map(({ type, initial, mutable = true }) =>
        encodeGlobalEntry({ type, mutable }, initial),
      ),
    );
    const hiddenEntries = exported.map(encodeExportEntry);
    const instead = this.#wrapExports(bodies.exportedInstead, tools);
    if (instead.size === 0) append(SectionId.Export, hiddenEntries);
    else {
      const own = module.exports.map((entry) => {
        const index = entry.kind === "function" ? instead.get(entry.index) : undefined;
        return encodeExportEntry(index === undefined ? entry : { ...entry, index });
      });
      sections.set(SectionId.Export, encodeVectorPayload([...own, ...hiddenEntries]));
    }
    appended.writeBodies(writer);
    addSmallFunctions(appended, writer, module.importedFunctionCount);
    // What tools know of functions is complete now.
    const sizes = [
      ...(layout === undefined || imported ? [] : [layout.endBytes]),
      ...tools.flatMap(({ shadowBytes, tableBytes = [] }) => [shadowBytes, ...tableBytes]),
    ];
    const shared = this.#options.sharedShadow === true;
    const memories = sizes.map((bytes) => encodeMemoryEntry(shadowMemoryType(bytes, shared)));
    const limited = this.#limitMemory(tools);
    if (limited === undefined) append(SectionId.Memory, memories);
    else sections.set(SectionId.Memory, encodeVectorPayload([...limited, ...memories]));
    const data = tools.flatMap((tool) => tool.data?.() ?? []);
    append(SectionId.Data, data.map(encodeDataEntry));
    if (data.length > 0 && module.dataCount !== undefined)
      sections.set(SectionId.DataCount, new ByteWriter(5).u32Leb(module.dataCount + data.length).finish());
    if (bodies.leftAlone.size > 0) this.#unseen.push(largeFunctionsNote(module, bodies.leftAlone));
    const code = writer.finish(module.bodies.length + appended.count);
    sections.set(SectionId.Code, code);
    const hints = branchHints(code, writer.rare, module.importedFunctionCount);
    sections.set(
      SectionId.Function,
      appendToVectorSection(this.#functionSection(tools), appended.count, appended.functionEntries()),
    );
    append(SectionId.Type, appended.types);
    if (start >= 0) sections.set(SectionId.Start, new ByteWriter(5).u32Leb(start).finish());
    // Stack traces name functions that moved as they did before.
    const names = appendFunctionNames(module, appended.names(readNames(module).functions));
    let info: InstrumentedInfo | undefined;
    const output = encodeModule(module, {
      sections,
      dropCustom: ({ name = "" }: SectionView) =>
        OUTDATED_SECTION.test(name) || (name === "name" && names !== undefined),
      customsBeforeCode: writer.rare.length > 0 ? [{ name: BRANCH_HINT_SECTION, content: hints }] : [],
      customs: (codeStart) => {
        for (const tool of tools)
          tool.codeWritten?.(
            writer.marks.map(({ offset, original }) => ({
              offset: offset + codeStart,
              original: original < 0 ? original : original - module.codePayloadStart,
            })),
          );
        info = this.#describe(
          layout,
          exported.map(({ name }) => name),
          tools,
          heap?.threads !== undefined,
        );
        const own = infoSection(info);
        return names === undefined ? [own] : [{ name: "name", content: names }, own];
      },
    });
    return { bytes: output, info: info as unknown as InstrumentedInfo };
  }

  get #stackGlobal(): number {
    return this.#module.importedGlobalCount + this.#module.globals.length;
  }

  get #hostTable(): number {
    return this.#module.importedTableCount + this.#module.tables.length;
  }

  #mergeHeapRuntime(followsHeap: boolean) {
    const acrossThreads = this.#options.acrossThreads === true && followsHeap && canShareMemory(this.#module);
    const layout =
      this.#beside ??
      planLayout({
        memoryBytes: this.#largestMemoryBytes(),
        maxContexts: this.#options.maxContexts,
        maxBlocks: this.#options.maxBlocks,
        histograms: this.#options.exactHistogram === true && followsHeap,
        shared: acrossThreads,
      });
    const shadowMemory = memoryCount(this.#module);
    const newestGlobal = this.#stackGlobal;
    const threads = acrossThreads
      ? shareTables(this.#appended, layout, shadowMemory, newestGlobal)
      : undefined;
    const wallClock = this.#options.clock === "wall";
    const exact = this.#options.exactHistogram === true;
    const usual = !wallClock && !exact && !acrossThreads;
    const runtime = mergeRuntime(shadowRuntimeBytes(usual), {
      appended: this.#appended,
      shadowMemory,
      firstGlobal: newestGlobal + 1 + (threads?.globals.length ?? 0),
      constants: { ...runtimeConstants(layout, wallClock, exact), ...threads?.constants },
      commonPath: usual ? commonPathBytes() : undefined,
      constantGlobals: true,
      hosts: {
        ...this.#hostFunctions(this.#hostTable),
        ...(threads === undefined ? {} : { lock: threads.lock, unlock: threads.unlock }),
      },
    });
    const newest = { type: I32, initial: encodeConstantExpression(I32, (layout.stack - FRAME_BYTES) | 0) };
    const globals: MergedRuntime["globals"] = [newest, ...(threads?.globals ?? []), ...runtime.globals];
    return { ...runtime, layout, threads, globals };
  }

  #memoryImport(): Pick<InstrumentedInfo, "memoryImport"> {
    const from = this.#memory < 0 ? undefined : importsOf(this.#module, "memory")[this.#memory];
    return from === undefined ? {} : { memoryImport: { module: from.module, field: from.field } };
  }

  /** Weaves the other tools in, each with a memory and globals of its own behind those before it. */
  #weaveTools(stackPointer: number, memoriesBefore: number, globalsBefore: number): WovenTool[] {
    const tools: WovenTool[] = [];
    let firstGlobal = this.#stackGlobal + globalsBefore;
    for (const name of this.#tools) {
      if (name === "heap" || tools.some((tool) => tool.name === name)) continue;
      const weave = WEAVERS[name];
      if (weave === undefined) throw new UserError(`the tool ${name} is not part of this version`);
      const tool: WovenTool | string = weave({
        module: this.#module,
        options: this.#options,
        scan: this.#scan,
        allocator: this.#allocator,
        appended: this.#appended,
        memory: this.#memory,
        memory64: this.#memory64,
        memoryBytes: this.#largestMemoryBytes(),
        stackPointer,
        shadowMemory:
          memoryCount(this.#module) +
          memoriesBefore +
          tools.reduce((sum, { tableBytes = [] }) => sum + 1 + tableBytes.length, 0),
        firstGlobal,
        noteStack: () => this.#noteStack(),
      });
      if (typeof tool === "string") {
        this.#refusals.push(tool);
        continue;
      }
      firstGlobal += tool.globals.length;
      tools.push(tool);
    }
    return tools;
  }

  /** Functions to export in the place of others: those that tell the tools that the host comes in and goes. */
  #wrapExports(
    before: ReadonlyMap<number, number>,
    tools: readonly WovenTool[],
  ): ReadonlyMap<number, number> {
    const entered = tools.map((tool) => tool.entered ?? -1).filter((index) => index >= 0);
    const left = tools.map((tool) => tool.left ?? -1).filter((index) => index >= 0);
    if (entered.length + left.length === 0) return before;
    const module = this.#module;
    const instead = new Map(before);
    for (const { kind, index } of module.exports) {
      if (kind !== "function") continue;
      const target = before.get(index) ?? index;
      if ((instead.get(index) ?? target) !== target) continue;
      const type = functionType(module, index);
      const wrapper = this.#appended.add(functionTypeIndex(module, index), () => {
        const body = new BodyBuilder();
        for (const listener of entered) body.op("call", listener);
        type.params.forEach((_, i) => {
          body.op("local.get", i);
        });
        const carried = tools.find((tool) => tool.carried?.types.has(target))?.carried;
        if (carried !== undefined) body.op("global.get", carried.global);
        body.op("call", target);
        if (carried !== undefined) body.op("global.set", carried.global);
        for (const listener of left) body.op("call", listener);
        return body.finish();
      });
      instead.set(index, wrapper);
    }
    return instead;
  }

  /** The module's function section with the types that tools give. */
  #functionSection(tools: readonly WovenTool[]): Uint8Array | undefined {
    const types = tools.flatMap(({ carried }) => carried?.types ?? []);
    if (types.length === 0) return sectionPayload(this.#module, SectionId.Function);
    const { functions, importedFunctionCount } = this.#module;
    const writer = new ByteWriter(functions.length * 2 + 5).u32Leb(functions.length);
    for (const [defined, type] of functions.entries())
      writer.u32Leb(
        types.map((of) => of.get(defined + importedFunctionCount)).find((own) => own !== undefined) ?? type,
      );
    return writer.finish();
  }

  /** What runs first: the tools' own functions, then the module's. −1: the module's stays as it is. */
  #startFunction(first: readonly number[]): number {
    const own = first.filter((start) => start >= 0);
    if (own.length === 0) return -1;
    const appended = this.#appended;
    return appended.add(appended.typeIndex([], []), () => {
      const body = new BodyBuilder();
      for (const start of own) body.op("call", start);
      if (this.#module.start !== undefined) body.op("call", this.#module.start);
      return body.finish();
    });
  }

  /** The module's own memories, the followed one no larger than the tools can follow. */
  #limitMemory(tools: readonly WovenTool[]): readonly Uint8Array[] | undefined {
    const limits = tools.flatMap(({ memoryLimit }) => memoryLimit ?? []);
    const own = this.#memory - this.#module.importedMemoryCount;
    if (limits.length === 0 || own < 0) return undefined;
    return this.#module.memories.map((memory, index) => {
      const most = Math.floor(Math.min(...limits) / 2 ** memory.pageSizeLog2);
      return encodeMemoryEntry(
        index === own ? { ...memory, maximum: Math.max(memory.minimum, most) } : memory,
      );
    });
  }

  #hiddenExports(hasHeap: boolean, tools: readonly WovenTool[]): HiddenExport[] {
    let memory = memoryCount(this.#module);
    const exported: HiddenExport[] = [];
    if (hasHeap) {
      if (this.#beside === undefined)
        exported.push({ name: `${HIDDEN_EXPORT_PREFIX}memory`, kind: "memory", index: memory });
      memory++;
    }
    if (hasHeap || this.#usesHost)
      exported.push({ name: `${HIDDEN_EXPORT_PREFIX}table`, kind: "table", index: this.#hostTable });
    for (const { name, exports, tableBytes = [] } of tools) {
      exported.push({ name: `${HIDDEN_EXPORT_PREFIX}${name}`, kind: "memory", index: memory++ });
      for (const table of tableBytes.keys())
        exported.push({
          name: `${HIDDEN_EXPORT_PREFIX}${name}.${table + 1}`,
          kind: "memory",
          index: memory++,
        });
      for (const [key, index] of Object.entries(exports))
        exported.push({ name: `${HIDDEN_EXPORT_PREFIX}${name}.${key}`, kind: "function", index });
    }
    return exported;
  }

  /** Functions the heap runtime calls to reach the host: through the exported table, if somebody sits there. */
  #hostFunctions(table: number): Record<string, number> {
    return {
      flush: this.#appended.add(this.#appended.typeIndex([], [I32]), () =>
        this.#guardedCall(table, FLUSH_SLOT, true),
      ),
      tick: this.#appended.add(this.#appended.typeIndex([], []), () =>
        this.#guardedCall(table, TICK_SLOT, false),
      ),
    };
  }

  #noteStack(): number {
    this.#usesHost = true;
    return this.#appended.add(this.#appended.typeIndex([], []), () =>
      this.#guardedCall(this.#hostTable, STACK_SLOT, false),
    );
  }

  #guardedCall(table: number, slot: number, answers: boolean): Uint8Array {
    const nothing = this.#appended.typeIndex([], []);
    const body = new BodyBuilder();
    body.i32(slot).op("table.get", table).op("ref.is_null").open("if");
    if (answers) body.i32(0);
    body.op("return").end();
    body.i32(slot).op("call_indirect", nothing, table);
    if (answers) body.i32(1);
    return body.finish();
  }

  #largestMemoryBytes(): number {
    const { maximum, pageSizeLog2 } = memoryType(this.#module, this.#memory);
    const declared = maximum === undefined ? LARGEST_COVERED_BYTES : maximum * 2 ** pageSizeLog2;
    return Math.min(declared, LARGEST_COVERED_BYTES);
  }

  #notes(
    tools: readonly WovenTool[],
    acrossThreads: boolean,
  ): Pick<InstrumentedInfo, "allocator" | "notTracked"> {
    const { allocator, notTracked } = allocationNotes(
      this.#module,
      this.#allocator,
      acrossThreads,
      tools.some(({ memoryLimit }) => memoryLimit !== undefined),
    );
    if (this.#beside !== undefined) allocator.refused = COUNTED_LIBRARY_SENTENCE;
    const ofTools = tools.flatMap((tool) => tool.notTracked);
    return { allocator, notTracked: [...notTracked, ...ofTools, ...this.#unseen, ...this.#refusals] };
  }

  #codeBytes(): number {
    const code = this.#module.sections.find(({ id }) => id === SectionId.Code);
    return code === undefined ? 0 : code.payloadEnd - code.payloadStart;
  }

  #describe(
    layout: ShadowLayout | undefined,
    hiddenExports: string[],
    tools: readonly WovenTool[],
    acrossThreads = false,
  ): InstrumentedInfo {
    const module = this.#module;
    const options = this.#options;
    return {
      version: 1,
      name: options.name ?? "module",
      buildId: buildId(module, options.sha256),
      originalBytes: module.bytes.length,
      codeBytes: this.#codeBytes(),
      tools: this.#tools,
      counters: options.exactHistogram ? "exact" : "merged",
      granuleBytes: 8,
      clock: options.clock ?? "virtual",
      includeStack: options.includeStack === true,
      includeAllocator: options.includeAllocator === true,
      ...this.#notes(tools, acrossThreads),
      ...(acrossThreads ? { acrossThreads } : {}),
      ...this.#memoryImport(),
      sharedMemory: this.#memory >= 0 && memoryType(module, this.#memory).shared,
      ...(this.#memory64 ? { memory64: true } : {}),
      layout: this.#beside === undefined ? layout : undefined,
      ...(this.#beside === undefined ? {} : { beside: this.#beside }),
      ...(tools.length === 0
        ? {}
        : {
            toolLayouts: Object.fromEntries(
              tools.map((t) => [
                t.name,
                { ...t.describe(), notTracked: [...t.notTracked, ...this.#unseen].join("\n") },
              ]),
            ),
          }),
      hiddenExports,
    };
  }
}

function shadowMemoryType(bytes: number, shared: boolean): MemoryType {
  const pages = bytes / PAGE_BYTES;
  return { minimum: pages, maximum: pages, shared, index64: false, pageSizeLog2: 16 };
}

function memoryCount(module: WasmModule): number {
  return module.importedMemoryCount + module.memories.length;
}

function infoSection(info: InstrumentedInfo): { name: string; content: Uint8Array } {
  return { name: INFO_SECTION, content: new TextEncoder().encode(JSON.stringify(info)) };
}

/** The `memshade` custom section of a compiled module, or undefined when it is not an instrumented one. */
export function readInstrumentedInfo(module: WebAssembly.Module): InstrumentedInfo | undefined {
  const [section] = WebAssembly.Module.customSections(module, INFO_SECTION);
  return section === undefined ? undefined : JSON.parse(new TextDecoder().decode(section));
}
