import { HostSite, SHADOW_IMPORT, SHADOW_MEMORY, STACK_FRAME_BYTES } from "../../tools/host-interface.ts";
import type { InstrumentedInfo } from "../../tools/options.ts";
import { WASI_MODULES } from "../../tools/waste/read/wasi-ranges.ts";
import { attributionLayoutOf } from "../../tools/working-set/attribution/memory-plan.ts";
import { callersOf, STACK_BASE } from "./host-calls.ts";
import { hookResumption, suspendingImport } from "./suspending-imports.ts";

/** Import object whose functions restore the shadow stack however they end, once the instance is connected. */
export interface GuardedImports {
  imports: WebAssembly.Imports;
  connect(exports: WebAssembly.Exports): void;
  /** Returns an export as the program sees it, once the instance is connected. */
  visible(name: string, value: WebAssembly.ExportValue): WebAssembly.ExportValue;
}

/**
 * Functions of `Math`. Engines replace them by their own code if they are imported directly, and they never
 * call the module.
 */
const MATHEMATICS = new Set(Object.values(Object.getOwnPropertyDescriptors(Math)).map(({ value }) => value));

/**
 * Guards the host functions among a module's imports. A trap unwinds the module's frames unseen by the
 * module. If the trap
 * passes a host function or is caught there, the guard resets the module's stack to its depth at that call. So the next
 * entry continues at the right depth.
 *
 * `shadow`: the memory to import, for modules that import their shadow memory.
 *
 * Returns undefined if there is nothing to guard. Functions of other instances are never replaced: a guard could not pass
 * all types of values.
 *
 * @param declared the imports that the module declares.
 */
export function guardImports(
  imports: WebAssembly.Imports | undefined,
  declared: readonly WebAssembly.ModuleImportDescriptor[],
  info: InstrumentedInfo,
  shadow?: WebAssembly.Memory,
): GuardedImports | undefined {
  if (imports === undefined) return undefined;
  const guardians = guardiansOf(info);
  if (guardians.length === 0 && shadow === undefined) return undefined;

  const isGuarded = ({ module, kind }: WebAssembly.ModuleImportDescriptor): boolean =>
    kind === "function" && !WASI_MODULES.includes(module);
  if (shadow === undefined && !declared.some(isGuarded)) return undefined;
  const guarded: Record<string, Record<string, WebAssembly.ImportValue>> = Object.create(null);
  const guards = new Map<HostFunction, HostFunction>();
  for (const entry of declared) {
    const { module, name } = entry;
    if (shadow !== undefined && module === SHADOW_IMPORT.module && name === SHADOW_IMPORT.field) {
      guarded[module] = { ...guarded[module], [name]: shadow };
      continue;
    }
    const from = imports[module] as Record<string, WebAssembly.ImportValue> | undefined;
    // The engine rejects this with its own message.
    if (from === null || (typeof from !== "object" && typeof from !== "function")) return undefined;
    guarded[module] ??= Object.create(null);
    let value = from[name] as unknown;
    const suspending = isGuarded(entry) ? suspendingImport(value) : undefined;
    if (suspending !== undefined)
      value = suspending.make(
        guardians.reduce((inner, { guardSuspending }) => guardSuspending(inner), suspending.call),
      );
    else if (
      isGuarded(entry) &&
      typeof value === "function" &&
      !MATHEMATICS.has(value) &&
      !isOfInstance(value)
    ) {
      const call = value as HostFunction;
      if (!guards.has(call))
        guards.set(
          call,
          guardians.reduce((inner, { guard }) => guard(inner), call),
        );
      value = guards.get(call);
    }
    guarded[module][name] = value as WebAssembly.ImportValue;
  }
  return {
    imports: guarded,
    connect(exports) {
      for (const guardian of guardians) guardian.connect(exports);
    },
    visible: (name, value) =>
      guardians.reduce((seen, guardian) => guardian.visible?.(name, seen) ?? seen, value),
  };
}

/** Restores the shadow-stack words of a tool after each call from the module to the host, however the call ends. */
interface Guardian {
  guard(call: HostFunction): HostFunction;
  /**
   * Guards a function for whose promise the module waits. The module resumes later, after other host code has
   * run.
   */
  guardSuspending(call: HostFunction): HostFunction;
  connect(exports: WebAssembly.Exports): void;
  visible?(name: string, value: WebAssembly.ExportValue): WebAssembly.ExportValue;
}

