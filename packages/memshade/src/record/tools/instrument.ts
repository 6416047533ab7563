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
import { WASM_PAGE_BYTES } from "../../ground/bytes/sizes.ts";
import { largeFunctionsNote } from "../allocator/allocation-notes.ts";
import { type AllocatorPlan, findAllocator } from "../allocator/find/index.ts";
import { hookAllocator } from "../allocator/hook-allocator.ts";
import { HookedCalls } from "../allocator/hooked-calls.ts";
import { EntryPoints } from "../contexts/entry-points.ts";
import { LeavingFunctions } from "../contexts/leaving-functions.ts";
import { ReferenceCalls } from "../contexts/reference-calls.ts";
import {
  type CarriedWord,
  type EntryListeners,
  type EntrySurroundings,
  wrapEntries,
} from "../contexts/wrap-entries.ts";
import { type ModuleScan, scanModule } from "../rewrite/facts/module-scan.ts";
import { LARGEST_FOLLOWED_BYTES } from "../rewrite/facts/size-limits.ts";
import { findStackPointer } from "../rewrite/facts/stack-pointer.ts";
import { addressesIn } from "../rewrite/facts/static-data.ts";
import { type CodePart, follows, type ToolPass } from "../rewrite/tool.ts";
import { type CallTargets, FunctionWalker, SAME_TARGETS } from "../rewrite/walk/function-walker.ts";
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

const CHOSEN_SENTENCE =
  "The module has garbage-collected objects and no allocator: it is recorded with the tool objects.";
const NO_MEMORY_SENTENCE = "The module has no linear memory: there is nothing to record.";
/** Initial room for the new code, as a multiple of the old code. It grows if needed. */
const EXPECTED_GROWTH = 2.2;

/**
 * Inserts the heap profiler or other tools into a module. The result has the same imports as the original, unless
 * several instances share its shadow memory. It runs in every engine that supports several memories.
 *
 * Throws `FormatError` if the bytes are no valid module for the current engine, and `UserError` for options that
 * do not fit the module.
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

/** Rejects an instrumented module, whose exports would be added twice. @throws FormatError */
function refuseInstrumented({ customs }: WasmModule): void {
  const section = customs.find(({ name }) => name === INFO_SECTION);
  if (section === undefined) return;
  const detail = "it is instrumented already: its profile is read with the loader (docs/loader.md)";
  throw new FormatError("unsupported", section.start, "module", detail);
}

/** Like `instrument`, for a module that the engine has already validated. */
export function instrumentValid(bytes: Uint8Array, options: InstrumentOptions): Instrumented {
  return new Instrumentation(decodeModule(bytes), options).run();
}

