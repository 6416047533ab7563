import type { InstrumentedInfo } from "../../instrument/index.ts";
import { Control } from "./shadow-offsets.ts";

/** Export of an instrumented module that holds its shadow memory. */
export const SHADOW_MEMORY = "memshade.memory";
/** Export with the functions the module calls: when its tables are full, and to learn the time. */
const HOST_TABLE = "memshade.table";
const FLUSH_SLOT = 0;
const TICK_SLOT = 1;

/** What the code inside the module may ask of the thread that runs it. */
export interface HostCalls {
  /** Tables are full: take over what they hold. */
  flush(): void;
}

/**
 * Connects an instance to its host. To be called in the thread of the instance, before the program allocates.
 *
 * @returns the shadow memory, or undefined when the instance has none.
 */
export function connectHost(
  exports: WebAssembly.Exports,
  info: InstrumentedInfo,
  calls: HostCalls,
): WebAssembly.Memory | undefined {
  // No test by `instanceof`: they may come from another context of this thread, which has classes of its own.
  const memory = exports[SHADOW_MEMORY] as WebAssembly.Memory | undefined;
  const table = exports[HOST_TABLE] as WebAssembly.Table | undefined;
  if (memory === undefined || table === undefined || info.layout === undefined) return undefined;
  table.set(FLUSH_SLOT, tableFunction(calls.flush));
  if (info.clock === "wall") {
    const start = performance.now();
    const control = new DataView(memory.buffer, info.layout.control);
    table.set(
      TICK_SLOT,
      tableFunction(() => control.setUint32(Control.wallMs, performance.now() - start, true)),
    );
  }
  return memory;
}

/** (module (import "h" "f" (func)) (export "f" (func 0))): tables hold only functions that come out of a module. */
const BRIDGE = Uint8Array.of(
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[1, 4, 1, 0x60, 0, 0],
  ...[2, 7, 1, 1, 0x68, 1, 0x66, 0, 0],
  ...[7, 5, 1, 1, 0x66, 0, 0],
);

// The classes are taken before anybody replaces them, so that the bridge is not instrumented itself.
const { Module, Instance } = WebAssembly;
let bridge: WebAssembly.Module | undefined;

function tableFunction(f: () => void): unknown {
  bridge ??= new Module(BRIDGE);
  return new Instance(bridge, { h: { f } }).exports.f;
}