/** Returns a guardian for each tool with host words: the heap profiler, and other tools that distinguish contexts. */
function guardiansOf({ layout, toolLayouts }: InstrumentedInfo): Guardian[] {
  const guardians: Guardian[] = [];
  if (layout !== undefined)
    guardians.push(
      guardian(SHADOW_MEMORY, layout.hostWord, {
        global: STACK_BASE,
        stack: (at, exports) => new SuspendedFrames(exports, at + layout.stack - layout.hostWord),
      }),
    );
  const hostWord = Number(toolLayouts?.waste?.hostWord ?? 0);
  if (hostWord !== 0) guardians.push(guardian(WASTE_MEMORY, hostWord));
  const attributed = attributionLayoutOf(toolLayouts?.workingset ?? {})?.hostWord ?? 0;
  if (attributed !== 0) guardians.push(guardian(WORKING_SET_MEMORY, attributed));
  return guardians;
}

/** Location of an instance's words if it differs between instances, and the frames that the words count. */
interface StackOfInstance {
  /** Exported global with the address of the words. */
  global: string;
  stack(words: number, exports: WebAssembly.Exports): SuspendedFrames;
}

function guardian(memoryName: string, address: number, instance?: StackOfInstance): Guardian {
  /** Host word and entry word. */
  let words = new Int32Array(2);
  /** The host word at the innermost guarded call that has not returned. */
  let newest = 0;
  /** The host function of that call. */
  let innermost: unknown;
  let frames: SuspendedFrames | undefined;
  let rewound: RewoundCalls | undefined;
  const guard = (call: HostFunction, returned?: (result: unknown, host: HostFunction) => void) =>
    function host(...operands: unknown[]): unknown {
      const outer = newest;
      const outerHost = innermost;
      newest = words[0];
      innermost = host;
      words[1] = newest;
      try {
        const result = call(...operands);
        returned?.(result, host);
        return result;
      } finally {
        newest = outer;
        innermost = outerHost;
        words[0] = outer;
        words[1] = outer;
      }
    };
  return {
    guard: (call) => guard(call),
    guardSuspending: (call) =>
      guard(call, (result, host) => {
        const kept = frames?.keep(newest, host);
        hookResumption(
          result,
          () => kept?.putBack(),
          () => words.fill(newest),
        );
      }),
    connect(exports) {
      const memory = exports[memoryName] as WebAssembly.Memory | undefined;
      const own =
        instance === undefined ? undefined : (exports[instance.global] as WebAssembly.Global | undefined);
      const at = own === undefined ? address : own.value >>> 0;
      if (memory === undefined) return;
      words = new Int32Array(memory.buffer, at, 2);
      frames = instance?.stack(at, exports);
      rewound = frames && new RewoundCalls(frames, () => ({ bytes: newest, host: innermost }));
    },
    visible: (name, value) => rewound?.exported(name, value) ?? value,
  };
}

const WASTE_MEMORY = "memshade.waste";
const WORKING_SET_MEMORY = "memshade.workingset";

const { Table } = WebAssembly;
let table: WebAssembly.Table | undefined;

/** True for a function of an instance: tables accept no other functions. */
function isOfInstance(value: unknown): boolean {
  table ??= new Table({ element: "anyfunc", initial: 1 });
  try {
    table.set(0, value);
    table.set(0, null);
    return true;
  } catch {
    return false;
  }
}

type HostFunction = (...operands: unknown[]) => unknown;

// Captured now, because the program may replace these classes.
const { Module, Instance } = WebAssembly;

const I32 = 0x7f;
const I64 = 0x7e;

/**
 * Returns an exported function without results, of at most one operand. It passes its operands to `listener`,
 * then calls `target`. Only functions of instances fit into tables and have a type, so the result is one too.
 * If it cannot be made, the target is returned.
 */
function notifyingFunction(target: HostFunction, listener: HostFunction): HostFunction {
  const types = target.length === 0 ? [[]] : [[I32], [I64]];
  for (const operands of types)
    try {
      const { exports } = new Instance(new Module(notifyingModule(operands)), {
        "": { a: listener, b: target },
      });
      const function_ = exports.f as HostFunction;
      // The target's prototype may be from another context.
      Object.setPrototypeOf(function_, Object.getPrototypeOf(target));
      return Object.defineProperty(function_, "name", { value: target.name, configurable: true });
    } catch {
      // The target has another type.
    }
  return target;
}

/**
 * `(func (export "f") (type 0) (call $a (local.get 0)) (call $b (local.get 0)))`; both are imported with the
 * same type.
 */
function notifyingModule(operands: readonly number[]): Uint8Array<ArrayBuffer> {
  const get = operands.flatMap(() => [0x20, 0]);
  const body = [0, ...get, 0x10, 0, ...get, 0x10, 1, 0x0b];
  return Uint8Array.from([
    0,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    1,
    4 + operands.length,
    1,
    0x60,
    operands.length,
    ...operands,
    0,
    2,
    11,
    2,
    0,
    1,
    0x61,
    0,
    0,
    0,
    1,
    0x62,
    0,
    0,
    3,
    2,
    1,
    0,
    7,
    5,
    1,
    1,
    0x66,
    0,
    2,
    10,
    body.length + 2,
    1,
    body.length,
    ...body,
  ]);
}

