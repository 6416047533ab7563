import { existsSync, readFileSync } from "node:fs";
import { brotli } from "../workloads/brotli.ts";
import { duckdbEh, duckdbMvp } from "../workloads/duckdb.ts";
import { esbuild } from "../workloads/esbuild.ts";
import { graphviz } from "../workloads/graphviz.ts";
import { hashWasm } from "../workloads/hash-wasm.ts";
import { jq } from "../workloads/jq.ts";
import { quickjs } from "../workloads/quickjs.ts";
import { rapier } from "../workloads/rapier.ts";
import { resvg } from "../workloads/resvg.ts";
import { ruby } from "../workloads/ruby.ts";
import { sqliteWasm } from "../workloads/sqlite-wasm.ts";
import { sqljs } from "../workloads/sqljs.ts";
import { tiktoken } from "../workloads/tiktoken.ts";
import { treeSitter } from "../workloads/tree-sitter.ts";
import { isInstalled, type Scale, type Workload } from "../workloads/workload.ts";
import { yoga } from "../workloads/yoga.ts";
import { zstd } from "../workloads/zstd.ts";
import { MemoryWasi } from "./wasi.ts";

const KERNEL_FOLDER = new URL("../../packages/memshade/test/fixtures/programs/kernels/", import.meta.url);

/** Arguments with which a plain run takes 70–170 ms on the machines of RESULTS.md, and a few milliseconds. */
const KERNEL_ARGUMENTS: Record<string, Record<Scale, string[]>> = {
  matrix: { full: ["320", "8"], small: ["48", "4"] },
  stencil: { full: ["500", "500"], small: ["48", "10"] },
  graph: { full: ["50000", "60"], small: ["1000", "4"] },
  bintree: { full: ["16"], small: ["8"] },
  hashmap: { full: ["800000"], small: ["10000"] },
  stl: { full: ["150000"], small: ["1000"] },
  parser: { full: ["2500", "80"], small: ["100", "2"] },
  simd: { full: ["512", "400"], small: ["64", "8"] },
  floyd: { full: ["512", "2"], small: ["48", "1"] },
  core: { full: ["2000"], small: ["20"] },
};

const DEBIAN_FOLDER = new URL("../debian/built/", import.meta.url);

/** The same for programs over Debian source packages; see `bench/debian/build.ts`. */
const DEBIAN_ARGUMENTS: Record<string, Record<Scale, string[]>> = {
  sqlite: { full: ["25000"], small: ["200"] },
  zstd: { full: ["3000000"], small: ["30000"] },
  zlib: { full: ["2000000"], small: ["20000"] },
  lua: { full: ["12"], small: ["1"] },
};

/** A WASI program as a workload: a fresh instance each run, with its output and its end as the result. */
function wasiProgram(name: string, file: URL, args: Record<Scale, string[]>): Workload {
  return {
    name,
    files: () => {
      if (!existsSync(file)) throw new Error(`${file.pathname} is missing`);
      return [{ wasm: file.pathname }];
    },
    load: async () => {
      const module = new WebAssembly.Module(readFileSync(file));
      return {
        run: (scale): string => {
          const wasi = new MemoryWasi({ args: [name, ...args[scale]] });
          const end = wasi.start(new WebAssembly.Instance(module, wasi.imports));
          return `${Buffer.from(wasi.output(1))}${JSON.stringify(end)}`;
        },
      };
    },
  };
}

const kernels = (...names: string[]): Workload[] =>
  names.map((name) =>
    wasiProgram(
      name,
      new URL(`${name}.wasm`, KERNEL_FOLDER),
      KERNEL_ARGUMENTS[name] as Record<Scale, string[]>,
    ),
  );

/** Small programs of our own, in a separate table: means of real programs exclude them. */
export const KERNELS: readonly Workload[] = kernels(
  "matrix",
  "stencil",
  "graph",
  "bintree",
  "hashmap",
  "stl",
  "parser",
  "simd",
  "floyd",
  "core",
);

/** Modules from npm, through their own JavaScript. */
export const MODULES: readonly Workload[] = [sqljs, zstd, treeSitter, quickjs, resvg, sqliteWasm, tiktoken];

/** C libraries from Debian, compiled by clang without further processing. */
const C_PROGRAMS: readonly Workload[] = Object.entries(DEBIAN_ARGUMENTS).map(([name, args]) =>
  wasiProgram(`c-${name}`, new URL(`${name}.wasm`, DEBIAN_FOLDER), args),
);

/** Real programs that are measured only before a release: no decision may follow from one of them. */
const APART: readonly Workload[] = [yoga, brotli, rapier, graphviz, hashWasm, jq];

export const SUITES = { real: [...MODULES, ...C_PROGRAMS], apart: APART, kernels: KERNELS } as const;
export type Suite = keyof typeof SUITES;

/** Modules of 14 to 40 MB, installed in this folder only: for the speed of rewriting. */
export const LARGE: readonly Workload[] = [ruby, esbuild, duckdbEh, duckdbMvp];

export const ALL: readonly Workload[] = [...Object.values(SUITES).flat(), ...LARGE];

export function findWorkload(name: string): Workload | undefined {
  return ALL.find((workload) => workload.name === name);
}

export type { Scale, Workload };
export { isInstalled };
