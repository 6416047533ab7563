import { largeFunctionsNote } from "../allocator/allocation-notes.ts";
import { type AllocatorPlan, findAllocator } from "../allocator/find/index.ts";
import { hookAllocator } from "../allocator/hook-allocator.ts";
import { HookedCalls } from "../allocator/hooked-calls.ts";
import { UserError } from "../bytes/errors.ts";
import { ByteWriter } from "../bytes/writer.ts";
import { EntryPoints } from "../contexts/entry-points.ts";
import { ReferenceCalls } from "../contexts/reference-calls.ts";
import { type CarriedWord, type EntryListeners, wrapEntries } from "../contexts/wrap-entries.ts";
import { type ModuleScan, scanModule } from "../rewrite/facts/module-scan.ts";
import { findStackPointer } from "../rewrite/facts/stack-pointer.ts";
import { type CodePart, follows, type ToolPass } from "../rewrite/tool.ts";
import { type CallTargets, SAME_TARGETS } from "../rewrite/walk/call-targets.ts";
import { FunctionWalker } from "../rewrite/walk/function-walker.ts";
import { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import { BRANCH_HINT_SECTION, branchHints } from "../rewrite/write/branch-hints.ts";
import { BulkFunctions } from "../rewrite/write/bulk-functions.ts";
import { FunctionWriter } from "../rewrite/write/function-writer.ts";
import { Insertions } from "../rewrite/write/insertions.ts";
import { ModuleSections } from "../rewrite/write/module-sections.ts";
import { RewrittenBodies } from "../rewrite/write/rewritten-bodies.ts";
import { addSmallFunctions } from "../rewrite/write/small-functions.ts";
import {
  appendFunctionNames,
  appendToVectorSection,
  decodeModule,
  encodeConstantExpression,
  encodeDataEntry,
  encodeExportEntry,
  encodeGlobalEntry,
  encodeImportEntry,
  encodeMemoryEntry,
  encodeModule,
  I32,
  type MemoryType,
  memoryType,
  readNames,
  SectionId,
  type SectionView,
  sectionPayload,
  type WasmModule,
} from "../wasm/index.ts";
import { describe, infoSection } from "./describe.ts";
import { startFunction } from "./entry-functions.ts";
import { HostSlot } from "./host-interface.ts";
import { HostTable } from "./host-table.ts";
import type { InstrumentedInfo, InstrumentOptions, NotRecorded, ToolName } from "./options.ts";
import { LARGEST_FOLLOWED_BYTES, type ToolSurroundings, type WovenTool } from "./tool.ts";
import { WEAVERS } from "./weavers.ts";

/** Prefix of everything instrumentation adds to a module's exports. */
export const HIDDEN_EXPORT_PREFIX = "memshade.";
const PAGE_BYTES = 65536;
const NO_MEMORY_SENTENCE = "The module has no linear memory: there is nothing to follow in it.";
/** Room that is reserved for the new code, in multiples of the old; it grows when that is not enough. */
const EXPECTED_GROWTH = 2.2;
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

/** The code of a module with the tools in it, before its last function is written. */
interface Rewritten {
  writer: FunctionWriter;
  bodies: RewrittenBodies;
  /** What runs first, −1: what ran first before. */
  start: number;
}

/**
 * Weaves the heap profiler or other tools into a module. The result imports nothing more than the original, unless several
 * instances share its shadow memory, and runs wherever several memories are supported.
 *
 * Throws `FormatError` for bytes that are no module and `UserError` for options that do not fit it.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { instrument } from "memshade";
 *
 * const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
 * const { bytes, info } = instrument(empty, { name: "empty", tools: ["heap", "waste"] });
 * assert(WebAssembly.validate(bytes));
 * assert.equal(info.name, "empty");
 * ```
 */
export function instrument(bytes: Uint8Array, options: InstrumentOptions = {}): Instrumented {
  return new Instrumentation(decodeModule(bytes), options).run();
}

/** Finds the allocator, has the tools woven in, hands their passes to the rewriter, and puts the module together. */
class Instrumentation {
  readonly #module: WasmModule;
  readonly #options: InstrumentOptions;
  readonly #appended: AppendedFunctions;
  readonly #hostTable: HostTable;
  readonly #scan: ModuleScan;
  readonly #allocator: AllocatorPlan;
  /** The memory that is followed, −1 if there is none. */
  readonly #memory: number;
  readonly #memory64: boolean;
  /** Why tools found nothing to follow. */
  readonly #refusals: NotRecorded;
  /** What no tool sees in this module. */
  readonly #unseen: string[] = [];
  #tools: readonly WovenTool[] = [];
  /** Global that calls by reference from inside set, behind those of the tools; −1: there is none. */
  #inside = -1;

  constructor(module: WasmModule, options: InstrumentOptions) {
    this.#module = module;
    this.#options = options;
    this.#refusals = { ...options.leftOut };
    this.#appended = new AppendedFunctions(module);
    this.#hostTable = new HostTable(module, this.#appended);
    this.#scan = scanModule(module);
    const { allocator, glue } = options;
    this.#allocator = findAllocator(module, { allocator, glue }, this.#scan);
    this.#memory = memoryCount(module) > 0 ? 0 : -1;
    this.#memory64 = this.#memory >= 0 && memoryType(module, this.#memory).index64;
  }

  run(): Instrumented {
    if (this.#memory >= 0) this.#tools = this.#weaveTools();
    else for (const name of this.#options.tools ?? []) this.#refusals[name] ??= NO_MEMORY_SENTENCE;
    if (this.#tools.length === 0) {
      const info = this.#describe([]);
      return { bytes: encodeModule(this.#module, { customs: [infoSection(info)] }), info };
    }
    return this.#assemble(this.#rewrite());
  }

  /** Weaves the tools in, each with memories and globals of its own behind those before it. */
  #weaveTools(): WovenTool[] {
    const module = this.#module;
    const wanted = new Set<ToolName>(this.#options.tools ?? ["heap"]);
    const first = wanted.delete("heap") ? (["heap"] as const) : [];
    const names = [...first, ...wanted].filter((name) => this.#options.leftOut?.[name] === undefined);
    const stackPointer = findStackPointer(module, readNames(module), this.#scan);
    const tools: WovenTool[] = [];
    let shadowMemory = memoryCount(module);
    let firstGlobal = module.importedGlobalCount + module.globals.length;
    for (const name of names) {
      const weave = WEAVERS[name];
      if (weave === undefined) throw new UserError(`the tool ${name} is not part of this version`);
      const tool = weave(this.#surroundings(stackPointer, shadowMemory, firstGlobal));
      if (typeof tool === "string") this.#refusals[name] = tool;
      if (tool === undefined || typeof tool === "string") continue;
      shadowMemory += 1 + (tool.tableBytes?.length ?? 0);
      firstGlobal += tool.globals?.length ?? 0;
      tools.push(tool);
    }
    return tools;
  }

  #surroundings(stackPointer: number, shadowMemory: number, firstGlobal: number): ToolSurroundings {
    return {
      module: this.#module,
      options: this.#options,
      scan: this.#scan,
      allocator: this.#allocator,
      appended: this.#appended,
      memory: this.#memory,
      memory64: this.#memory64,
      memoryBytes: this.#largestMemoryBytes(),
      stackPointer,
      shadowMemory,
      firstGlobal,
      noteStack: () => this.#hostTable.caller(HostSlot.Stack, false),
      callHost: (slot, answers) => this.#hostTable.caller(slot, answers),
    };
  }

  /** Writes the module's own functions anew, and decides what hooks and wrappers there are. */
  #rewrite(): Rewritten {
    const module = this.#module;
    const tools = this.#tools;
    const appended = this.#appended;
    const listening = this.#entryListeners();
    const passes = tools.flatMap(({ pass, beside }) => [pass, ...(beside === undefined ? [] : [beside])]);
    // First of all: behind a call, tools go on with what the listeners left.
    if (listening !== undefined && listening.inside >= 0)
      passes.unshift(new ReferenceCalls(appended, listening.inside, listening.functions));
    const recorder = tools.find((tool) => tool.recorder !== undefined)?.recorder;
    const allocations = tools.flatMap((tool) => tool.allocations ?? []);
    const followed = tools.flatMap(({ followedCalls }) => followedCalls ?? []);
    const hooksAllocator = recorder !== undefined || allocations.length > 0;
    const wraps = followed.length > 0 || listening !== undefined;
    const calls = hooksAllocator || wraps ? new HookedCalls(module, this.#allocator) : undefined;
    const insertions = new Insertions();
    const writer = new FunctionWriter(module.bytes, insertions, {
      memory64: this.#memory64,
      capacity: Math.ceil(this.#codeBytes() * EXPECTED_GROWTH) + PAGE_BYTES,
    });
    const internals = new Set(this.#allocator.internals);
    const bodies = new RewrittenBodies({
      module,
      scan: this.#scan,
      insertions,
      walker: this.#walker(insertions, calls ?? SAME_TARGETS, passes),
      writer,
      partOf: this.#parts(internals),
      isAllProgram: this.#options.includeAllocator === true,
    });
    const start = startFunction(module, appended, tools);
    if (calls !== undefined) {
      const around = { module, scan: this.#scan, appended, bodies, calls };
      const allocating = { ...around, allocator: this.#allocator, memory: this.#memory };
      if (hooksAllocator) hookAllocator(allocating, recorder, allocations);
      if (wraps) wrapEntries({ ...around, internals }, followed, listening, this.#carried);
    }
    bodies.write();
    return { writer, bodies, start };
  }

  /** The tools that want to know when the host comes in, if there are any. */
  #entryListeners(): EntryListeners | undefined {
    const module = this.#module;
    const functions = this.#tools.map(({ entered = -1 }) => entered).filter((index) => index >= 0);
    if (functions.length === 0) return undefined;
    const entries = new EntryPoints(module, this.#scan);
    const callsWrappers = entries.referenced.some((index) => entries.wrapped.has(index));
    const own = this.#tools.reduce((sum, { globals = [] }) => sum + globals.length, 0);
    if (callsWrappers) this.#inside = module.importedGlobalCount + module.globals.length + own;
    const told = (index: number): number[] =>
      this.#tools.flatMap(({ entered = -1, isQuiet }) =>
        entered < 0 || isQuiet?.(index) === true ? [] : entered,
      );
    return { functions, told, entries, inside: this.#inside };
  }

  /** The word that functions hand on, of the one tool that has one. */
  get #carried(): CarriedWord | undefined {
    return this.#tools.find(({ carried }) => carried !== undefined)?.carried;
  }

  /** Whose code a function is. */
  #parts(internals: ReadonlySet<number>): (index: number) => CodePart {
    const wrappers = new Set(this.#allocator.wrappers);
    return (index) => (internals.has(index) ? "allocator" : wrappers.has(index) ? "wrapper" : "program");
  }

  #walker(insertions: Insertions, calls: CallTargets, passes: readonly ToolPass[]): FunctionWalker {
    const module = this.#module;
    const tools = this.#tools;
    const bulkFor = (part: CodePart) => {
      const listeners = tools.flatMap((tool) => (follows(tool.pass, part) ? (tool.listeners ?? []) : []));
      return new BulkFunctions(module, this.#appended, this.#memory, listeners);
    };
    const bulk = {
      program: bulkFor("program"),
      wrapper: bulkFor("wrapper"),
      allocator: bulkFor("allocator"),
    };
    return new FunctionWalker(module, this.#scan, insertions, calls, {
      memory: this.#memory,
      memory64: this.#memory64,
      stackPointer: findStackPointer(module, readNames(module), this.#scan),
      passes,
      dropsUnreachable: tools.some(({ carried }) => carried !== undefined),
      bulkFunction: (instruction, first, second, part) => bulk[part].get(instruction, first, second),
    });
  }

  /** Puts the module together, its sections with what the tools add to each. */
  #assemble({ writer, bodies, start }: Rewritten): Instrumented {
    const module = this.#module;
    const appended = this.#appended;
    const sections = new ModuleSections(module);
    const exported = this.#hiddenExports();
    if (this.#hostTable.isUsed) sections.append(SectionId.Table, [this.#hostTable.entry()]);
    this.#addGlobals(sections);
    sections.append(SectionId.Export, exported.map(encodeExportEntry));
    appended.writeBodies(writer);
    addSmallFunctions(appended, writer, module.importedFunctionCount);
    // What tools know of functions is complete now.
    this.#addMemories(sections);
    this.#addData(sections);
    if (bodies.leftAlone.size > 0) this.#unseen.push(largeFunctionsNote(module, bodies.leftAlone));
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
    const module = this.#module;
    const hints = branchHints(code, writer.rare, module.importedFunctionCount);
    // Stack traces name functions that moved as they did before.
    const names = appendFunctionNames(module, this.#appended.names(readNames(module).functions));
    let info: InstrumentedInfo | undefined;
    const bytes = encodeModule(module, {
      sections: sections.payloads,
      dropCustom: ({ name = "" }: SectionView) =>
        OUTDATED_SECTION.test(name) || (name === "name" && names !== undefined),
      customsBeforeCode: writer.rare.length > 0 ? [{ name: BRANCH_HINT_SECTION, content: hints }] : [],
      customs: (codeStart) => {
        this.#tellMarks(writer, codeStart);
        info = this.#describe(hiddenExports);
        const own = infoSection(info);
        return names === undefined ? [own] : [{ name: "name", content: names }, own];
      },
    });
    return { bytes, info: { ...(info as unknown as InstrumentedInfo), rewrittenBytes: bytes.length } };
  }

  /** Tells the tools where the places are that they marked. */
  #tellMarks(writer: FunctionWriter, codeStart: number): void {
    for (const tool of this.#tools)
      tool.codeWritten?.(
        writer.marks.map(({ offset, original }) => ({
          offset: offset + codeStart,
          original: original < 0 ? original : original - this.#module.codePayloadStart,
        })),
      );
  }

  #addGlobals(sections: ModuleSections): void {
    const globals = this.#tools.flatMap((tool) => tool.globals ?? []);
    const entries = globals.map(({ type, initial, mutable = true }) =>
      encodeGlobalEntry({ type, mutable }, initial),
    );
    if (this.#inside >= 0)
      entries.push(encodeGlobalEntry({ type: I32, mutable: true }, encodeConstantExpression(I32, 0)));
    sections.append(SectionId.Global, entries);
  }

  /** The tools' memories, behind the module's own: those that instances share are imported. */
  #addMemories(sections: ModuleSections): void {
    const shared = this.#options.sharedShadow === true;
    const imported: Uint8Array[] = [];
    const memories: Uint8Array[] = [];
    for (const { shadowBytes, sharedMemory, tableBytes = [] } of this.#tools) {
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

  /** The module's own memories, the followed one no larger than the tools can follow. */
  #limitMemory(): readonly Uint8Array[] | undefined {
    const limits = this.#tools.flatMap(({ memoryLimit }) => memoryLimit ?? []);
    const own = this.#memory - this.#module.importedMemoryCount;
    if (limits.length === 0 || own < 0) return undefined;
    return this.#module.memories.map((memory, index) => {
      const most = Math.floor(Math.min(...limits) / 2 ** memory.pageSizeLog2);
      return encodeMemoryEntry(
        index === own ? { ...memory, maximum: Math.max(memory.minimum, most) } : memory,
      );
    });
  }

  #addData(sections: ModuleSections): void {
    const data = this.#tools.flatMap((tool) => tool.data?.() ?? []);
    sections.append(SectionId.Data, data.map(encodeDataEntry));
    const { dataCount } = this.#module;
    if (data.length > 0 && dataCount !== undefined)
      sections.setNumber(SectionId.DataCount, dataCount + data.length);
  }

  /** The module's function section with the types that functions get which hand on a word; their wrappers keep the old ones. */
  #functionSection(bodies: RewrittenBodies): Uint8Array | undefined {
    const types = this.#carried?.types;
    if (types === undefined) return sectionPayload(this.#module, SectionId.Function);
    const { functions, importedFunctionCount } = this.#module;
    const writer = new ByteWriter(functions.length * 2 + 5).u32Leb(functions.length);
    for (const [defined, type] of functions.entries()) {
      const index = defined + importedFunctionCount;
      const isWrapper = bodies.replacementOf(index) !== undefined;
      writer.u32Leb((isWrapper ? undefined : types.get(index)) ?? type);
    }
    return writer.finish();
  }

  /** The tools' memories, functions and globals for the host, and the table through which it is called. */
  #hiddenExports(): HiddenExport[] {
    const exported: HiddenExport[] = [];
    const add = (name: string, kind: HiddenExport["kind"], index: number): void => {
      exported.push({ name: HIDDEN_EXPORT_PREFIX + name, kind, index });
    };
    let memory = memoryCount(this.#module);
    for (const { name, exports = {}, exportedMemory = name, tableBytes = [] } of this.#tools) {
      if (exportedMemory !== false) add(exportedMemory, "memory", memory);
      memory++;
      for (const table of tableBytes.keys()) add(`${name}.${table + 1}`, "memory", memory++);
      for (const [key, index] of Object.entries(exports)) add(`${name}.${key}`, "function", index);
    }
    if (this.#hostTable.isUsed) add("table", "table", this.#hostTable.index);
    for (const { name, index } of this.#tools.flatMap(({ globalExports = [] }) => globalExports))
      add(name, "global", index);
    return exported;
  }

  #largestMemoryBytes(): number {
    const { maximum, pageSizeLog2 } = memoryType(this.#module, this.#memory);
    const declared = maximum === undefined ? LARGEST_FOLLOWED_BYTES : maximum * 2 ** pageSizeLog2;
    return Math.min(declared, LARGEST_FOLLOWED_BYTES);
  }

  #codeBytes(): number {
    const code = this.#module.sections.find(({ id }) => id === SectionId.Code);
    return code === undefined ? 0 : code.payloadEnd - code.payloadStart;
  }

  #describe(hiddenExports: string[]): InstrumentedInfo {
    return describe({
      module: this.#module,
      options: this.#options,
      allocator: this.#allocator,
      memory: this.#memory,
      tools: this.#tools,
      codeBytes: this.#codeBytes(),
      hiddenExports,
      unseen: this.#unseen,
      refusals: this.#refusals,
    });
  }
}

function shadowMemoryType(bytes: number, shared: boolean): MemoryType {
  const pages = bytes / PAGE_BYTES;
  return { minimum: pages, maximum: pages, shared, index64: false, pageSizeLog2: 16 };
}

function memoryCount(module: WasmModule): number {
  return module.importedMemoryCount + module.memories.length;
}
