import { HostSite, SHADOW_IMPORT, SHADOW_MEMORY, STACK_FRAME_BYTES } from "../../tools/host-interface.ts";
import type { InstrumentedInfo } from "../../tools/options.ts";
import { WASI_MODULES } from "../../tools/waste/read/wasi-ranges.ts";
import { attributionLayoutOf } from "../../tools/working-set/attribution/memory-plan.ts";
import { callersOf, STACK_BASE } from "./host-calls.ts";
import { aroundResumption, suspendingImport } from "./suspending-imports.ts";

/** An import object whose functions put the shadow stack back however they end, once the instance is connected. */
export interface GuardedImports {
  imports: WebAssembly.Imports;
  connect(exports: WebAssembly.Exports): void;
  /** What the program is to see of an export, once the instance is connected. */
  visible(name: string, value: WebAssembly.ExportValue): WebAssembly.ExportValue;
}

/** Engines have code of their own for these when they are imported as they are, and nothing comes back from them. */
const MATHEMATICS = new Set(Object.values(Object.getOwnPropertyDescriptors(Math)).map(({ value }) => value));

/**
 * Guards the host functions among a module's imports. A trap unwinds the module's frames unseen by the module; where it
 * passes a host function on its way, or is caught there, the guard tells the module where its stack has got to. So whatever
 * comes in next continues in the right place.
 *
 * `shadow`: the memory to import for modules that take theirs from outside.
 *
 * Undefined: nothing to do. Functions of other instances are never touched, for a guard could not pass all types of values.
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
    // The engine refuses it, in its own words.
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

/** Guards the words of one tool that follows calls. */
interface Guardian {
  guard(call: HostFunction): HostFunction;
  /** The same of one for whose promise the module waits: it goes on later, where the host has been elsewhere meanwhile. */
  guardSuspending(call: HostFunction): HostFunction;
  connect(exports: WebAssembly.Exports): void;
  visible?(name: string, value: WebAssembly.ExportValue): WebAssembly.ExportValue;
}

/** One for each tool that has host words: the heap profiler, and others where they tell contexts apart. */
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

/** Where the words of an instance are if instances differ in it, and the frames that they count. */
interface StackOfInstance {
  /** Exported global that has the address of the words. */
  global: string;
  stack(words: number, exports: WebAssembly.Exports): SuspendedFrames;
}

function guardian(memoryName: string, address: number, instance?: StackOfInstance): Guardian {
  /** Host word and entry word. */
  let words = new Int32Array(2);
  /** The host word at the innermost guarded call that has not returned. */
  let newest = 0;
  /** The function that was called there. */
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
        aroundResumption(
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

/** Whether a function comes out of an instance: no others fit into tables. */
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

// The program may replace them.
const { Module, Instance } = WebAssembly;

const I32 = 0x7f;
const I64 = 0x7e;

/**
 * An exported function of no result, and of one operand at most, that tells its operands before it does what `target` does. Only functions of
 * instances fit into tables and have a type of their own, so it is one as well; where it cannot be, the target comes back.
 */
function toldFunction(target: HostFunction, told: HostFunction): HostFunction {
  const types = target.length === 0 ? [[]] : [[I32], [I64]];
  for (const operands of types)
    try {
      const { exports } = new Instance(new Module(telling(operands)), { "": { a: told, b: target } });
      const function_ = exports.f as HostFunction;
      // It looks as that one does, also where that comes from another context.
      Object.setPrototypeOf(function_, Object.getPrototypeOf(target));
      return Object.defineProperty(function_, "name", { value: target.name, configurable: true });
    } catch {
      // Its type is another one.
    }
  return target;
}

/** `(func (export "f") (type 0) (call $a (local.get 0)) (call $b (local.get 0)))`; both are imported with the same type. */
function telling(operands: readonly number[]): Uint8Array<ArrayBuffer> {
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

/** The frames of calls that wait, while others use the place that they had on the shadow stack of an instance. */
class SuspendedFrames {
  readonly #exports: WebAssembly.Exports;
  readonly #frames: Uint32Array;

  /** `stack`: address of the first frame. */
  constructor(exports: WebAssembly.Exports, stack: number) {
    this.#exports = exports;
    this.#frames = new Uint32Array((exports[SHADOW_MEMORY] as WebAssembly.Memory).buffer, stack);
  }

  /**
   * Keeps the frames up to the one that is `bytes` from the empty stack. Who has called the module is found out now if nothing
   * was allocated so far: later, nobody can be asked. `below`: the function that the module has called.
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
    // Contexts that are known of frames may be others by then.
    for (let frame = 0; frame < count; frame++) kept[frame * WORDS_OF_FRAME + 1] = 0;
    return { putBack: () => frames.set(kept) };
  }

  /** The site of the innermost entry up to that frame; 0: there is none. */
  entryAt(bytes: number, below: unknown): number {
    const at = this.#innermostEntry(bytes);
    if (at < 0) return 0;
    this.#settle(at, 0, below);
    return this.#frames[at];
  }

  /** Has the innermost entry up to that frame have another one's site. */
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

/** A call by which a module asks the host. */
interface HostCall {
  /** From the empty stack to the frame that has called. */
  bytes: number;
  /** The function that was called. */
  host: unknown;
}

/**
 * Modules that Binaryen's Asyncify has prepared leave a call to wait for the host, and are called again by whoever has waited, to go on
 * in it. They are told by functions that they export: so the call that goes on has the callers of the one that was left.
 */
class RewoundCalls {
  readonly #frames: SuspendedFrames;
  readonly #newest: () => HostCall;
  /** Sites of the entries that were left, by the address at which the module keeps what it needs to go on. */
  readonly #left = new Map<unknown, number>();
  #rewinding: unknown;

  /** `newest`: the call of the host that has not returned. */
  constructor(frames: SuspendedFrames, newest: () => HostCall) {
    this.#frames = frames;
    this.#newest = newest;
  }

  /** What the program is to see of an exported function. */
  exported(name: string, value: WebAssembly.ExportValue): WebAssembly.ExportValue {
    const told = this.#told(name);
    return told === undefined || typeof value !== "function"
      ? value
      : toldFunction(value as HostFunction, told);
  }

  #told(name: string): HostFunction | undefined {
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
