import { ByteWriter } from "../bytes/writer.ts";
import {
  appendToVectorSection,
  buildId,
  decodeModule,
  encodeConstantExpression,
  encodeExportEntry,
  encodeGlobalEntry,
  encodeMemoryEntry,
  encodeModule,
  encodeTableEntry,
  encodeVectorPayload,
  FUNCREF,
  I32,
  memoryType,
  readNames,
  SectionId,
  type SectionView,
  sectionPayload,
  type WasmModule,
} from "../wasm/index.ts";
import { allocationNotes } from "./allocation-notes.ts";
import { AppendedFunctions } from "./appended-functions.ts";
import { BodyBuilder } from "./body-builder.ts";
import { BulkFunctions } from "./bulk-functions.ts";
import { NO_CONTEXTS } from "./call-plan.ts";
import { ContextPlan } from "./context-plan.ts";
import { CountFunctions } from "./count-functions.ts";
import { type AllocatorPlan, findAllocator } from "./find-allocator/index.ts";
import { FunctionWalker } from "./function-walker.ts";
import { FRAME_BYTES, FunctionWriter } from "./function-writer.ts";
import { Insertions } from "./insertions.ts";
import { type ModuleScan, scanModule } from "./module-scan.ts";
import type { InstrumentedInfo, InstrumentOptions, ShadowLayout } from "./options.ts";
import { RewrittenBodies } from "./rewritten-bodies.ts";
import { CONTROL_BYTES, LARGEST_COVERED_BYTES, planLayout, runtimeConstants } from "./shadow-layout.ts";
import { mergeRuntime } from "./shadow-runtime.ts";
import { shadowRuntimeBytes } from "./shadow-runtime-bytes.ts";
import { findStackPointer } from "./stack-pointer.ts";

/** Prefix of everything instrumentation adds to a module's exports, and name of its custom section. */
export const HIDDEN_EXPORT_PREFIX = "memshade.";
export const INFO_SECTION = "memshade";
const PAGE_BYTES = 65536;
/** Room that is reserved for the new code, in multiples of the old; it grows when that is not enough. */
const EXPECTED_GROWTH = 2.2;
/** Slots of the exported table: called when tables are full, and when the wall clock is asked. */
const HOST_SLOTS = 2;
const FLUSH_SLOT = 0;
const TICK_SLOT = 1;
/** Debug information and hints hold code offsets of the original module. */
const OUTDATED_SECTION = /^(\.debug_|reloc\.|metadata\.code\.)|^(sourceMappingURL|external_debug_info)$/;

/** A rewritten module and what it says of itself. */
export interface Instrumented {
  bytes: Uint8Array;
  info: InstrumentedInfo;
}

/**
 * Weaves the heap profiler into a module. The result imports nothing more than the original and runs wherever several
 * memories are supported. Throws `FormatError` for bytes that are no module and `UserError` for options that do not
 * fit it.
 */
export function instrument(bytes: Uint8Array, options: InstrumentOptions = {}): Instrumented {
  const module = decodeModule(bytes);
  return new HeapInstrumentation(module, options).run();
}

class HeapInstrumentation {
  readonly #module: WasmModule;
  readonly #options: InstrumentOptions;
  readonly #appended: AppendedFunctions;
  readonly #scan: ModuleScan;
  readonly #allocator: AllocatorPlan;
  readonly #insertions = new Insertions();
  readonly #memory: number;
  readonly #memory64: boolean;

  constructor(module: WasmModule, options: InstrumentOptions) {
    this.#module = module;
    this.#options = options;
    this.#appended = new AppendedFunctions(module);
    this.#scan = scanModule(module);
    const { allocator, glue } = options;
    this.#allocator = findAllocator(module, { allocator, glue }, this.#scan);
    this.#memory = memoryCount(module) > 0 ? 0 : -1;
    this.#memory64 = this.#memory >= 0 && memoryType(module, this.#memory).index64;
  }

