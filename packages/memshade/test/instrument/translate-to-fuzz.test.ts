import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { describe, expect, it } from "vitest";
import {
  decodeModule,
  F32,
  F64,
  formatType,
  functionType,
  I32,
  I64,
  type Import,
  V128,
} from "../../src/wasm/index.ts";
import { binaryenTool } from "./support/assemble.ts";
import { type Call, expectTransparent, type Host } from "./support/behaviour.ts";
import { Choices } from "./support/random-module.ts";

/** First seed and number of seeds, to try others than the ones that run every time. */
const FIRST = Number(process.env.MEMSHADE_SEED ?? 1);
const COUNT = Number(process.env.MEMSHADE_RUNS ?? 6);

const FEATURES = [
  ...[
    "simd",
    "threads",
    "bulk-memory",
    "exception-handling",
    "multivalue",
    "tail-call",
    "reference-types",
    "gc",
  ],
  ...["sign-ext", "mutable-globals", "nontrapping-float-to-int", "extended-const", "multimemory"],
];
setFlagsFromString("--experimental-wasm-exnref");

const wasmOpt = binaryenTool("wasm-opt");
if (wasmOpt === undefined)
  console.warn("SKIPPED: binaryen is not installed, its generator of random modules cannot be run");

/** Binaryen's random module for a seed. */
function generate(seed: number): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), "memshade-fuzz-"));
  try {
    const choices = new Choices(seed);
    const input = Uint8Array.from({ length: 2000 + choices.below(20_000) }, () => choices.below(256));
    const [source, target] = [join(folder, "input"), join(folder, "module.wasm")];
    writeFileSync(source, input);
    const options = [
      ...["-ttf", source, "-o", target, "--denan", "-mvp"],
      ...FEATURES.map((feature) => `--enable-${feature}`),
      ...(seed % 3 === 0 ? [] : ["--no-fuzz-oob"]),
    ];
    // It warns of every constant expression that it leaves alone.
    execFileSync(process.execPath, [wasmOpt as string, ...options], { stdio: "ignore" });
    return new Uint8Array(readFileSync(target));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The host of binaryen's modules: logs, throws, and calls back what it is given. */
function fuzzingSupport(bytes: Uint8Array): Host {
  const logged: string[] = [];
  const log = (...values: unknown[]) =>
    void logged.push(values.map((v) => (typeof v === "object" ? "object" : String(v))).join());
  const attempt = (f: () => unknown): number => {
    try {
      f();
      return 0;
    } catch {
      return 1;
    }
  };
  const support: Record<string, unknown> = {
    throw: (value: number) => {
      throw new Error(`thrown ${value}`);
    },
    sleep: (_ms: number, id: number) => id,
    "call-ref": (f: () => unknown) => void f(),
    "call-ref-catch": (f: () => unknown) => attempt(f),
    "table-get": () => null,
    jstag: (WebAssembly as unknown as { JSTag: unknown }).JSTag,
  };
  const imports: Record<string, Record<string, unknown>> = {};
  for (const entry of decodeModule(bytes).imports) {
    imports[entry.module] ??= {};
    imports[entry.module][entry.field] =
      support[entry.field] ?? (entry.kind === "function" ? log : valueFor(entry));
  }
  return { imports: imports as WebAssembly.Imports, state: { logged } };
}

/** Something to import that is no function. */
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
      // A reference that is not null: what fits depends on its heap type.
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

/** Every exported function, called with small numbers and null references. */
function callsOf(bytes: Uint8Array, seed: number): Call[] {
  const module = decodeModule(bytes);
  const choices = new Choices(seed);
  const functions = module.exports.filter(({ kind }) => kind === "function");
  return [...functions, ...functions].map(({ name, index }): Call => {
    const operands = functionType(module, index).params.map((type) => {
      const number = choices.below(1000);
      if (type === I64) return BigInt(number);
      return type > 0x70 && type < 0x80 ? number : null;
    });
    return [name, ...operands];
  });
}

/** Two functions that could be malloc and free, by index. */
function allocatorOf(bytes: Uint8Array): string | undefined {
  const module = decodeModule(bytes);
  const ofType = (params: string, results: string) =>
    module.bodies.findIndex((_, i) => {
      const type = functionType(module, i + module.importedFunctionCount);
      return type.params.join() === params && type.results.join() === results;
    }) + module.importedFunctionCount;
  const [malloc, free] = [ofType("127", "127"), ofType("127", "")];
  const first = module.importedFunctionCount;
  if (malloc < first || module.bodies.length === 0) return undefined;
  return free < first ? `malloc=#${malloc}` : `malloc=#${malloc},free=#${free}`;
}

/** Some trap in their start function, or ask for what no host can give. */
function starts(bytes: Uint8Array): boolean {
  try {
    new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), fuzzingSupport(bytes).imports);
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(wasmOpt === undefined)("modules that binaryen makes up", () => {
  it(`do and count what they should, however they are instrumented (${COUNT} of them)`, () => {
    let accesses = 0;
    for (let seed = FIRST; seed < FIRST + COUNT; seed++) {
      const bytes = generate(seed);
      expect(WebAssembly.validate(bytes as BufferSource), `seed ${seed}`).toBe(true);
      if (!starts(bytes)) continue;
      const allocator = allocatorOf(bytes);
      const options = {
        host: () => fuzzingSupport(bytes),
        ...(allocator === undefined ? {} : { allocator }),
      };
      try {
        accesses += expectTransparent(bytes, callsOf(bytes, seed), options).total;
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message.slice(0, 2000)}`, { cause: error });
      }
    }
    expect(accesses).toBeGreaterThan(0);
  });
});