/** Finds the allocator, lets the tools insert their code, and passes their passes to the rewriter. */
class Instrumentation {
  readonly #module: WasmModule;
  readonly #options: InstrumentOptions;
  readonly #appended: AppendedFunctions;
  readonly #hostTable: HostTable;
  readonly #scan: ModuleScan;
  readonly #allocator: AllocatorPlan;
  /** Memory that is followed, −1 if there is none. */
  readonly #memory: number;
  readonly #memory64: boolean;
  /** Reasons why tools found nothing to follow. */
  readonly #refusals: NotRecorded;
  #tools: readonly WovenTool[] = [];
  /**
   * Global that is set by calls by reference from inside the module, after those of the tools; −1 if there is
   * none.
   */
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
    this.#tools = this.#weaveTools(this.#chooseTools());
    if (this.#memory < 0)
      for (const name of this.#options.tools ?? [])
        if (!WITHOUT_MEMORY.has(name))
          this.#refusals[name] ??= this.#allocator.collector ?? NO_MEMORY_SENTENCE;
    if (this.#tools.length === 0) {
      const info = this.#describe([], new Set());
      const bytes = encodeModule(this.#module, { customs: [infoSection(info)] });
      return { bytes, info: { ...info, rewrittenBytes: bytes.length } };
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

  /** Returns the tools that may find something in this module. */
  #chooseTools(): Set<ToolName> {
    const { chooseTool, tools = ["heap"] } = this.#options;
    const isOfObjects =
      chooseTool === true && hasObjectTypes(this.#module) && this.#allocator.functions.length === 0;
    if (isOfObjects) {
      for (const name of tools) this.#refusals[name] ??= CHOSEN_SENTENCE;
      return new Set(["objects"]);
    }
    return new Set(tools.filter((name) => this.#memory >= 0 || WITHOUT_MEMORY.has(name)));
  }

  /** Inserts the tools, each with its own memories and globals after those of the previous tools. */
  #weaveTools(chosenTools: Set<ToolName>): WovenTool[] {
    const module = this.#module;
    const first = chosenTools.delete("heap") ? (["heap"] as const) : [];
    const names = [...first, ...chosenTools].filter((name) => this.#options.leftOut?.[name] === undefined);
    const stackPointer = findStackPointer(module, readNames(module), this.#scan);
    const tools: WovenTool[] = [];
    let shadowMemory = memoryCount(module);
    let firstGlobal = module.importedGlobalCount + module.globals.length;
    for (const name of names) {
      const weave = WEAVERS[name];
      if (weave === undefined) throw new UserError(`the tool ${name} is not part of this version`);
      const stack = tools.find((tool) => tool.stack !== undefined)?.stack;
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

  /** Rewrites the module's own functions, and decides which hooks and wrappers are added. */
  #rewrite(): Rewritten {
    const module = this.#module;
    const tools = this.#tools;
    const appended = this.#appended;
    const listening = this.#entryListeners();
    const leaving = new LeavingFunctions(module, this.#scan);
    const passes = tools.flatMap(({ pass, beside, stackTakes }) =>
      [pass, beside, stackTakes].flatMap((each) => each ?? []),
    );
    // Comes first, because tools after a call use the state that the listeners have left.
    if (listening !== undefined && listening.inside >= 0)
      passes.unshift(new ReferenceCalls(appended, leaving, listening.inside, listening.functions));
    const recorder = tools.find((tool) => tool.recorder !== undefined)?.recorder;
    const allocations = tools.flatMap((tool) => tool.allocations ?? []);
    const followed = tools.flatMap(({ followedCalls, followedStack }) =>
      [followedCalls, followedStack].flatMap((calls) => calls ?? []),
    );
    const hooksAllocator = recorder !== undefined || allocations.length > 0;
    const wraps = followed.length > 0 || listening !== undefined;
    const calls = hooksAllocator || wraps ? new HookedCalls(module, this.#allocator) : undefined;
    const insertions = new Insertions();
    const writer = new FunctionWriter(module.bytes, insertions, {
      memory64: this.#memory64,
      capacity: Math.ceil(this.#codeBytes() * EXPECTED_GROWTH) + WASM_PAGE_BYTES,
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
      const shared = { module, appended, bodies, calls };
      const allocating = { ...shared, scan: this.#scan, allocator: this.#allocator, memory: this.#memory };
      if (hooksAllocator) hookAllocator(allocating, recorder, allocations);
      if (wraps) {
        const left = this.#leftStack;
        wrapEntries({ ...shared, leaving, internals, left }, followed, listening, this.#carried);
      }
    }
    bodies.write();
    return { writer, bodies, start };
  }

  /** Returns the tools that listen to entries of the host; undefined if there are none. */
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

  /** Records how low the stack pointer is when an exception leaves the module. */
  get #leftStack(): EntrySurroundings["left"] {
    const note = this.#tools.find(({ stackLeft }) => stackLeft !== undefined)?.stackLeft;
    const pointer = findStackPointer(this.#module, readNames(this.#module), this.#scan);
    return note === undefined ? undefined : { pointer, note };
  }

  /** Word that functions pass on, for the single tool that has one. */
  get #carried(): CarriedWord | undefined {
    return this.#tools.find(({ carried }) => carried !== undefined)?.carried;
  }

  /** Classifies functions as parts of the allocator, of its wrappers or of the program. */
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

  /** `leftAlone`: functions without inserted code. */
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

/**
 * Adds a start function that calls the tools' functions, then the module's. Returns −1 if the start function
 * stays as it is.
 */
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
 * Rejects an invalid module: the added code could make an invalid index valid.
 *
 * @throws FormatError with the message of the current engine
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
