import { readFileSync } from "node:fs";
import { hideAddedExports, rewrite, VARIANTS, type Variant } from "../../../../bench/harness/substitution.ts";
import { MemoryWasi, programFrames, type WasiEnd, type WasiOptions } from "../../../../bench/harness/wasi.ts";
import { decodeModule } from "../../src/code/wasm/index.ts";

const PROGRAMS = new URL("../fixtures/programs/", import.meta.url);

/** Variants of instrumentation, none of which may change a program's behaviour. */
export const INSTRUMENTED: readonly Variant[] = (Object.keys(VARIANTS) as Variant[]).filter(
  (variant) => variant !== "plain" && !variant.startsWith("workingset ") && !variant.endsWith(" again"),
);

export function programBytes(path: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(`${path}.wasm`, PROGRAMS)));
}

export function programText(path: string): string {
  return readFileSync(new URL(`${path}.wat`, PROGRAMS), "utf8");
}

const compiled = new Map<string, WebAssembly.Module>();

/** Compiles a program in one variant, once. */
export function compileProgram(path: string, variant: Variant): WebAssembly.Module {
  const key = `${path} ${variant}`;
  let module = compiled.get(key);
  if (module === undefined) {
    const name = `${path.split("/").at(-1)}.wasm`;
    module = new WebAssembly.Module(rewrite(programBytes(path), variant, { name }) as BufferSource);
    compiled.set(key, module);
  }
  return module;
}

export function instantiate(module: WebAssembly.Module, imports: WebAssembly.Imports): WebAssembly.Instance {
  return hideAddedExports(new WebAssembly.Instance(module, imports));
}

export interface WasiRun {
  stdout: string;
  stderr: string;
  end: WasiEnd;
  memoryBytes: number;
  exports: string[];
}

export function runWasi(path: string, variant: Variant, options: Partial<WasiOptions> = {}): WasiRun {
  const wasi = new MemoryWasi({ args: [path, ...(options.args ?? [])], ...pick(options) });
  const instance = instantiate(compileProgram(path, variant), wasi.imports);
  const end = wasi.start(instance);
  return {
    stdout: Buffer.from(wasi.output(1)).toString(),
    stderr: Buffer.from(wasi.output(2)).toString(),
    end: endInProgram(end, functionCount(path)),
    memoryBytes: (instance.exports.memory as WebAssembly.Memory).buffer.byteLength,
    exports: Object.keys(instance.exports),
  };
}

function pick({ env, stdin }: Partial<WasiOptions>): Partial<WasiOptions> {
  return { ...(env && { env }), ...(stdin && { stdin }) };
}

/** Removes the depth of endless recursion, which depends on the engine; the end of the run, its position and kind depend on the program. */
function endInProgram(end: WasiEnd, functions: number): WasiEnd {
  return end.kind === "exit" ? end : { ...end, frames: programFrames(end.frames, functions) };
}

/** Number of functions of a program before instrumentation, including imports. */
export function functionCount(path: string): number {
  const module = decodeModule(programBytes(path));
  return module.importedFunctionCount + module.functions.length;
}

/** One site of a program's own account, see `fixtures/programs/allocation/ledger.h`. */
export interface SiteTruth {
  site: string;
  allocations: number;
  bytes: number;
  released: number;
  releasedBytes: number;
  accesses?: number;
}

/** The account that programs under `allocation/` print, by site; `*` is the sum. */
export function readTruth(stdout: string): Map<string, SiteTruth> {
  const lines = stdout.split("\n").filter((line) => line.startsWith('{"site"'));
  return new Map(lines.map((line) => JSON.parse(line) as SiteTruth).map((truth) => [truth.site, truth]));
}
