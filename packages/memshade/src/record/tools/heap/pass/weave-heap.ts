import { encodeConstantExpression, I32 } from "../../../../code/wasm/index.ts";
import { fixedFrameBase } from "../../../contexts/frame-base.ts";
import { HostFrameFunctions, type ShadowStack } from "../../../contexts/host-frame-functions.ts";
import { STACK_FRAME_BYTES } from "../../../contexts/layout.ts";
import { ShadowStackPass } from "../../../contexts/shadow-stack-pass.ts";
import { StackPlan } from "../../../contexts/stack-plan.ts";
import { canCountBeside } from "../../../rewrite/facts/dynamic-library.ts";
import { canShareMemory } from "../../../rewrite/facts/shared-memory.ts";
import { type StaticData, staticData } from "../../../rewrite/facts/static-data.ts";
import { functionsUnderLoops } from "../../../rewrite/facts/under-loops.ts";
import { type MergedRuntime, mergeRuntime } from "../../../rewrite/link/shadow-runtime.ts";
import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { HostStacks } from "../../heap-options.ts";
import { HostSlot, SHADOW_IMPORT } from "../../host-interface.ts";
import type { ShadowLayout } from "../../options.ts";
import type { ToolSurroundings, WovenTool } from "../../tool.ts";
import { CONTROL_BYTES } from "../layout.ts";
import { planLayout, runtimeConstants } from "../memory-plan.ts";
import { HeapPass } from "./heap-pass.ts";
import { FIRST_COUNTDOWN } from "./loop-polls.ts";
import { findPointerRoots } from "./pointer-roots.ts";
import { commonPathBytes, shadowRuntimeBytes } from "./shadow-runtime-bytes.ts";
import { shareTables, type ThreadSharing } from "./thread-sharing.ts";

const HAS_MEMORY_INDEX = 0x40;

/** One small function per counter word, for places where a counter in line is not worth its bytes. */
export class CountFunctions {
  readonly #appended: AppendedFunctions;
  readonly #shadowMemory: number;
  readonly #made = new Map<number, number>();

  constructor(appended: AppendedFunctions, shadowMemory: number) {
    this.#appended = appended;
    this.#shadowMemory = shadowMemory;
  }

  /** Index of the function (address) → () that adds `word` to the address's counter. */
  get(word: number): number {
    const known = this.#made.get(word);
    if (known !== undefined) return known;
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

/**
 * Weaves the heap profiler into a module with an allocator, or with counters alone. `counted`: whether accesses will be counted;
 * else its pass must be left out.
 */
export function weaveHeap(around: ToolSurroundings, counted = true): WovenTool | undefined {
  const { module, scan, options, allocator, appended, shadowMemory, firstGlobal } = around;
  const countersOnly = options.countersOnly === true;
  const recordsBlocks = allocator.functions.length > 0 && !countersOnly;
  const beside = allocator.how === "none" && canCountBeside(module) ? options.beside : undefined;
  if (!recordsBlocks && !countersOnly && beside === undefined) return undefined;

  const acrossThreads = options.acrossThreads === true && recordsBlocks && canShareMemory(module);
  const hostStacks = recordsBlocks ? (options.hostStacks ?? "off") : "off";
  const layout = beside ?? layoutOf(around, { recordsBlocks, acrossThreads, asksHost: hostStacks !== "off" });
  const threads = acrossThreads
    ? shareTables(appended, layout, shadowMemory, firstGlobal, around.callHost(HostSlot.Spin, true))
    : undefined;
  // The data of a library lies in its program's memory, where the loader puts it.
  const statics = beside === undefined ? staticData(module, scan, around.stackPointer) : undefined;
  const runtime = mergeHeapRuntime(around, { layout, threads, statics, counted, hostStacks });
  const stack: ShadowStack = {
    shadowMemory,
    stackGlobal: firstGlobal,
    frames: threads?.frames ?? fixedFrameBase(layout),
  };
  const plan = recordsBlocks ? new StackPlan(module, scan, allocator) : undefined;
  const roots = recordsBlocks ? findPointerRoots(around) : undefined;
  const counters = new CountFunctions(appended, shadowMemory);
  const threadGlobals = threads?.globals ?? [];
  // Where several instances share the tables, the allocations of all of them are clock enough.
  const polls = recordsBlocks && threads === undefined;
  return {
    name: "heap",
    pass: new HeapPass(
      {
        exact: options.exactHistogram === true,
        includeStack: options.includeStack === true,
        statics,
        memory64: around.memory64,
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
  { recordsBlocks, acrossThreads, asksHost }: Record<"recordsBlocks" | "acrossThreads" | "asksHost", boolean>,
): ShadowLayout {
  return planLayout({
    memoryBytes,
    maxContexts: options.maxContexts,
    maxBlocks: options.maxBlocks,
    histograms: options.exactHistogram === true && recordsBlocks,
    shared: acrossThreads,
    asksHost,
  });
}

const MOVING_DATA_SENTENCE =
  "The module's static data has no fixed addresses, as its loader decides where it lies: accesses to it are not told by variable.";

interface RuntimeNeeds {
  layout: ShadowLayout;
  threads: ThreadSharing | undefined;
  statics: StaticData | undefined;
  counted: boolean;
  hostStacks: HostStacks;
}

/** The runtime, whose globals stand behind that of the newest frame and those of threads. */
function mergeHeapRuntime(
  { options, appended, shadowMemory, firstGlobal, callHost, memory64 }: ToolSurroundings,
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
    hosts: {
      flush: callHost(HostSlot.Flush, true),
      tick: callHost(HostSlot.Tick, false),
      ...(hostStacks === "off" ? {} : { askHost: callHost(HostSlot.Callers, true) }),
      ...(threads === undefined ? {} : { lock: threads.lock, unlock: threads.unlock }),
    },
  });
}
