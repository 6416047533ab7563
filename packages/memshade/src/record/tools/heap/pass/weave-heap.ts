import {
  encodeConstantExpression,
  globalType,
  I32,
  I64,
  type ValType,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { partitionPoint } from "../../../../ground/bytes/columns.ts";
import { entryOf } from "../../../../ground/bytes/entries.ts";
import { areCollected } from "../../../../profile/model/collected-objects.ts";
import { addressesOf } from "../../../allocator/find/state-addresses.ts";
import { type FrameBase, fixedFrameBase, placeCode } from "../../../contexts/frame-base.ts";
import { HostFrameFunctions, type ShadowStack } from "../../../contexts/host-frame-functions.ts";
import { ENTRY_WORD, HOST_WORD, STACK_FRAME_BYTES, StackFrame } from "../../../contexts/layout.ts";
import { ShadowStackPass, StackPlan } from "../../../contexts/shadow-stack-pass.ts";
import { dataRange } from "../../../rewrite/facts/data-layout.ts";
import { canCountBeside } from "../../../rewrite/facts/dynamic-library.ts";
import type { ModuleScan } from "../../../rewrite/facts/module-scan.ts";
import { canShareMemory } from "../../../rewrite/facts/other-memories.ts";
import { type StaticData, staticData } from "../../../rewrite/facts/static-data.ts";
import { functionsUnderLoops } from "../../../rewrite/facts/under-loops.ts";
import { type MergedRuntime, mergeRuntime } from "../../../rewrite/link.ts";
import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { HostStacks } from "../../heap-options.ts";
import { HIDDEN_EXPORT_PREFIX, HostSlot, SHADOW_IMPORT, Waiting } from "../../host-interface.ts";
import type { PointerRoots, ShadowLayout } from "../../options.ts";
import type { ToolSurroundings, WovenTool } from "../../tool.ts";
import { COMMON_PATH_BASE64 } from "../common-path.generated.ts";
import { CONTROL_BYTES, Control } from "../layout.ts";
import { planLayout, runtimeConstants } from "../memory-plan.ts";
import { SHADOW_RUNTIME_BASE64 } from "../runtime.generated.ts";
import { HOSTED_RUNTIME_BASE64 } from "../runtime-hosted.generated.ts";
import { USUAL_RUNTIME_BASE64 } from "../runtime-usual.generated.ts";
import { USUAL_HOSTED_RUNTIME_BASE64 } from "../runtime-usual-hosted.generated.ts";
import { FIRST_COUNTDOWN, HeapPass } from "./heap-pass.ts";
import { findMovableStack, type MovableStack, StackTakesPass, stackRange } from "./stack-takes.ts";

/**
 * Inserts the heap profiler into a module with an allocator, or its counters only.
 * `counted`: false if the pass that counts accesses is left out.
 */
export function weaveHeap(surroundings: ToolSurroundings, counted = true): WovenTool | undefined {
  const { module, scan, options, allocator, appended, shadowMemory, firstGlobal } = surroundings;
  const countersOnly = options.countersOnly === true;
  const recordsBlocks = allocator.functions.length > 0 && !countersOnly;
  const beside = allocator.how === "none" && canCountBeside(module) ? options.beside : undefined;
  if (!recordsBlocks && !countersOnly && beside === undefined) return undefined;

  const acrossThreads = options.acrossThreads === true && recordsBlocks && canShareMemory(module);
  const hostStacks = recordsBlocks ? (options.hostStacks ?? "off") : "off";
  // Threads that share the tables have a stack each.
  const movableStack =
    recordsBlocks && !acrossThreads ? findMovableStack(module, scan, surroundings.stackPointer) : undefined;
  const asksHost = hostStacks !== "off";
  const layout = beside ?? layoutOf(surroundings, { recordsBlocks, acrossThreads, asksHost, movableStack });
  const threads = acrossThreads
    ? shareTables(appended, layout, shadowMemory, firstGlobal, surroundings.callHost(HostSlot.Spin, true))
    : undefined;
  // The loader places a library's data in its program's memory, so its addresses are not known.
  const statics = beside === undefined ? staticData(module, scan, surroundings.stackPointer) : undefined;
  const runtime = mergeHeapRuntime(surroundings, { layout, threads, statics, counted, hostStacks });
  const stack: ShadowStack = {
    shadowMemory,
    stackGlobal: firstGlobal,
    frames: threads?.frames ?? fixedFrameBase(layout),
  };
  const plan = recordsBlocks ? new StackPlan(module, scan, allocator) : undefined;
  const roots = recordsBlocks ? findPointerRoots(surroundings) : undefined;
  const counters = new CountFunctions(appended, shadowMemory);
  const threadGlobals = threads?.globals ?? [];
  // If several instances share the tables, the allocations of all of them advance the clock often enough.
  const polls = recordsBlocks && threads === undefined;
  return {
    name: "heap",
    pass: new HeapPass(
      {
        exact: options.exactHistogram === true,
        includeStack: options.includeStack === true,
        statics,
        memory64: surroundings.memory64,
      },
      {
        shadowMemory,
        unreadCounter: layout.control + CONTROL_BYTES - 4,
        runtime: (name) => runtime.functions.get(name) as number,
        countFunction: (word) => counters.get(word),
      },
      polls
        ? {
            underLoops: functionsUnderLoops(module, scan),
            countdown: firstGlobal + 1 + threadGlobals.length + runtime.globals.length,
            poll: () => runtime.functions.get("poll") as number,
          }
        : undefined,
    ),
    beside: plan && new ShadowStackPass(plan, stack, new HostFrameFunctions(appended, stack)),
    stackTakes:
      movableStack && new StackTakesPass(movableStack, () => runtime.functions.get("stackMoving") as number),
    stackLeft: movableStack && (() => runtime.functions.get("stackLeft") as number),
    shadowBytes: layout.endBytes,
    sharedMemory: acrossThreads || beside !== undefined ? SHADOW_IMPORT : undefined,
    exportedMemory: beside === undefined ? "memory" : false,
    start: threads?.start ?? -1,
    followedCalls: plan && { ...stack, entries: plan.entries, hostFrames: hostStacks !== "off" },
    stack: plan && stack,
    globals: [
      { type: I32, initial: encodeConstantExpression(I32, (layout.stack - STACK_FRAME_BYTES) | 0) },
      ...threadGlobals,
      ...runtime.globals,
      ...(polls ? [{ type: I32, initial: encodeConstantExpression(I32, FIRST_COUNTDOWN) }] : []),
    ],
    globalExports: [...(threads?.exports ?? []), ...(roots?.globals ?? [])],
    exportsProgram: typeof roots?.roots === "object",
    exports: { hostRead: runtime.functions.get("hostRead") as number },
    listeners: {
      copy: -1,
      fill: -1,
      init: -1,
      touched: () => runtime.functions.get("countRange") as number,
    },
    recorder: recordsBlocks
      ? { stackGlobal: stack.stackGlobal, functions: runtime.functions, threads, inlined: runtime.inlined }
      : undefined,
    tables: {
      layout,
      acrossThreads,
      beside: beside !== undefined,
      ...(hostStacks === "off" ? {} : { hostStacks }),
      roots: roots?.roots,
      ...(counted && statics !== undefined ? { statics } : {}),
    },
    describe: () => ({}),
    notTracked: counted && statics === undefined && module.data.length > 0 ? [MOVING_DATA_SENTENCE] : [],
  };
}

function layoutOf(
  { options, memoryBytes }: ToolSurroundings,
  {
    recordsBlocks,
    acrossThreads,
    asksHost,
    movableStack,
  }: Record<"recordsBlocks" | "acrossThreads" | "asksHost", boolean> & {
    movableStack: MovableStack | undefined;
  },
): ShadowLayout {
  return planLayout({
    memoryBytes,
    maxContexts: options.maxContexts,
    maxBlocks: options.maxBlocks,
    histograms: options.exactHistogram === true && recordsBlocks,
    shared: acrossThreads,
    asksHost,
    movableStack,
  });
}

const MOVING_DATA_SENTENCE =
  "Accesses to static data are not counted by variable: the loader chooses its addresses.";

interface RuntimeNeeds {
  layout: ShadowLayout;
  threads: ThreadSharing | undefined;
  statics: StaticData | undefined;
  counted: boolean;
  hostStacks: HostStacks;
}

/** Merges the runtime. Its globals follow that of the newest frame and those of threads. */
function mergeHeapRuntime(
  { options, appended, shadowMemory, firstGlobal, callHost, memory64, stackPointer }: ToolSurroundings,
  { layout, threads, statics, counted, hostStacks }: RuntimeNeeds,
): MergedRuntime {
  const wallClock = options.clock === "wall";
  const exact = options.exactHistogram === true;
  const usual = !wallClock && !exact && threads === undefined;
  return mergeRuntime(shadowRuntimeBytes(usual, hostStacks !== "off"), {
    appended,
    shadowMemory,
    firstGlobal: firstGlobal + 1 + (threads?.globals.length ?? 0),
    constants: {
      ...runtimeConstants(layout, { wallClock, exact, counted, hostStacks, statics, memory64 }),
      ...threads?.constants,
    },
    commonPath: usual ? commonPathBytes() : undefined,
    constantGlobals: true,
    programMemory: 0,
    programMemory64: memory64,
    stackPointer,
    hosts: {
      flush: callHost(HostSlot.Flush, true),
      tick: callHost(HostSlot.Tick, false),
      ...(hostStacks === "off" ? {} : { askHost: callHost(HostSlot.Callers, true) }),
      ...(threads === undefined ? {} : { lock: threads.lock, unlock: threads.unlock }),
    },
  });
}

const HAS_MEMORY_INDEX = 0x40;
const WORD = 2 | HAS_MEMORY_INDEX;
const { instances: INSTANCES, lock: LOCK, lockTurn: LOCK_TURN } = Control;
const SPINS = 100;
/** Spins between two calls of the host, if a thread may only spin: a power of two. */
const SPINS_TO_HOST = 65_536;
const WAIT_NANOSECONDS = 100_000;
/** Waits without a change of the lock's holder until the holder is taken for dead: some seconds. */
const PATIENCE = 20_000;

/** Code and globals by which an instance shares the tables with others. */
interface ThreadSharing {
  frames: FrameBase;
  globals: { type: ValType; initial: Uint8Array }[];
  /** Code for values that differ between instances. */
  constants: Record<string, Uint8Array>;
  /** () → (): take the lock of the tables, and release it. One instance may take it several times. */
  lock: number;
  unlock: number;
  /** () → (): assigns the instance its stack. Must run first. */
  start: number;
  exports: { name: string; index: number }[];
}

/**
 * Adds the code of instances that share the shadow memory.
 *
 * @param newest global with the newest frame
 * @param spun function () → i32 that reports spins to the host, and returns 0 if there is none
 */
function shareTables(
  appended: AppendedFunctions,
  layout: ShadowLayout,
  shadowMemory: number,
  newest: number,
  spun: number,
): ThreadSharing {
  const [base, instance, depth, waiting] = [newest + 1, newest + 2, newest + 3, newest + 4];
  const noValues = appended.typeIndex([], []);
  const baseBytes = layout.stack - layout.hostWord;
  const emptyStack = baseBytes - STACK_FRAME_BYTES;
  const control = (body: BodyBuilder): BodyBuilder => body.i32(layout.control);

  const start = appended.add(noValues, () => {
    const body = new BodyBuilder([I32]);
    control(body).i32(1).op("i32.atomic.rmw.add", WORD, shadowMemory, INSTANCES).op("local.tee", 0);
    body.i32(1).op("i32.add").op("global.set", instance);
    // The first instance, usually that of the main thread, has a stack of its own; later ones reuse the rest
    // in turn.
    body.op("local.get", 0).open("if", I32);
    body
      .op("local.get", 0)
      .i32(1)
      .op("i32.sub")
      .i32(layout.stackCount - 1)
      .op("i32.rem_u")
      .i32(1)
      .op("i32.add");
    body.op("else").i32(0).end();
    body.i32(layout.stackDistance).op("i32.mul").i32(layout.hostWord).op("i32.add").op("global.set", base);
    body.op("global.get", base).i32(emptyStack).op("i32.add").op("global.set", newest);
    // Frame of the root, and under it a zero where a call site would be.
    for (const frame of [emptyStack, emptyStack - STACK_FRAME_BYTES])
      body
        .op("global.get", base)
        .i32(layout.nodes)
        .op("i32.store", WORD, shadowMemory, frame + StackFrame.node);
    for (const word of [HOST_WORD, ENTRY_WORD])
      body.op("global.get", base).i32(0).op("i32.store", WORD, shadowMemory, word);
    return body.finish();
  });

  const lock = appended.add(noValues, () => {
    const [holder, spins, turn, waits] = [0, 1, 2, 3];
    const body = new BodyBuilder([I32, I32, I32, I32]);
    const take = (expected: () => void): void => {
      control(body);
      expected();
      body.op("global.get", instance).op("i32.atomic.rmw.cmpxchg", WORD, shadowMemory, LOCK);
    };
    control(body).op("i32.atomic.load", WORD, shadowMemory, LOCK);
    body.op("global.get", instance).op("i32.eq").open("if");
    body.op("global.get", depth).i32(1).op("i32.add").op("global.set", depth).op("return").end();
    body.open("block").open("loop");
    take(() => body.i32(0));
    body.op("local.tee", holder).op("i32.eqz").op("br_if", 1);
    body.op("local.get", spins).i32(1).op("i32.add").op("local.tee", spins);
    body.i32(SPINS).op("i32.lt_u").op("br_if", 0);
    // Some threads, such as a page's main thread, must not block.
    body.op("global.get", waiting).i32(Waiting.stands).op("i32.ne").open("if");
    body
      .op("local.get", spins)
      .i32(SPINS_TO_HOST - 1)
      .op("i32.and")
      .op("br_if", 1);
    body.op("call", spun).op("drop");
    body.op("global.get", waiting).i32(Waiting.lost).op("i32.ne").op("br_if", 1);
    body.i32(Waiting.spins).op("global.set", waiting);
    take(() => body.op("local.get", holder));
    body.op("local.get", holder).op("i32.ne").op("br_if", 1).op("br", 2).end();
    control(body).op("i32.atomic.load", WORD, shadowMemory, LOCK_TURN).op("local.get", turn).op("i32.ne");
    body.open("if");
    control(body).op("i32.atomic.load", WORD, shadowMemory, LOCK_TURN).op("local.set", turn);
    body.i32(0).op("local.set", waits).end();
    control(body).op("local.get", holder).i64(WAIT_NANOSECONDS);
    body.op("memory.atomic.wait32", WORD, shadowMemory, LOCK).op("drop");
    body.op("local.get", waits).i32(1).op("i32.add").op("local.tee", waits);
    body.i32(PATIENCE).op("i32.lt_u").op("br_if", 0);
    // A thread that was terminated while it held the lock never releases it.
    take(() => body.op("local.get", holder));
    body.op("local.get", holder).op("i32.ne").op("br_if", 0);
    body.end().end();
    control(body).i32(1).op("i32.atomic.rmw.add", WORD, shadowMemory, LOCK_TURN).op("drop");
    return body.finish();
  });

  const unlock = appended.add(noValues, () => {
    const body = new BodyBuilder();
    body.op("global.get", depth).open("if");
    body.op("global.get", depth).i32(1).op("i32.sub").op("global.set", depth).op("return").end();
    // The lock may have been taken away meanwhile.
    control(body).op("global.get", instance).i32(0);
    body.op("i32.atomic.rmw.cmpxchg", WORD, shadowMemory, LOCK).op("drop");
    return body.finish();
  });

  const zero = { type: I32, initial: encodeConstantExpression(I32, 0) };
  return {
    frames: { hostWord: { global: base, offset: 0 }, emptyStack: { global: base, offset: emptyStack } },
    globals: [zero, zero, zero, zero],
    constants: {
      STACK: placeCode({ global: base, offset: baseBytes }),
      INSTANCE: placeCode({ global: instance, offset: 0 }),
    },
    lock,
    unlock,
    start,
    exports: [
      { name: "base", index: base },
      { name: "instance", index: instance },
      { name: "waiting", index: waiting },
    ],
  };
}

/**
 * Largest gap between parts of an allocator's state, bytes. Allocators keep arrays of bins, and no two known
 * addresses are further apart than such an array.
 */
const STATE_GAP_BYTES = 512;
const WORD_BYTES = 8;

const COLLECTED = "the program's garbage collector frees them when it runs";

/** Exports by which the host finds pointers, and their description. */
interface ExportedRoots {
  roots: PointerRoots | string;
  globals: { name: string; index: number }[];
}

/**
 * Returns the memory ranges and globals that may hold pointers to blocks, or why pointers are not searched.
 */
function findPointerRoots(surroundings: ToolSurroundings): ExportedRoots {
  const { module, allocator, stackPointer, memory64 } = surroundings;
  if (allocator.collector !== undefined || areCollected(allocator.functions))
    return { roots: COLLECTED, globals: [] };
  const globals = addressGlobals(module, memory64 ? I64 : I32).map((index) => ({
    name: `root.${index}`,
    index,
  }));
  const data = dataRange(module);
  const stack = stackRange(module, stackPointer);
  const pointer = globals.find(({ index }) => index === stackPointer);
  return {
    globals,
    roots: {
      memory: `${HIDDEN_EXPORT_PREFIX}program`,
      globals: globals.map(({ name }) => HIDDEN_EXPORT_PREFIX + name),
      ...(pointer === undefined ? {} : { stackPointer: HIDDEN_EXPORT_PREFIX + pointer.name }),
      stackFrom: stack.from,
      stackTo: stack.to,
      dataEnd: data?.to ?? 0,
      allocatorState: allocatorState(surroundings),
    },
  };
}

/** Returns the globals that can change or whose value comes from outside. */
function addressGlobals(module: WasmModule, type: number): number[] {
  const indices: number[] = [];
  for (let index = 0; index < module.importedGlobalCount + module.globals.length; index++) {
    const global = globalType(module, index);
    if (global.type === type && (global.mutable || index < module.importedGlobalCount)) indices.push(index);
  }
  return indices;
}

/**
 * Returns starts and ends of static data whose addresses only the allocator's functions use. It points to
 * free memory, which begins inside the last word of the block before it; such pointers keep no block
 * reachable.
 */
function allocatorState({ module, scan, allocator }: ToolSurroundings): number[] {
  const own = new Set([...allocator.internals, ...allocator.functions.map(({ index }) => index)]);
  const addresses = new Set<number>();
  for (const index of own)
    for (const address of addressesOf(module, scan, index)) if (!isOdd(address)) addresses.add(address);
  const otherAddresses = addressesOfOthers(module, scan, own);
  const ranges: number[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const address of Uint32Array.from(addresses).sort()) {
    const next = partitionPoint(0, otherAddresses.length, (at) => otherAddresses[at] < address);
    if (otherAddresses[next] === address) continue;
    const isNeighbour = address - last <= STATE_GAP_BYTES && !(otherAddresses[next - 1] > last);
    if (isNeighbour) ranges.pop();
    else ranges.push(address);
    ranges.push(Math.min(address + WORD_BYTES, otherAddresses[next] ?? Number.POSITIVE_INFINITY));
    last = address;
  }
  return ranges;
}

/**
 * Returns possible addresses of variables with pointers in functions that are not in `own`, sorted. Such
 * variables are aligned to 4 bytes. A parameter that is also given odd constants takes texts or numbers, such
 * as a line number of an assertion. So its constants are left out.
 */
function addressesOfOthers(
  { importedFunctionCount }: WasmModule,
  { addresses, argumentOf, firstAddress, facts }: ModuleScan,
  own: ReadonlySet<number>,
): Uint32Array {
  const numbers = new Set(argumentOf.filter((argument, at) => argument !== 0 && isOdd(addresses[at])));
  const otherAddresses = new Uint32Array(addresses.length);
  let count = 0;
  for (let defined = 0; defined < facts.length; defined++) {
    if (own.has(defined + importedFunctionCount)) continue;
    for (let at = firstAddress[defined]; at < firstAddress[defined + 1]; at++)
      if (!isOdd(addresses[at]) && !numbers.has(argumentOf[at])) otherAddresses[count++] = addresses[at];
  }
  return otherAddresses.subarray(0, count).sort();
}

/** True if no variable with a pointer can begin at an address. */
function isOdd(address: number): boolean {
  return address % 4 !== 0;
}

const decoded = new Map<string, Uint8Array>();

/**
 * Returns the compiled shadow runtime, a WebAssembly module. It is built from `tools/heap/assembly` by `npm
 * run build`.
 * `usual`: only for merged counters, the virtual clock and a single instance, which takes less code.
 * `hosted`: with the code that requests the host's stacks.
 */
function shadowRuntimeBytes(usual: boolean, hosted: boolean): Uint8Array {
  if (hosted) return decode(usual ? USUAL_HOSTED_RUNTIME_BASE64 : HOSTED_RUNTIME_BASE64);
  return decode(usual ? USUAL_RUNTIME_BASE64 : SHADOW_RUNTIME_BASE64);
}

/**
 * Returns the code that is written into the hooks of allocation functions, for the usual profile. Its imports
 * are a subset of the runtime's.
 */
function commonPathBytes(): Uint8Array {
  return decode(COMMON_PATH_BASE64);
}

function decode(base64: string): Uint8Array {
  return entryOf(decoded, base64, () => bytesOfBase64(base64));
}

/** Small functions, one per counter word, for code where a counter in line is not worth its bytes. */
export class CountFunctions {
  readonly #appended: AppendedFunctions;
  readonly #shadowMemory: number;
  readonly #made = new Map<number, number>();

  constructor(appended: AppendedFunctions, shadowMemory: number) {
    this.#appended = appended;
    this.#shadowMemory = shadowMemory;
  }

  /** Returns the index of the function (address) → () that adds `word` to the address's counter. */
  get(word: number): number {
    const existing = this.#made.get(word);
    if (existing !== undefined) return existing;
    const index = this.#appended.add(this.#appended.typeIndex([I32], []), () => {
      const body = new BodyBuilder();
      body.op("local.get", 0).i32(1).op("i32.shr_u").i32(-4).op("i32.and").op("local.tee", 0);
      body.op("local.get", 0).op("i32.load", 2 | HAS_MEMORY_INDEX, this.#shadowMemory, 0);
      body.i32(word & ~1).op("i32.add");
      if (word & 1) body.i32(1).op("i32.or");
      return body.op("i32.store", 2 | HAS_MEMORY_INDEX, this.#shadowMemory, 0).finish();
    });
    this.#made.set(word, index);
    return index;
  }
}
