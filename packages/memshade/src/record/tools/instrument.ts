import {
  decodeModule,
  encodeModule,
  memoryCount,
  memoryType,
  readNames,
  SectionId,
  type WasmModule,
} from "../../code/wasm/index.ts";
import { FormatError, UserError } from "../../ground/bytes/errors.ts";
import { largeFunctionsNote } from "../allocator/allocation-notes.ts";
import { type AllocatorPlan, findAllocator } from "../allocator/find/index.ts";
import { hookAllocator } from "../allocator/hook-allocator.ts";
import { HookedCalls } from "../allocator/hooked-calls.ts";
import { EntryPoints } from "../contexts/entry-points.ts";
import { LeavingFunctions } from "../contexts/leaving-functions.ts";
import { ReferenceCalls } from "../contexts/reference-calls.ts";
import { type CarriedWord, type EntryListeners, wrapEntries } from "../contexts/wrap-entries.ts";
import { LARGEST_FOLLOWED_BYTES } from "../rewrite/facts/followed-bytes.ts";
import { type ModuleScan, scanModule } from "../rewrite/facts/module-scan.ts";
import { findStackPointer } from "../rewrite/facts/stack-pointer.ts";
import { addressesIn } from "../rewrite/facts/static-data.ts";
import { type CodePart, follows, type ToolPass } from "../rewrite/tool.ts";
import { type CallTargets, SAME_TARGETS } from "../rewrite/walk/call-targets.ts";
import { FunctionWalker } from "../rewrite/walk/function-walker.ts";
import { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import { BulkFunctions } from "../rewrite/write/bulk-functions.ts";
import { FunctionWriter } from "../rewrite/write/function-writer.ts";
import { Insertions } from "../rewrite/write/insertions.ts";
import { RewrittenBodies } from "../rewrite/write/rewritten-bodies.ts";
import {
  assembleModule,
  describe,
  HostTable,
  INFO_SECTION,
  type Instrumented,
  infoSection,
  type Rewritten,
} from "./assemble-module.ts";
import { HostSlot } from "./host-interface.ts";
import { hasObjectTypes } from "./objects/instructions.ts";
import type { InstrumentedInfo, InstrumentOptions, NotRecorded, ToolName } from "./options.ts";
import type { ToolSurroundings, WovenTool } from "./tool.ts";
import { WEAVERS, WITHOUT_MEMORY } from "./weavers.ts";

const PAGE_BYTES = 65536;
const CHOSEN_SENTENCE =
  "The module keeps its objects in the engine's garbage-collected heap and has no allocator of its own: it was given the tool objects.";
const NO_MEMORY_SENTENCE = "The module has no linear memory: there is nothing to profile in it.";
/** Room that is reserved for the new code, in multiples of the old; it grows when that is not enough. */
const EXPECTED_GROWTH = 2.2;

/**
 * Weaves the heap profiler or other tools into a module. The result imports nothing more than the original, unless several
 * instances share its shadow memory, and runs wherever several memories are supported.
 *
 * Throws `FormatError` for bytes that are no valid module for the engine that this runs in, and `UserError` for options that do
 * not fit it.
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
  const module = decodeModule(bytes);
  refuseInvalid(bytes);
  refuseInstrumented(module);
  return new Instrumentation(module, options).run();
}

/** @throws FormatError for what has been instrumented: its names would be there twice */
function refuseInstrumented({ customs }: WasmModule): void {
  const section = customs.find(({ name }) => name === INFO_SECTION);
  if (section === undefined) return;
  const detail = "it is instrumented already: its profile is read with the loader (docs/loader.md)";
  throw new FormatError("unsupported", section.start, "module", detail);
}

/** As `instrument`, of a module that the engine in which it is to run has found valid. */
export function instrumentValid(bytes: Uint8Array, options: InstrumentOptions): Instrumented {
  return new Instrumentation(decodeModule(bytes), options).run();
}

/** Finds the allocator, has the tools woven in, and hands their passes to the rewriter. */
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
    this.#tools = this.#weaveTools(this.#wanted());
    if (this.#memory < 0)
      for (const name of this.#options.tools ?? [])
        if (!WITHOUT_MEMORY.has(name))
          this.#refusals[name] ??= this.#allocator.collector ?? NO_MEMORY_SENTENCE;
    if (this.#tools.length === 0) {
      const info = this.#describe([], new Set());
      return { bytes: encodeModule(this.#module, { customs: [infoSection(info)] }), info };
    }
    const rewritten = this.#rewrite();
    return assembleModule(
      {
        module: this.#module,
        memory: this.#memory,
        tools: this.#tools,
        appended: this.#appended,
        hostTable: this.#hostTable,
        inside: this.#inside,
        carried: this.#carried,
        sharesShadow: this.#options.sharedShadow === true,
        describe: (hiddenExports) => this.#describe(hiddenExports, rewritten.bodies.leftAlone),
      },
      rewritten,
    );
  }

  /** The tools that may find something in this module. */
  #wanted(): Set<ToolName> {
    const { chooseTool, tools = ["heap"] } = this.#options;
    const isOfObjects =
      chooseTool === true && hasObjectTypes(this.#module) && this.#allocator.functions.length === 0;
    if (isOfObjects) {
      for (const name of tools) this.#refusals[name] ??= CHOSEN_SENTENCE;
      return new Set(["objects"]);
    }
    return new Set(tools.filter((name) => this.#memory >= 0 || WITHOUT_MEMORY.has(name)));
  }

  /** Weaves the tools in, each with memories and globals of its own behind those before it. */
  #weaveTools(wanted: Set<ToolName>): WovenTool[] {
    const module = this.#module;
    const first = wanted.delete("heap") ? (["heap"] as const) : [];
    const names = [...first, ...wanted].filter((name) => this.#options.leftOut?.[name] === undefined);
    const stackPointer = findStackPointer(module, readNames(module), this.#scan);
    const tools: WovenTool[] = [];
    let shadowMemory = memoryCount(module);
    let firstGlobal = module.importedGlobalCount + module.globals.length;
    for (const name of names) {
      const weave = WEAVERS[name];
      if (weave === undefined) throw new UserError(`the tool ${name} is not part of this version`);
      const stack = tools.find((one) => one.stack !== undefined)?.stack;
      const tool = weave({ ...this.#surroundings(stackPointer, shadowMemory, firstGlobal), stack });
      if (typeof tool === "string") this.#refusals[name] = tool;
      if (tool === undefined || typeof tool === "string") continue;
      shadowMemory += 1 + (tool.tableBytes?.length ?? 0);
      firstGlobal += tool.globals?.length ?? 0;
      tools.push(tool);
    }
    return tools;
  }

  #surroundings(
    stackPointer: number,
    shadowMemory: number,
    firstGlobal: number,
  ): Omit<ToolSurroundings, "stack"> {
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
    const leaving = new LeavingFunctions(module, this.#scan);
    const passes = tools.flatMap(({ pass, beside }) => [pass, ...(beside === undefined ? [] : [beside])]);
    // First of all: behind a call, tools go on with what the listeners left.
    if (listening !== undefined && listening.inside >= 0)
      passes.unshift(new ReferenceCalls(appended, leaving, listening.inside, listening.functions));
    const recorder = tools.find((tool) => tool.recorder !== undefined)?.recorder;
    const allocations = tools.flatMap((tool) => tool.allocations ?? []);
    const followed = tools.flatMap(({ followedCalls, followedStack }) =>
      [followedCalls, followedStack].flatMap((one) => one ?? []),
    );
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
      const around = { module, appended, bodies, calls };
      const allocating = { ...around, scan: this.#scan, allocator: this.#allocator, memory: this.#memory };
      if (hooksAllocator) hookAllocator(allocating, recorder, allocations);
      if (wraps) wrapEntries({ ...around, leaving, internals }, followed, listening, this.#carried);
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
    const own = this.#tools.reduce((sum, { globals = [] }) => sum + globals.length, 0);
    if (entries.hostMayCallReferences)
      this.#inside = module.importedGlobalCount + module.globals.length + own;
    const told = (index: number): number[] =>
      this.#tools.flatMap(({ entered = -1, isQuiet }) =>
        entered < 0 || isQuiet?.(index) === true ? [] : entered,
      );
    return { functions, functionsFor: told, entries, inside: this.#inside };
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

  #largestMemoryBytes(): number {
    if (this.#memory < 0) return 0;
    const { maximum, pageSizeLog2 } = memoryType(this.#module, this.#memory);
    const declared = maximum === undefined ? LARGEST_FOLLOWED_BYTES : maximum * 2 ** pageSizeLog2;
    return Math.min(declared, LARGEST_FOLLOWED_BYTES);
  }

  #codeBytes(): number {
    const code = this.#module.sections.find(({ id }) => id === SectionId.Code);
    return code === undefined ? 0 : code.payloadEnd - code.payloadStart;
  }

  /** `leftAlone`: functions without anything woven in. */
  #describe(hiddenExports: string[], leftAlone: ReadonlySet<number>): InstrumentedInfo {
    return describe({
      module: this.#module,
      options: this.#options,
      allocator: this.#allocator,
      memory: this.#memory,
      tools: this.#tools,
      codeBytes: this.#codeBytes(),
      hiddenExports,
      uncountedStatics: (statics) => {
        const { internals, wrappers } = this.#allocator;
        const uncounted = this.#options.includeAllocator === true ? [] : [...internals, ...wrappers];
        return addressesIn(this.#scan, [...uncounted, ...leftAlone], this.#module, statics);
      },
      unseen: leftAlone.size === 0 ? [] : [largeFunctionsNote(this.#module, leftAlone)],
      refusals: this.#refusals,
    });
  }
}

/** What runs first: the tools' own functions, then the module's. −1: the module's stays as it is. */
export function startFunction(
  module: WasmModule,
  appended: AppendedFunctions,
  tools: readonly WovenTool[],
): number {
  const own = tools.map(({ start = -1 }) => start).filter((start) => start >= 0);
  if (own.length === 0) return -1;
  return appended.add(appended.typeIndex([], []), () => {
    const body = new BodyBuilder();
    for (const start of own) body.op("call", start);
    if (module.start !== undefined) body.op("call", module.start);
    return body.finish();
  });
}

/**
 * Refuses what is no valid module: what rewriting adds would give a meaning to indices that have none.
 *
 * @throws FormatError with the sentence of the engine that this runs in.
 */
export function refuseInvalid(bytes: Uint8Array): void {
  if (WebAssembly.validate(bytes as BufferSource)) return;
  const message = engineMessage(bytes).replace(/^WebAssembly\.\w+\(\): /, "");
  const [, offset = "0"] = /(?:@\+|at offset )(\d+)/.exec(message) ?? [];
  throw new FormatError(
    "malformed",
    Number(offset),
    "module",
    `not valid: ${message.replace(/ @\+\d+$/, "")}`,
  );
}

function engineMessage(bytes: Uint8Array): string {
  try {
    new WebAssembly.Module(bytes as BufferSource);
  } catch (error) {
    return (error as Error).message;
  }
  return "the engine refuses it";
}
