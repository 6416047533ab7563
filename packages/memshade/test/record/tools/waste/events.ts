import { expect } from "vitest";
import type { WasteFile, WasteLoad, WasteStore } from "../../../../src/profile/model/waste.ts";
import { instrument, type WasteOptions } from "../../../../src/record/tools/index.ts";
import type { TypesOf } from "../../../../src/record/tools/session.ts";
import { wasteFile } from "../../../../src/record/tools/waste/read/waste-file.ts";
import { wat } from "../../../support/assemble.ts";
import { wasteReader } from "../../../support/waste-reader.ts";

/** One event of a run: text inside the program's only exported function, and the functions it needs. */
export interface Event {
  text: string;
  functions?: Record<string, string>;
}

const STORES: Readonly<Record<number, string>> = {
  1: "i32.store8",
  2: "i32.store16",
  4: "i32.store",
  8: "i64.store",
};
const LOADS: Readonly<Record<number, string>> = {
  1: "i32.load8_u",
  2: "i32.load16_u",
  4: "i32.load",
  8: "i64.load",
};

/** Counts of a store site that all engines must agree on, besides its name. */
export function countsOfStore(store: WasteStore): number[] {
  return [
    store.nof_stores,
    store.bytes_read,
    store.dead_overwritten,
    store.dead_deallocated,
    store.dead_exit,
    store.nof_silent,
    store.bytes_silent,
    store.host_assumed_read,
  ];
}

let fresh = 0;

/** Context `name` stores `size` bytes at `address`: a new value, unless one is given. */
export function S(name: string, address: number, size: number, value?: number): Event {
  fresh++;
  if (size === 16) {
    const lanes =
      value === undefined
        ? [1, 2, 3, 4].map((lane) => lane * 0x1010101 * ((fresh % 50) + 1))
        : [value, value, value, value];
    return vector(name, address, lanes);
  }
  const type = size === 8 ? "i64" : "i32";
  const wide = BigInt(fresh) * 0x0101010101010101n + 0x8040201008040201n;
  const given = value ?? BigInt.asIntN(size === 8 ? 64 : 32, wide);
  return {
    text: `(call $${name} (@.const ${address}) (${type}.const ${given}))`,
    functions: { [name]: `(param @ ${type}) (${STORES[size]} (local.get 0) (local.get 1))` },
  };
}

export function vector(name: string, address: number, lanes: readonly number[]): Event {
  return {
    text: `(call $${name} (@.const ${address}) (v128.const i32x4 ${lanes.map((lane) => lane >>> 0).join(" ")}))`,
    functions: { [name]: "(param @ v128) (v128.store (local.get 0) (local.get 1))" },
  };
}

export function F(name: string, address: number, value: string): Event {
  return {
    text: `(call $${name} (@.const ${address}) (f64.const ${value}))`,
    functions: { [name]: "(param @ f64) (f64.store (local.get 0) (local.get 1))" },
  };
}

export function L(name: string, address: number, size: number): Event {
  return {
    text: `(call $${name} (@.const ${address}))`,
    functions: { [name]: `(param @) (drop (${LOADS[size]} (local.get 0)))` },
  };
}

export function malloc(address: number, size: number): Event {
  return {
    text: `(global.set $next (@.const ${address})) (drop (call $malloc (@.const ${size})))`,
  };
}

export function calloc(name: string, address: number, size: number): Event {
  return {
    text: `(global.set $next (@.const ${address})) (call $${name})`,
    functions: { [name]: `(drop (call $calloc (@.const 1) (@.const ${size})))` },
  };
}

export function realloc(old: number, address: number, size: number): Event {
  return {
    text: `(global.set $next (@.const ${address})) (drop (call $realloc (@.const ${old}) (@.const ${size})))`,
  };
}

export function free(address: number): Event {
  return { text: `(call $free (@.const ${address}))` };
}

export function SYSR(address: number, size: number): Event {
  return { text: `(call $host_read (i32.const ${address}) (i32.const ${size}))` };
}

/** The host writes, called by context `name`. */
export function SYSW(name: string, address: number, size: number): Event {
  return {
    text: `(call $${name})`,
    functions: { [name]: `(call $host_write (i32.const ${address}) (i32.const ${size}))` },
  };
}

export function text(lines: string, functions: Record<string, string> = {}): Event {
  return { text: lines, functions };
}

export interface RunOptions {
  waste?: WasteOptions;
  fields?: string;
  /** Addresses and sizes are i64. `@` in texts of events and fields is replaced by their type. */
  memory64?: boolean;
  /** Pages of the memory. Default: 1. It grows by `GROWTH_PAGES` at most, because shadows of 4 GiB take time. */
  pages?: number;
  /** Imported functions without results, "module.name" → parameters, called by `$name`. */
  imports?: Readonly<Record<string, string>>;
  /** Called with the operands of each call of such an import. */
  onImport?: (...operands: unknown[]) => void;
  isHidden?: boolean;
  traps?: boolean;
  /** Types of blocks, as in debug information. */
  typesOf?: TypesOf;
}

