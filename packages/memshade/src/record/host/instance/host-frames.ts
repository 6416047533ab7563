import { SHADOW_IMPORT, SHADOW_MEMORY } from "../../tools/host-interface.ts";
import type { InstrumentedInfo } from "../../tools/options.ts";
import { WASI_MODULES } from "../../tools/waste/read/host-ranges.ts";
import { attributionLayoutOf } from "../../tools/working-set/attribution/memory-plan.ts";
import { STACK_BASE } from "./host-calls.ts";
import { RewoundCalls } from "./rewound-calls.ts";
import { SuspendedFrames } from "./suspended-frames.ts";
import { aroundResumption, suspendingImport } from "./suspending-imports.ts";

type HostFunction = (...operands: unknown[]) => unknown;

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
