import {
  decodeLocals,
  encodeConstantExpression,
  type FuncType,
  type FunctionBody,
  functionType,
  I32,
  importsOf,
  initialValue,
  memoryType,
  type ValType,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { LINE_BYTES } from "../../../../ground/bytes/sizes.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { EntryPoints } from "../../../contexts/entry-points.ts";
import {
  dataRange,
  functionsThatGrow,
  heapBase,
  heapBaseOfAllocator,
} from "../../../rewrite/facts/data-layout.ts";
import { findReferences } from "../../../rewrite/facts/function-references.ts";
import { FunctionFact, type ModuleScan, usesTailCalls } from "../../../rewrite/facts/module-scan.ts";
import { otherMemoriesNote } from "../../../rewrite/facts/other-memories.ts";
import { BEYOND_SENTENCE, LARGEST_FOLLOWED_BYTES } from "../../../rewrite/facts/size-limits.ts";
import { type MergedRuntime, mergeRuntime } from "../../../rewrite/link.ts";
import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { ToolSurroundings, WovenTool } from "../../tool.ts";
import { type WovenAttribution, weaveAttribution } from "../attribution/pass.ts";
import { encodeCodeMarks } from "../code-marks.ts";
import { Control } from "../layout.ts";
import { SamplingPass, type WovenLocality, weaveLocality } from "../locality/pass.ts";
import { clockAt, planWorkingSetLayout, type WorkingSetLayout, workingSetConstants } from "../memory-plan.ts";
import { WORKING_SET_RUNTIME_BASE64 } from "../working-set.generated.ts";
import { IntervalPass } from "./interval-pass.ts";
import { LINE_SHIFT } from "./marks/line-of-address.ts";
import { PollPlan } from "./poll-plan.ts";

/** Shortest interval by default: accesses, or nanoseconds. */
const DEFAULT_INTERVAL_ACCESSES = 1_000_000;
const DEFAULT_MOST_INTERVALS = 512;
/** Sampled references wait for the next poll. */
const SAMPLED_ACCESSES_TO_POLL = 1 << 14;

/** Runtime function for an entry of the host, by the condition that polls check. */
const ENTERED = { countdown: "entered", flag: "enteredTimed", both: "enteredBoth" } as const;

export function weaveWorkingSet(surroundings: ToolSurroundings): WovenTool {
  return new WorkingSetWeaver(surroundings).weave();
}

/** Adds the runtimes of the tool and of its options to a module, and makes the pass that calls them. */
class WorkingSetWeaver {
  readonly #surroundings: ToolSurroundings;
  readonly #regions: Regions;
  readonly #layout: WorkingSetLayout;
  readonly #countdown: CountdownGlobal;
  readonly #locality: WovenLocality | undefined;
  readonly #attribution: WovenAttribution | undefined;
  readonly #globals: NonNullable<WovenTool["globals"]>;
  readonly #runtime: MergedRuntime;
  /** Condition that polls check. Sampled references need the number of accesses until then. */
  readonly #looksAt: keyof typeof ENTERED;

  constructor(surroundings: ToolSurroundings) {
    const { appended, firstGlobal } = surroundings;
    this.#surroundings = surroundings;
    this.#regions = findRegions(surroundings);
    const layout = planLayout(surroundings, this.#regions);
    this.#layout = layout;
    this.#countdown = placeCountdown(appended, firstGlobal);
    const globals = [...this.#countdown.globals];
    this.#locality = weaveLocality(
      { ...surroundings, firstGlobal: firstGlobal + globals.length },
      layout,
      this.#countdown.hosts.clock,
    );
    globals.push(...(this.#locality?.globals ?? []));
    const constants = { ...workingSetConstants(layout), ...this.#regions.code };
    const from = this.#locality?.endBytes ?? layout.locality;
    this.#attribution = weaveAttribution(surroundings, layout, from, firstGlobal + globals.length, constants);
    globals.push(...(this.#attribution?.globals ?? []));
    this.#globals = globals;
    this.#runtime = this.#mergeRuntime(constants);
    this.#looksAt = layout.unit === "accesses" ? "countdown" : this.#locality === undefined ? "flag" : "both";
  }

  weave(): WovenTool {
    const layout = this.#layout;
    const locality = this.#locality;
    const attribution = this.#attribution;
    const polls = new PollPlan(this.#surroundings.module, this.#surroundings.scan);
    const carriers = this.#carriers(polls);
    const marks = this.#intervalPass(polls, carriers);
    let calls = "";
    return {
      name: "workingset",
      pass: locality === undefined ? marks : new SamplingPass(marks, locality.sampling),
      beside: attribution?.pass,
      followedCalls: attribution?.followedCalls,
      shadowBytes: attribution?.endBytes ?? locality?.endBytes ?? layout.endBytes,
      codeWritten: (places) => {
        calls = encodeCodeMarks(places);
      },
      describe: () => ({
        ...layout,
        calls,
        asksHost: (this.#surroundings.options.hostStacks ?? "off") !== "off",
        ...locality?.description,
        ...attribution?.description,
      }),
      entered: this.#target(ENTERED[this.#looksAt]),
      carried: carriers.size > 0 ? { types: carriers, global: this.#countdown.index } : undefined,
      globals: [...this.#globals, ...this.#runtime.globals],
      exports: {
        hostRead: this.#listener("hostRead", 2, this.#attributed("hostAccessed")),
        hostWrote: this.#listener("hostWrote", 2, this.#attributed("hostAccessed")),
      },
      listeners: {
        copy: this.#listener("copied", 3),
        fill: this.#listener("filled", 3),
        init: this.#listener("initialized", 2),
        arrived: this.#listener("initialized", 2),
        left: this.#listener("hostRead", 2, this.#attributed("initialized"), "initialized"),
      },
      allocations: attribution?.allocations,
      notTracked: [
        ...otherMemoriesNote(this.#surroundings.module),
        ...(this.#surroundings.memory64 && this.#surroundings.memoryBytes === LARGEST_FOLLOWED_BYTES
          ? [BEYOND_SENTENCE]
          : []),
        ...(this.#regions.heapFrom < 0 && this.#regions.code === undefined
          ? ["The start of the heap is not known: lines of the heap count as static data."]
          : []),
        ...(attribution?.notTracked ?? []),
      ],
    };
  }

  #mergeRuntime(constants: Record<string, number | Uint8Array>): MergedRuntime {
    const { appended, firstGlobal, memory, memory64, noteStack, shadowMemory } = this.#surroundings;
    const beforePoll = this.#locality?.beforePoll;
    const [beforeScan] = this.#attributed("attribute");
    const [merged] = this.#attributed("merged");
    return mergeRuntime(bytesOfBase64(WORKING_SET_RUNTIME_BASE64), {
      appended,
      shadowMemory,
      firstGlobal: firstGlobal + this.#globals.length,
      constants,
      hosts: {
        programPages: appended.add(appended.typeIndex([], [I32]), () => programPages(memory, memory64)),
        noteStack: noteStack(),
        ...this.#countdown.hosts,
        ...(beforePoll === undefined ? {} : { beforePoll }),
        ...(beforeScan === undefined || merged === undefined ? {} : { beforeScan, merged }),
      },
    });
  }

  #target(name: string): number {
    return this.#runtime.functions.get(name) as number;
  }

  #attributed(name: string): number[] {
    const index = this.#attribution?.functions.get(name);
    return index === undefined ? [] : [index];
  }

  /** Returns one function that calls the working set's own listener and those of its options. */
  #listener(name: string, parameters: number, others = this.#attributed(name), inLocality = name): number {
    const functions = [this.#target(name), ...others];
    const localityListener = this.#locality?.listeners.get(inLocality);
    if (localityListener !== undefined) functions.push(localityListener);
    return functions.length === 1
      ? functions[0]
      : callAll(this.#surroundings.appended, functions, parameters);
  }

  get #hasExceptions(): boolean {
    const { module } = this.#surroundings;
    return module.tags.length > 0 || importsOf(module, "tag").length > 0;
  }

  /**
   * Returns the functions that carry the countdown. Other tools replace functions and calls, and expect their original
   * types.
   */
  #carriers(polls: PollPlan): ReadonlyMap<number, number> {
    const { appended, module, options, scan } = this.#surroundings;
    const isAlone = this.#attribution === undefined && options.tools?.every((tool) => tool === "workingset");
    return isAlone === true && this.#looksAt !== "flag" && !this.#hasExceptions
      ? findCarriers(module, scan, polls, appended)
      : new Map();
  }

  #intervalPass(polls: PollPlan, carriers: ReadonlyMap<number, number>): IntervalPass {
    const layout = this.#layout;
    const looksAt = this.#looksAt;
    const { module, scan } = this.#surroundings;
    const { entered } = new EntryPoints(module, scan);
    const isEntered = (index: number) => entered.has(index);
    return new IntervalPass({
      memory: this.#surroundings.shadowMemory,
      memory64: this.#surroundings.memory64,
      lines: layout.lines,
      planes: [-1, 0, layout.written, layout.both],
      clock: this.#countdown.index,
      published: clockAt(layout),
      flag: looksAt === "flag" ? layout.control + Control.flag : -1,
      poll: this.#target(looksAt === "both" ? "pollBoth" : "poll"),
      pollFlag: this.#target("pollFlag"),
      noteSize: this.#target("noteSize"),
      polls,
      isEntered,
      // A tail call may reach any function.
      publishes: usesTailCalls(scan) ? () => true : isEntered,
      carriers,
      assumeAligned: layout.assumeAligned,
      exceptions: this.#hasExceptions,
    });
  }
}

function planLayout({ options, memoryBytes }: ToolSurroundings, regions: Regions): WorkingSetLayout {
  const { workingset = {} } = options;
  const unit = workingset.unit ?? "accesses";
  return planWorkingSetLayout({
    memoryBytes,
    interval: workingset.interval ?? DEFAULT_INTERVAL_ACCESSES,
    maxIntervals: workingset.maxIntervals ?? DEFAULT_MOST_INTERVALS,
    unit,
    assumeAligned: workingset.assumeAligned ?? (unit !== "accesses" && workingset.attribution === undefined),
    adaptive: unit === "accesses" && workingset.interval === undefined,
    mostAccessesToPoll: workingset.locality === undefined ? undefined : SAMPLED_ACCESSES_TO_POLL,
    ...regions,
  });
}

/** Returns a function of i32 parameters that calls others with them. */
function callAll(
  appended: ToolSurroundings["appended"],
  functions: readonly number[],
  parameters: number,
): number {
  return appended.add(appended.typeIndex(Array(parameters).fill(I32), []), () => {
    const body = new BodyBuilder();
    for (const index of functions) {
      for (let i = 0; i < parameters; i++) body.op("local.get", i);
      body.op("call", index);
    }
    return body.finish();
  });
}

function programPages(memory: number, memory64: boolean): Uint8Array {
  const body = new BodyBuilder().op("memory.size", memory);
  if (memory64) body.op("i32.wrap_i64");
  return body.finish();
}

/** Global in which an instance counts accesses down to its next snapshot. */
export interface CountdownGlobal {
  index: number;
  globals: readonly { type: ValType; initial: Uint8Array }[];
  hosts: { clock: number; setClock: number };
}

export function placeCountdown(appended: AppendedFunctions, index: number): CountdownGlobal {
  const zero = encodeConstantExpression(I32, 0);
  return {
    index,
    globals: [{ type: I32, initial: zero }],
    hosts: {
      clock: appended.add(appended.typeIndex([], [I32]), () =>
        new BodyBuilder().op("global.get", index).finish(),
      ),
      setClock: appended.add(appended.typeIndex([I32], []), () =>
        new BodyBuilder().op("local.get", 0).op("global.set", index).finish(),
      ),
    },
  };
}

/** End of the lines of a memory of 4 GiB. */
const LINES_OF_ALL_MEMORY = 2 ** 32 / LINE_BYTES;

interface Regions {
  stackFrom: number;
  stackTo: number;
  /** −1: unknown. All memory outside of the stack counts as static data then. */
  heapFrom: number;
  /** Code that pushes the lines of the regions, in a module that gets them while it runs. */
  code?: { STACK_FROM: Uint8Array; STACK_TO: Uint8Array; HEAP_FROM: Uint8Array };
}

/**
 * Finds the regions from the layout that linkers give to C, C++ and Rust programs. The stack lies below the first value
 * of its pointer, down to the static data, or to address 0 if the data lies above it. The heap begins at `__heap_base`,
 * at the top of a stack above the data, or after the static data. No module records where that ends; the allocator's
 * code has the address.
 */
function findRegions({ module, scan, allocator, stackPointer, memory }: ToolSurroundings): Regions {
  const top = initialValue(module, stackPointer);
  const code = linkedRegions(module);
  if (code !== undefined) return { stackFrom: 0, stackTo: 0, heapFrom: -1, code };
  if (top === undefined || top <= 0) {
    const base = heapBase(module);
    return { stackFrom: 0, stackTo: 0, heapFrom: base === undefined ? -1 : Math.ceil(base / LINE_BYTES) };
  }
  const data = dataRange(module);
  const stackIsFirst = data === undefined || data.from >= top;
  const stackFrom = stackIsFirst ? 0 : data.to <= top ? Math.ceil(data.to / LINE_BYTES) : 0;
  const behindData = Math.max(data?.to ?? 0, top);
  const growing = functionsThatGrow(scan, module.importedFunctionCount);
  // All memory is static data if there is no allocator.
  const hasNoHeap =
    stackIsFirst && growing.length === 0 && allocator.how === "none" && heapBase(module) === undefined;
  if (hasNoHeap) return { stackFrom, stackTo: Math.ceil(top / LINE_BYTES), heapFrom: LINES_OF_ALL_MEMORY };
  // If nothing better is known, all memory after the initialised data counts as heap, zeroed static data included.
  const heapFrom =
    heapBase(module) ??
    (stackIsFirst
      ? (heapBaseOfAllocator(scan, growing, behindData, memoryType(module, memory)) ?? behindData)
      : top);
  return {
    stackFrom,
    stackTo: Math.ceil(top / LINE_BYTES),
    heapFrom: Math.ceil(heapFrom / LINE_BYTES),
  };
}

/**
 * Reads the regions of a program with dynamic libraries. The loader passes it the addresses as globals of the offset
 * table.
 */
function linkedRegions(module: WasmModule): Regions["code"] {
  const globals = importsOf(module, "global");
  const lineOf = (name: string): Uint8Array | undefined => {
    const index = globals.findIndex(
      ({ module: from, field, global }) => from === "GOT.mem" && field === name && global.type === I32,
    );
    if (index < 0) return undefined;
    // Line that begins at or after the address; none for 0, which the global has until the loader sets it.
    const code = new ByteWriter(16);
    code.u8(Op.GLOBAL_GET).u32Leb(index);
    code.u8(Op.I32_CONST).s32Leb(1).u8(Op.I32_SUB);
    code.u8(Op.I32_CONST).s32Leb(LINE_SHIFT).u8(Op.I32_SHR_U);
    return code.u8(Op.I32_CONST).s32Leb(1).u8(Op.I32_ADD).finish();
  };
  const HEAP_FROM = lineOf("__heap_base");
  if (HEAP_FROM === undefined) return undefined;
  const STACK_FROM = lineOf("__stack_low");
  const STACK_TO = lineOf("__stack_high");
  const zero = new ByteWriter(2).u8(Op.I32_CONST).s32Leb(0).finish();
  if (STACK_FROM === undefined || STACK_TO === undefined)
    return { STACK_FROM: zero, STACK_TO: zero, HEAP_FROM };
  return { STACK_FROM, STACK_TO, HEAP_FROM };
}

/**
 * Bodies may become several times as large. Larger ones than this stay as they are, since engines may reject the
 * result.
 */
const LARGEST_BODY_BYTES = 500_000;
const MOST_LOCALS = 40_000;
const MOST_PARAMETERS = 1000;
/** Types of numbers and vectors, which take one byte. */
const SMALLEST_NUMERIC = 0x7b;

/**
 * Returns the functions that take the countdown as a last parameter and return it as a last result, by index, with
 * their new types. Only direct calls, and the host through wrappers, may reach them. Engines then keep the countdown in
 * a register.
 */
function findCarriers(
  module: WasmModule,
  scan: ModuleScan,
  polls: PollPlan,
  appended: AppendedFunctions,
): ReadonlyMap<number, number> {
  const carriers = new Map<number, number>();
  if (scan.hasTailCalls || module.bodies.some((body) => mayBeLeftAlone(module, body))) return carriers;
  const reached = findReferences(module, scan).functions;
  if (module.start !== undefined) reached.add(module.start);
  const called = new Set(scan.callees);
  for (const [defined, body] of module.bodies.entries()) {
    const index = defined + module.importedFunctionCount;
    if (!called.has(index) || reached.has(index) || !polls.mayAccess(index)) continue;
    if ((scan.facts[defined] & FunctionFact.HasIndirectTailCall) !== 0) continue;
    const type = functionType(module, index);
    if (!takesMore(type) || !hasPlace(module, body)) continue;
    carriers.set(index, appended.typeIndex([...type.params, I32], [...type.results, I32]));
  }
  return carriers;
}

function mayBeLeftAlone(module: WasmModule, body: FunctionBody): boolean {
  if (body.end - body.start > LARGEST_BODY_BYTES) return true;
  // A declaration of that many locals takes five bytes.
  if (body.codeStart - body.start < 5) return false;
  return decodeLocals(module, body).reduce((sum, { count }) => sum + count, 0) > MOST_LOCALS;
}

function takesMore({ params, results }: FuncType): boolean {
  if (params.length === MOST_PARAMETERS) return false;
  return results.length === 0 || (results.length === 1 && results[0] >= SMALLEST_NUMERIC);
}

/** True if the parameter can replace the first local. */
function hasPlace(module: WasmModule, body: FunctionBody): boolean {
  const [first] = decodeLocals(module, body);
  return first === undefined || (first.type === I32 && first.count > 0);
}