const GROWTH_PAGES = 4;

/** Figures of the tool for a run of these events. */
export class WasteRun {
  readonly file: WasteFile;

  constructor(events: readonly Event[], options: RunOptions = {}) {
    const functions = new Map<string, string>();
    for (const event of events)
      for (const [name, body] of Object.entries(event.functions ?? {})) functions.set(name, body);
    const pages = options.pages ?? 1;
    const text = `(module
      (import "wasi_snapshot_preview1" "fd_write" (func $host_read (param i32 i32)))
      (import "wasi_snapshot_preview1" "fd_read" (func $host_write (param i32 i32)))
      ${Object.entries(options.imports ?? {}).map(([name, params]) => {
        const [from, field] = name.split(".");
        return `(import "${from}" "${field}" (func $${field} ${params}))`;
      })}
      (memory $main ${options.isHidden ? "" : '(export "memory")'} ${options.memory64 ? "i64" : ""} ${pages} ${pages + GROWTH_PAGES})
      (global $__stack_pointer (mut @) (@.const 4096))
      (global $next (mut @) (@.const 0))
      ${options.fields ?? ""}
      (func $malloc (export "malloc") (param @) (result @) (global.get $next))
      (func $calloc (export "calloc") (param @ @) (result @) (global.get $next))
      (func $realloc (export "realloc") (param @ @) (result @) (global.get $next))
      (func $free (export "free") (param @))
      ${[...functions].map(([name, body]) => `(func $${name} ${body})`).join("\n")}
      (func (export "_start") ${events.map((event) => event.text).join("\n")}))`;
    const module = wat(text.replaceAll("@", options.memory64 ? "i64" : "i32"));
    this.file = runWaste(module, options.waste, options);
  }

  store(name: string): WasteStore {
    return this.#only("stores", this.file.stores, name);
  }

  load(name: string): WasteLoad {
    return this.#only("loads", this.file.loads, name);
  }

  /** The only site of a function; with contexts, the sum over all its contexts. */
  #only<Site extends WasteStore | WasteLoad>(what: string, sites: readonly Site[], name: string): Site {
    const found = sites.filter(({ ips }) => ips[0].function === name);
    const places = new Set(found.map(({ ips }) => ips[0].address));
    if (places.size !== 1 || (found.length > 1 && !this.file.options.contexts))
      throw new RangeError(`${found.length} ${what} of ${name}`);
    const sum = { ...found[0] } as Record<string, unknown>;
    for (const other of found.slice(1))
      for (const [key, value] of Object.entries(other))
        if (typeof value === "number") sum[key] = Number(sum[key]) + value;
    return sum as unknown as Site;
  }

  /** "kind first second" → bytes. */
  get pairs(): Record<string, number> {
    const pairs: Record<string, number> = {};
    for (const { kind, first, origin, second, bytes } of this.file.pairs ?? []) {
      const table = kind === "redundant" ? this.file.loads : this.file.stores;
      const name = (index: number | undefined) =>
        index === undefined ? undefined : table[index].ips[0].function;
      pairs[[kind, name(first) ?? origin, name(second)].filter((part) => part !== undefined).join(" ")] =
        bytes;
    }
    return pairs;
  }
}

type RunWasteOptions = Pick<RunOptions, "traps" | "imports" | "onImport" | "typesOf">;

export function runWaste(
  module: Uint8Array,
  waste: WasteOptions = {},
  { traps = false, imports: others = {}, onImport = () => {}, typesOf }: RunWasteOptions = {},
): WasteFile {
  const { bytes, info } = instrument(module, { tools: ["waste"], waste, name: "test" });
  let exports: Record<string, (...operands: number[]) => void> = {};
  const imports: Record<string, Record<string, (...operands: never[]) => void>> = {
    wasi_snapshot_preview1: {
      fd_write: (address: number, size: number) => exports["memshade.waste.hostRead"](address, size),
      fd_read: (address: number, size: number) => exports["memshade.waste.hostWrote"](address, size),
    },
  };
  for (const name of Object.keys(others)) {
    const [from, field] = name.split(".");
    imports[from] = { ...imports[from], [field]: onImport };
  }
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), imports);
  exports = instance.exports as never;
  if (traps) expect(() => exports._start()).toThrow(WebAssembly.RuntimeError);
  else exports._start();
  const reader = wasteReader(instance.exports, info);
  const { engine, contexts, objects, compat } = reader.description;
  const options = { engine, contexts, objects, compat };
  const modules = [{ index: 0, info, original: module, contents: [reader.read(false)] }];
  return wasteFile(["test"], options, modules, undefined, typesOf);
}
