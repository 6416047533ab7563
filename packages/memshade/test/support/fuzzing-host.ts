import {
  decodeModule,
  F32,
  F64,
  formatType,
  I32,
  I64,
  type Import,
  V128,
  type WasmModule,
} from "../../src/code/wasm/index.ts";
import type { Host } from "./behaviour.ts";

/**
 * Limits of the number and depth of callbacks in one call. Binaryen bounds the loops and the recursion of its modules by traps, which
 * reset the bound. If the host catches the traps, a few functions that call back can run for years.
 */
const CALLBACKS = 200;
const DEEPEST = 10;

/** The host of binaryen's random modules: it logs, throws, and calls back the functions it gets. */
export function fuzzingHost(bytes: Uint8Array): Host {
  const module = decodeModule(bytes);
  const host = new FuzzingHost(module);
  const imports: Record<string, Record<string, unknown>> = {};
  for (const entry of module.imports) {
    imports[entry.module] ??= {};
    imports[entry.module][entry.field] ??=
      host.functions[entry.field] ?? (entry.kind === "function" ? host.log : valueFor(entry));
  }
  return {
    imports: imports as WebAssembly.Imports,
    state: { logged: host.logged },
    connect: (exports) => {
      host.exports = exports;
    },
    begin: () => {
      host.callbacks = CALLBACKS;
      host.depth = 0;
    },
    caughtTrap: () => host.caughtTrap,
  };
}

class FuzzingHost {
  readonly logged: string[] = [];
  readonly functions: Readonly<Record<string, unknown>>;
  readonly #names: readonly string[];
  exports: WebAssembly.Exports | undefined;
  callbacks = CALLBACKS;
  depth = 0;
  caughtTrap = false;

  constructor(module: WasmModule) {
    this.#names = module.exports.flatMap(({ kind, name }) => (kind === "function" ? [name] : []));
    const table = () => this.exports?.table as WebAssembly.Table | undefined;
    this.functions = {
      throw: (value: number) => {
        throw new Error(`thrown ${value}`);
      },
      sleep: (_ms: number, id: number) => id,
      "call-ref": (f: () => unknown) => this.#callBack(f),
      "call-ref-catch": (f: () => unknown) => this.#attempt(f),
      "call-export": (number: number) => this.#callBack(this.#exported(number)),
      "call-export-catch": (number: number) => this.#attempt(this.#exported(number)),
      "table-get": (index: number) => table()?.get(index >>> 0) ?? null,
      "table-set": (index: number, value: unknown) => table()?.set(index >>> 0, value),
      jstag: (WebAssembly as unknown as { JSTag: unknown }).JSTag,
    };
  }

  readonly log = (...values: unknown[]): void => {
    this.logged.push(values.map((v) => (typeof v === "object" ? "object" : String(v))).join());
  };

  #exported(number: number): () => unknown {
    const name = this.#names[(number >>> 0) % this.#names.length];
    return () => (this.exports as Record<string, () => unknown>)[name]();
  }

  #callBack(f: () => unknown): void {
    if (this.callbacks-- <= 0 || this.depth >= DEEPEST) throw new Error("called back too often");
    this.depth++;
    try {
      f();
    } finally {
      this.depth--;
    }
  }

  #attempt(f: () => unknown): number {
    if (this.callbacks <= 0) throw new Error("called back too often");
    try {
      this.#callBack(f);
      return 0;
    } catch (thrown) {
      this.caughtTrap ||= thrown instanceof WebAssembly.RuntimeError;
      return 1;
    }
  }
}

function valueFor(entry: Import): unknown {
  switch (entry.kind) {
    case "global": {
      const { type, mutable } = entry.global;
      const value = ({ [I32]: "i32", [I64]: "i64", [F32]: "f32", [F64]: "f64", [V128]: "v128" } as const)[
        type
      ];
      if (value !== undefined)
        return new WebAssembly.Global(
          { value: value as "i32", mutable },
          (value === "i64" ? 7n : 7) as number,
        );
      // A non-null reference: the value must match its heap type.
      return /ref (extern|exn|string)/.test(formatType(type))
        ? {}
        : /ref (any|eq|i31)/.test(formatType(type))
          ? 7
          : null;
    }
    case "memory":
      return new WebAssembly.Memory({
        initial: entry.memory.minimum,
        ...(entry.memory.maximum === undefined ? {} : { maximum: entry.memory.maximum }),
        shared: entry.memory.shared,
      });
    case "table":
      return new WebAssembly.Table({
        initial: entry.table.minimum,
        ...(entry.table.maximum === undefined ? {} : { maximum: entry.table.maximum }),
        element: "anyfunc",
      });
    default:
      return new WebAssembly.Tag({ parameters: ["i32"] });
  }
}