const WORDS_OF_FRAME = STACK_FRAME_BYTES / 4;

/** Frames of suspended calls, kept while other calls use their part of an instance's shadow stack. */
class SuspendedFrames {
  readonly #exports: WebAssembly.Exports;
  readonly #frames: Uint32Array;

  /** `stack`: address of the first frame. */
  constructor(exports: WebAssembly.Exports, stack: number) {
    this.#exports = exports;
    this.#frames = new Uint32Array((exports[SHADOW_MEMORY] as WebAssembly.Memory).buffer, stack);
  }

  /**
   * Keeps the frames up to the one that is `bytes` from the empty stack. The callers of entries without a
   * site are read now, because they are not on the host's stack later. `below`: the function that the module
   * has called.
   */
  keep(bytes: number, below: unknown): { putBack(): void } {
    const count = bytes / STACK_FRAME_BYTES;
    const frames = this.#frames;
    let above = 0;
    for (let frame = count - 1; frame >= 0; frame--) {
      const at = frame * WORDS_OF_FRAME;
      if (frames[at] >= HostSite.unsettled) this.#settle(at, above++, below);
    }
    const kept = frames.slice(0, count * WORDS_OF_FRAME);
    // Contexts cached in frames may be out of date by then.
    for (let frame = 0; frame < count; frame++) kept[frame * WORDS_OF_FRAME + 1] = 0;
    return { putBack: () => frames.set(kept) };
  }

  /** Returns the site of the innermost entry up to that frame; 0 if there is none. */
  entryAt(bytes: number, below: unknown): number {
    const at = this.#innermostEntry(bytes);
    if (at < 0) return 0;
    this.#settle(at, 0, below);
    return this.#frames[at];
  }

  /** Sets the site of the innermost entry up to that frame. */
  setEntryAt(bytes: number, site: number): void {
    const at = this.#innermostEntry(bytes);
    if (at < 0) return;
    this.#frames[at] = site;
    for (let memo = at + 1; memo * 4 < bytes; memo += WORDS_OF_FRAME) this.#frames[memo] = 0;
  }

  #innermostEntry(bytes: number): number {
    let at = bytes / 4 - WORDS_OF_FRAME;
    while (at >= 0 && this.#frames[at] < HostSite.unsettled) at -= WORDS_OF_FRAME;
    return at;
  }

  #settle(at: number, above: number, below: unknown): void {
    if (this.#frames[at] !== HostSite.unsettled) return;
    const site = callersOf(this.#exports)?.siteOfWaiting(above, below);
    this.#frames[at] = site ?? HostSite.unsettled + HostSite.unknown;
  }
}

/** A call from a module to the host. */
interface HostCall {
  /** Distance of the calling frame from the empty stack. */
  bytes: number;
  host: unknown;
}

/**
 * Calls of modules that Binaryen's Asyncify has prepared. Such a module returns from a call to wait for the host, and is
 * called again to resume. Calls of its exported functions mark both moments, so the resuming call gets the callers of the
 * call that returned.
 */
class RewoundCalls {
  readonly #frames: SuspendedFrames;
  readonly #newest: () => HostCall;
  /** Sites of the entries that were left, by the address of the data from which the module resumes. */
  readonly #left = new Map<unknown, number>();
  #rewinding: unknown;

  /** `newest`: returns the host call that has not returned. */
  constructor(frames: SuspendedFrames, newest: () => HostCall) {
    this.#frames = frames;
    this.#newest = newest;
  }

  /** Returns an exported function as the program sees it. */
  exported(name: string, value: WebAssembly.ExportValue): WebAssembly.ExportValue {
    const listener = this.#listenerOf(name);
    return listener === undefined || typeof value !== "function"
      ? value
      : notifyingFunction(value as HostFunction, listener);
  }

  #listenerOf(name: string): HostFunction | undefined {
    switch (name) {
      case "asyncify_start_unwind":
        return (data) => {
          const { bytes, host } = this.#newest();
          this.#left.set(data, this.#frames.entryAt(bytes, host));
        };
      case "asyncify_start_rewind":
        return (data) => {
          this.#rewinding = data;
        };
      case "asyncify_stop_rewind":
        return () => {
          const site = this.#left.get(this.#rewinding) ?? 0;
          this.#left.delete(this.#rewinding);
          if (site !== 0) this.#frames.setEntryAt(this.#newest().bytes, site);
        };
      default:
        return undefined;
    }
  }
}
