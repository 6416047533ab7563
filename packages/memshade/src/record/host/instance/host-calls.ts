import { Control, HostEntries } from "../../tools/heap/layout.ts";
import {
  HostSite,
  HostSlot,
  SHADOW_MEMORY,
  STACK_BEYOND,
  STACKS_OF_INSTANCE,
  UNKNOWN_STACK,
  Waiting,
} from "../../tools/host-interface.ts";
import type { InstrumentedInfo, ToolName, WorkingSetLayout } from "../../tools/index.ts";
import type { ObjectsLayout } from "../../tools/objects/memory-plan.ts";
import { type ObjectGlobals, ObjectSampler } from "../../tools/objects/read/object-sampler.ts";
import { Control as WorkingSetControl } from "../../tools/working-set/layout.ts";
import { stackNoter } from "../../tools/working-set/read/note-stack.ts";
import type { HostStacks } from "./host-stacks.ts";

const ASKED_PER_STAGE = 256;
/** Last stage of regular sampling. A site has room for one more stage, for entries that are sampled out of turn. */
const LAST_STAGE = 14;

/** Chooses the entries whose callers are recorded: first all entries, then a shrinking fraction, as in the module. */
export class WaitingSample {
  readonly #asksAll: boolean;
  #stage = 0;
  #asked = 0;
  #skip = 0;
  #random = 0x9e3779b9;

  constructor(asksAll: boolean) {
    this.#asksAll = asksAll;
  }

