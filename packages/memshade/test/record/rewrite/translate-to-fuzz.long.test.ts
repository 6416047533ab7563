import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { describe, expect, it } from "vitest";
import { decodeModule, functionType, I64 } from "../../../src/code/wasm/index.ts";
import { binaryenTool } from "../../support/assemble.ts";
import { behaviourOf, type Call, expectTransparent } from "../../support/behaviour.ts";
import { fuzzingHost } from "../../support/fuzzing-host.ts";
import { Choices } from "../../support/random-module.ts";
import { expectAgreement, expectSameBehaviour, expectSameResults } from "../../support/recorded.ts";
import { isThorough, SEARCH_TIMEOUT, trySeeds } from "../../support/seeds.ts";
import { heapVariants, some, TOOL_VARIANTS } from "../../support/tool-variants.ts";

const FEATURES = [
  "simd",
  "threads",
  "bulk-memory",
  "exception-handling",
  "multivalue",
  "tail-call",
  "reference-types",
  "gc",
  "sign-ext",
  "mutable-globals",
  "nontrapping-float-to-int",
  "extended-const",
  "multimemory",
];
setFlagsFromString("--experimental-wasm-exnref");

const wasmOpt = binaryenTool("wasm-opt");
if (wasmOpt === undefined)
  console.warn("SKIPPED: binaryen is not installed, its generator of random modules cannot be run");

function generate(seed: number): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), "memshade-fuzz-"));
  try {
    const choices = new Choices(seed);
    const input = Uint8Array.from({ length: 2000 + choices.below(20_000) }, () => choices.below(256));
    const [source, target] = [join(folder, "input"), join(folder, "module.wasm")];
    writeFileSync(source, input);
    const options = [
      "-ttf",
      source,
      "-o",
      target,
      "--denan",
      "-mvp",
      ...FEATURES.map((feature) => `--enable-${feature}`),
      ...(seed % 3 === 0 ? [] : ["--no-fuzz-oob"]),
    ];
    // wasm-opt warns of every constant expression that it leaves unchanged.
    execFileSync(process.execPath, [wasmOpt as string, ...options], { stdio: "ignore" });
    return new Uint8Array(readFileSync(target));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

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

/** Indices of two functions with the types of malloc and free, as an option. */
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

/** False for modules that trap in their start function, or import something that no host can provide. */
function starts(bytes: Uint8Array): boolean {
  try {
    new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), fuzzingHost(bytes).imports);
    return true;
  } catch {
    return false;
  }
}

/** Calls that do not trap: only without traps, all ways to count give the same figures. */
function callsThatEnd(bytes: Uint8Array, calls: readonly Call[]): readonly Call[] {
  const host = fuzzingHost(bytes);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), host.imports);
  host.connect?.(instance.exports);
  const { results, trapped } = behaviourOf(instance, calls, host);
  if (!trapped) return calls;
  const ended = calls.filter((_, i) => !results[i].startsWith("trap"));
  // If the host caught a trap, the call that trapped is unknown.
  return callsThatEnd(bytes, ended.length < calls.length ? ended : calls.slice(0, calls.length >> 1));
}

describe.skipIf(wasmOpt === undefined)("modules that binaryen makes up", () => {
  it(
    "do and count what they should, however they are instrumented",
    () => {
      const seen = { started: 0, accesses: 0, runs: 0 };
      const { first, last } = trySeeds(6, (seed) => {
        const bytes = generate(seed);
        expect(WebAssembly.validate(bytes as BufferSource)).toBe(true);
        if (!starts(bytes)) return;
        seen.started++;
        const host = () => fuzzingHost(bytes);
        const calls = callsOf(bytes, seed);
        const allocator = allocatorOf(bytes);
        const tools = some(TOOL_VARIANTS, seed);
        const all = [...tools, ...(allocator === undefined ? [] : some(heapVariants(allocator), seed))];
        if (!isThorough(seed)) {
          expectSameResults(bytes, calls, all, host);
          seen.runs += all.length;
          return;
        }
        const options = { host, ...(allocator === undefined ? {} : { allocator }) };
        const ended = callsThatEnd(bytes, calls);
        expectTransparent(bytes, calls, options);
        seen.accesses += expectTransparent(bytes, ended, options).total;
        expectSameBehaviour(bytes, calls, all, host);
        expectAgreement(bytes, ended, tools, host);
        seen.runs += all.length + tools.length;
      });
      const { started, accesses, runs } = seen;
      console.info(
        `seeds ${first} to ${last}: ${started} modules started, ${runs} runs with tools, ${accesses} accesses`,
      );
      if (started >= 6) expect(runs).toBeGreaterThan(0);
    },
    SEARCH_TIMEOUT,
  );
});