  run(): Instrumented {
    const followsHeap = this.#allocator.functions.length > 0 && !this.#options.countersOnly;
    const active = this.#memory >= 0 && (followsHeap || this.#options.countersOnly === true);
    if (!active) {
      const info = this.#describe(undefined, []);
      return { bytes: encodeModule(this.#module, { customs: [infoSection(info)] }), info };
    }
    return this.#weave(followsHeap);
  }

  #weave(followsHeap: boolean): Instrumented {
    const module = this.#module;
    const appended = this.#appended;
    const layout = planLayout({
      memoryBytes: this.#largestMemoryBytes(),
      maxContexts: this.#options.maxContexts,
      maxBlocks: this.#options.maxBlocks,
      histograms: this.#options.exactHistogram === true && followsHeap,
    });
    const shadowMemory = memoryCount(module);
    const table = module.importedTableCount + module.tables.length;
    const stackGlobal = module.importedGlobalCount + module.globals.length;
    const hostGlobal = stackGlobal + 1;
    const emptyStack = layout.stack - FRAME_BYTES;
    const runtime = mergeRuntime(shadowRuntimeBytes(), {
      appended,
      shadowMemory,
      firstGlobal: hostGlobal + 1,
      constants: runtimeConstants(
        layout,
        this.#options.clock === "wall",
        this.#options.exactHistogram === true,
      ),
      hosts: this.#hostFunctions(table),
    });
    const runtimeFunction = (name: string): number => runtime.functions.get(name) as number;

    const contexts = followsHeap
      ? new ContextPlan(module, this.#scan, this.#allocator, (offset) => offset)
      : undefined;
    const counters = new CountFunctions(appended, shadowMemory);
    const bulk = new BulkFunctions(module, appended, this.#memory, runtimeFunction("countRange"));
    const walker = new FunctionWalker(module, this.#scan, this.#insertions, contexts ?? NO_CONTEXTS, {
      memory: this.#memory,
      memory64: this.#memory64,
      stackPointer: findStackPointer(module, readNames(module), this.#scan),
      exact: this.#options.exactHistogram === true,
      includeStack: this.#options.includeStack === true,
      bulkFunction: (instruction, first, second) => bulk.get(instruction, first, second),
    });
    const writer = new FunctionWriter(
      module.bytes,
      this.#insertions,
      {
        shadowMemory,
        stackGlobal,
        hostGlobal,
        emptyStack,
        unreadCounter: layout.control + CONTROL_BYTES - 4,
        countTrips: runtimeFunction("countTrips"),
        countStrided: runtimeFunction("countStrided"),
        countFunction: (word) => counters.get(word),
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
    if (contexts !== undefined) bodies.plan(contexts, this.#memory, runtime.functions);
    bodies.write();

    const hidden = ["memory", "table"].map((name) => `${HIDDEN_EXPORT_PREFIX}${name}`);
    const info = this.#describe(layout, hidden);
    const pages = layout.endBytes / PAGE_BYTES;
    const sections = new Map<number, Uint8Array | null>();
    const appendBytes = (id: number, count: number, entries: Uint8Array): void => {
      sections.set(id, appendToVectorSection(sectionPayload(module, id), count, entries));
    };
    const append = (id: number, entries: readonly Uint8Array[]): void => {
      const writer = new ByteWriter(256);
      for (const entry of entries) writer.bytes(entry);
      appendBytes(id, entries.length, writer.finish());
    };
    append(SectionId.Table, [
      encodeTableEntry({
        element: FUNCREF,
        minimum: HOST_SLOTS,
        maximum: HOST_SLOTS,
        shared: false,
        index64: false,
      }),
    ]);
    append(SectionId.Memory, [
      encodeMemoryEntry({
        minimum: pages,
        maximum: pages,
        shared: this.#options.sharedShadow === true,
        index64: false,
        pageSizeLog2: 16,
      }),
    ]);
    append(SectionId.Global, [
      encodeGlobalEntry({ type: I32, mutable: true }, encodeConstantExpression(I32, emptyStack | 0)),
      encodeGlobalEntry({ type: I32, mutable: true }, encodeConstantExpression(I32, emptyStack | 0)),
      ...runtime.globals.map(({ type, initial }) => encodeGlobalEntry({ type, mutable: true }, initial)),
    ]);
    const hiddenEntries = [
      encodeExportEntry({ name: hidden[0], kind: "memory", index: shadowMemory }),
      encodeExportEntry({ name: hidden[1], kind: "table", index: table }),
    ];
    if (bodies.exportedInstead.size === 0) append(SectionId.Export, hiddenEntries);
    else {
      const own = module.exports.map((entry) => {
        const instead = entry.kind === "function" ? bodies.exportedInstead.get(entry.index) : undefined;
        return encodeExportEntry(instead === undefined ? entry : { ...entry, index: instead });
      });
      sections.set(SectionId.Export, encodeVectorPayload([...own, ...hiddenEntries]));
    }
    appended.writeBodies(writer);
    sections.set(SectionId.Code, writer.finish(module.bodies.length + appended.count));
    appendBytes(SectionId.Function, appended.count, appended.functionEntries());
    append(SectionId.Type, appended.types);
    const output = encodeModule(module, {
      sections,
      dropCustom: (section: SectionView) => OUTDATED_SECTION.test(section.name ?? ""),
      customs: [infoSection(info)],
    });
    return { bytes: output, info };
  }

  /** Functions the runtime calls to reach the host: through the exported table, if somebody sits there. */
  #hostFunctions(table: number): Record<string, number> {
    const nothing = this.#appended.typeIndex([], []);
    const guarded = (slot: number, answers: boolean) => (): Uint8Array => {
      const body = new BodyBuilder();
      body.i32(slot).op("table.get", table).op("ref.is_null").open("if");
      if (answers) body.i32(0);
      body.op("return").end();
      body.i32(slot).op("call_indirect", nothing, table);
      if (answers) body.i32(1);
      return body.finish();
    };
    return {
      flush: this.#appended.add(this.#appended.typeIndex([], [I32]), guarded(FLUSH_SLOT, true)),
      tick: this.#appended.add(nothing, guarded(TICK_SLOT, false)),
    };
  }

  #largestMemoryBytes(): number {
    const { maximum, pageSizeLog2 } = memoryType(this.#module, this.#memory);
    const declared = maximum === undefined ? LARGEST_COVERED_BYTES : maximum * 2 ** pageSizeLog2;
    return Math.min(declared, LARGEST_COVERED_BYTES);
  }

  #codeBytes(): number {
    const code = this.#module.sections.find(({ id }) => id === SectionId.Code);
    return code === undefined ? 0 : code.payloadEnd - code.payloadStart;
  }

  #describe(layout: ShadowLayout | undefined, hiddenExports: string[]): InstrumentedInfo {
    const module = this.#module;
    const options = this.#options;
    return {
      version: 1,
      name: options.name ?? "module",
      buildId: buildId(module, options.sha256),
      originalBytes: module.bytes.length,
      codeBytes: this.#codeBytes(),
      tools: ["heap"],
      counters: options.exactHistogram ? "exact" : "merged",
      granuleBytes: 8,
      clock: options.clock ?? "virtual",
      includeStack: options.includeStack === true,
      includeAllocator: options.includeAllocator === true,
      ...allocationNotes(module, this.#allocator),
      layout,
      hiddenExports,
    };
  }
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