  /** Samples on average 1 of 4^stage entries. */
  next(): { stage: number; isAsked: boolean } {
    const stage = this.#stage;
    if (this.#asksAll) return { stage, isAsked: true };
    if (this.#skip > 0) {
      this.#skip--;
      return { stage, isAsked: false };
    }
    if (++this.#asked === ASKED_PER_STAGE && stage < LAST_STAGE) {
      this.#asked = 0;
      this.#stage++;
    }
    if (this.#stage > 0) this.#skip = this.#next() % (2 * 4 ** this.#stage - 1);
    return { stage, isAsked: true };
  }

  /** xorshift */
  #next(): number {
    let state = this.#random;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#random = state >>> 0;
    return this.#random;
  }
}

interface BuiltinModules {
  getBuiltinModule?(name: "node:v8"): { setFlagsFromString(flags: string): void };
  getBuiltinModule?(name: "node:vm"): { runInNewContext(code: string): unknown };
}

let collector: (() => void) | null | undefined;

/**
 * Makes the engine collect all garbage of this thread now. Returns false if the engine offers no way, as in scripts of web
 * pages.
 */
export function collectGarbage(): boolean {
  collector ??= findCollector() ?? null;
  collector?.();
  return collector !== null;
}

/** Returns Node's own `gc` if Node was started with it, else that of a new context. The program does not see the new one. */
function findCollector(): (() => void) | undefined {
  const { gc, process } = globalThis as { gc?: () => void; process?: BuiltinModules };
  if (typeof gc === "function") return gc;
  try {
    const v8 = process?.getBuiltinModule?.("node:v8");
    const vm = process?.getBuiltinModule?.("node:vm");
    if (v8 === undefined || vm === undefined) return undefined;
    v8.setFlagsFromString("--expose-gc");
    const found = vm.runInNewContext("gc");
    v8.setFlagsFromString("--no-expose-gc");
    return found as () => void;
  } catch {
    return undefined;
  }
}

/** Exports of modules that share tables: start of this instance's stack, and the instance's number. */
export const STACK_BASE = "memshade.base";
const LOCAL_NUMBER = "memshade.instance";
/** Export with the instance's way to wait for a lock: see `Waiting`. */
const WAITING = "memshade.waiting";
/** If the lock of the tables has had the same holder for this time, the holder is taken for dead. */
const PATIENCE_MS = 2000;
/** Export with the functions that the module calls when its tables are full, and to read the time. */
const HOST_TABLE = "memshade.table";

/** The memories of the tools woven into an instance; further ones of a tool are `tool.1` and so on. */
export type ShadowMemories = Partial<Record<ToolName | `${ToolName}.${number}`, WebAssembly.Memory>>;

/** Returns the memories of one tool without its first. */
export function furtherMemories(memories: ShadowMemories, tool: ToolName): WebAssembly.Memory[] {
  const further: WebAssembly.Memory[] = [];
  for (let memory = memories[`${tool}.1`]; memory !== undefined; )
    memory = memories[`${tool}.${further.push(memory) + 1}`];
  return further;
}

/** Functions that code inside the module can call in its thread. */
export interface HostCalls {
  /** Reads the tables, which are full. */
  flush(): void;
  /** Stacks by which this thread enters modules; undefined if they are not recorded. */
  stacks?: HostStacks | undefined;
}

/**
 * Connects an instance to its host. Call it in the thread of the instance, before the program allocates.
 *
 * @returns the memories of its tools. A tool that found nothing to record has none.
 */
export function connectHost(
  exports: WebAssembly.Exports,
  info: InstrumentedInfo,
  calls: HostCalls,
): ShadowMemories {
  // `instanceof` would fail for memories from another context of this thread, which has its own classes.
  const memories: ShadowMemories = {};
  for (const tool of Object.keys(info.toolLayouts ?? {}) as ToolName[]) {
    memories[tool] = exports[`memshade.${tool}`] as WebAssembly.Memory;
    for (let number = 1; exports[`memshade.${tool}.${number}`] !== undefined; number++)
      memories[`${tool}.${number}`] = exports[`memshade.${tool}.${number}`] as WebAssembly.Memory;
  }
  const memory = exports[SHADOW_MEMORY] as WebAssembly.Memory | undefined;
  const table = exports[HOST_TABLE] as WebAssembly.Table | undefined;
  const { stacks } = calls;
  const hostStackOf =
    stacks &&
    ((above: number, below: unknown): number | undefined => knownStack(stacks.numberOf(above, below)));
  if (table !== undefined && memories.workingset !== undefined) {
    const layout = info.toolLayouts?.workingset as WorkingSetLayout;
    const noted = {
      stack: layout.control + WorkingSetControl.stack,
      used: layout.control + WorkingSetControl.stackNext,
      stacks: layout.stacks,
      stacksEnd: layout.stacksEnd,
      calls: layout.calls as string,
    };
    const note = stackNoter(memories.workingset, noted, layout.asksHost ? hostStackOf : undefined);
    table.set(HostSlot.Stack, tableFunction(note));
  }
  if (table !== undefined && memories.objects !== undefined) {
    const layout = info.toolLayouts?.objects as ObjectsLayout;
    const sampler = new ObjectSampler(
      memories.objects,
      layout,
      exports as unknown as ObjectGlobals,
      layout.asksHost ? hostStackOf : undefined,
    );
    samplers.add(new WeakRef(sampler));
    table.set(HostSlot.Object, tableFunction(sampler.take));
  }
  if (memory === undefined || table === undefined || info.layout === undefined) return memories;
  table.set(HostSlot.Flush, tableFunction(calls.flush));
  const waiting = exports[WAITING] as WebAssembly.Global | undefined;
  if (waiting !== undefined && mayStandStill()) waiting.value = Waiting.stands;
  else if (waiting !== undefined)
    table.set(HostSlot.Spin, tableFunction(spinWatch(waiting, memory, info.layout.control)));
  if (info.layout.hostEntries !== undefined && calls.stacks !== undefined)
    answerCallers(exports, table, new DataView(memory.buffer, info.layout.hostEntries), info, calls.stacks);
  if (info.clock === "wall") {
    const control = new DataView(memory.buffer, info.layout.control);
    // Threads that share the tables share their clock.
    const { timeOrigin } = performance;
    const start =
      info.acrossThreads === true ? control.getFloat64(Control.start, true) - timeOrigin : performance.now();
    table.set(
      HostSlot.Tick,
      tableFunction(() => control.setUint32(Control.wallMs, performance.now() - start, true)),
    );
  }
  memories.heap = memory;
  return memories;
}

/** Samplers of this thread, as long as their instances exist. */
const samplers = new Set<WeakRef<ObjectSampler>>();

/**
 * Finds the sampled objects of this thread that were collected, for the next profile. Makes the engine collect garbage if it
 * allows that.
 *
 * @param isCollected true if the caller has just made the engine collect
 */
export function settleObjects(isCollected = false): void {
  if (samplers.size === 0) return;
  const collected = isCollected || collectGarbage();
  for (const reference of samplers) {
    const sampler = reference.deref();
    if (sampler === undefined) samplers.delete(reference);
    else if (collected) sampler.settle();
  }
}

/** True if this thread may block: threads of windows, worklets and service workers must not. */
function mayStandStill(): boolean {
  return !["document", "WorkletGlobalScope", "ServiceWorkerGlobalScope"].some((name) => name in globalThis);
}

/** Watches a lock while an instance spins for it. Sets `waiting` to lost once the holder must be dead. */
function spinWatch(waiting: WebAssembly.Global, memory: WebAssembly.Memory, control: number): () => void {
  const words = new Int32Array(memory.buffer, control);
  let turn = Number.NaN;
  let since = 0;
  return () => {
    const now = Date.now();
    const seen = Atomics.load(words, Control.lockTurn / 4);
    if (seen !== turn) {
      turn = seen;
      since = now;
    } else if (now - since > PATIENCE_MS) {
      waiting.value = Waiting.lost;
      turn = Number.NaN;
    }
  };
}

/** Returns the number of a stack; undefined for reserved numbers. */
function knownStack(number: number): number | undefined {
  return number < STACK_BEYOND ? number : undefined;
}

/** Sites for the callers of one instance. */
interface Callers {
  /**
   * Returns the site of an entry that waits for the host before its first allocation. `above`: number of younger entries.
   */
  siteOfWaiting(above: number, below: unknown): number;
}

const callers = new WeakMap<WebAssembly.Exports, Callers>();

/** Returns the callers of the instance with these exports; undefined if callers are not recorded. */
export function callersOf(exports: WebAssembly.Exports): Callers | undefined {
  return callers.get(exports);
}

/** Installs the function by which a module requests the stack that entered it. */
function answerCallers(
  exports: WebAssembly.Exports,
  table: WebAssembly.Table,
  entries: DataView,
  { acrossThreads, hostStacks }: InstrumentedInfo,
  stacks: HostStacks,
): void {
  const first = acrossThreads === true ? (localNumber(exports) - 1) * STACKS_OF_INSTANCE : 0;
  const numberOf = (above: number, below: unknown): number => {
    const number = stacks.numberOf(above, below);
    const numbered = first + number < STACK_BEYOND ? first + number : UNKNOWN_STACK;
    return number < STACK_BEYOND ? numbered : number;
  };
  const answer = (): void => {
    const above = entries.getUint32(HostEntries.above, true);
    entries.setUint32(HostEntries.answer, numberOf(above, answer), true);
  };
  table.set(HostSlot.Callers, tableFunction(answer));
  const sample = new WaitingSample(hostStacks === "exact");
  const count = (field: number): void => entries.setUint32(field, entries.getUint32(field, true) + 1, true);
  callers.set(exports, {
    siteOfWaiting(above, below) {
      const { stage, isAsked } = sample.next();
      const number = isAsked ? numberOf(above, below) : 0;
      if (number === UNKNOWN_STACK) return HostSite.unsettled + number;
      count(isAsked ? HostEntries.asked : HostEntries.leftOut);
      return HostSite.unsettled + stage * 2 ** HostSite.stageShift + number;
    },
  });
}

/** Returns the number of an instance among those that share its shadow memory. */
export function localNumber(exports: WebAssembly.Exports): number {
  return (exports[LOCAL_NUMBER] as WebAssembly.Global).value;
}

/** (module (import "h" "f" (func)) (export "f" (func 0))): tables hold only functions that come out of a module. */
const BRIDGE = Uint8Array.of(
  0,
  0x61,
  0x73,
  0x6d,
  1,
  0,
  0,
  0,
  1,
  4,
  1,
  0x60,
  0,
  0,
  2,
  7,
  1,
  1,
  0x68,
  1,
  0x66,
  0,
  0,
  7,
  5,
  1,
  1,
  0x66,
  0,
  0,
);

// Captured before the classes are replaced, so that the bridge itself is not instrumented.
const { Module, Instance, CompileError } = WebAssembly;
let bridge: WebAssembly.Module | null | undefined;

/** True if instances can call functions of the host. Some hosts, such as workerd, compile no module at run time. */
export function canBeCalled(): boolean {
  return bridgeModule() !== null;
}

/** Returns a function for the module's table. `null` leaves the slot unchanged: the module works without the function. */
function tableFunction(f: () => void): unknown {
  const module = bridgeModule();
  return module === null ? null : new Instance(module, { h: { f } }).exports.f;
}

function bridgeModule(): WebAssembly.Module | null {
  if (bridge === undefined)
    try {
      bridge = new Module(BRIDGE);
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      bridge = null;
    }
  return bridge;
}
