// Compiles the AssemblyScript code and embeds it as base64, so that it needs no file access and works in a browser too: the code that runs
// inside profiled modules, and the inner loops that read call frame information and recordings. Also writes the constants of the opcode
// table.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";
import { OPCODES, type OpcodeName, opcodeId } from "../src/code/wasm/opcodes.ts";
import { assemblyDigest, firstLine, staleFiles } from "./assembly-sources.ts";
import { writeLayouts } from "./build-layouts.ts";

const source = join(dirname(fileURLToPath(import.meta.url)), "../src");
const folder = mkdtempSync(join(tmpdir(), "memshade-build-"));
process.on("exit", () => rmSync(folder, { recursive: true }));
/** Settings of nearly every run: merged counters, the virtual clock, and no memory shared between threads. */
const USUAL = { EXACT: 0, HISTOGRAMS: 0, SHARED: 0, WALL_CLOCK: 0 };
/** Settings without recording of the host's call stacks. */
const NO_HOST = { HOST_STACKS: 0 };

interface Part {
  /** Folder of the sources and of the generated file, below `src/`. */
  folder: string;
  entry: string;
  target: string;
  constant: string;
  /** Imports of the part (`assembly/imports.ts`) that are constants in this part. */
  fixed?: Readonly<Record<string, number>>;
  /** True to optimise for size: most of the part runs rarely. */
  small?: boolean;
  /** Pages of the part's own memory; if absent, the memory is imported. */
  ownMemory?: number;
  /** Replacements of files below `src/`, with the same exports. */
  replaced?: Readonly<Record<string, string>>;
}

/** Replacements for the heap profiler inside native programs. */
const NATIVE_FRONT_END = Object.fromEntries(
  ["imports", "program", "places", "calls", "clock", "counter-memory", "marks", "work"].map((name) => [
    `record/tools/heap/assembly/${name}.ts`,
    `record/native/assembly/front-end/${name}.ts`,
  ]),
);

/** A tool's part is merged into a module only if the tool is requested. */
const PARTS: readonly Part[] = [
  {
    folder: "record/contexts",
    entry: "assembly/frames.ts",
    target: "frames.generated.ts",
    constant: "FRAMES_RUNTIME_BASE64",
  },
  {
    folder: "record/tools/heap",
    entry: "assembly/index.ts",
    target: "runtime.generated.ts",
    constant: "SHADOW_RUNTIME_BASE64",
    fixed: NO_HOST,
    small: true,
  },
  {
    folder: "record/tools/heap",
    entry: "assembly/index.ts",
    target: "runtime-hosted.generated.ts",
    constant: "HOSTED_RUNTIME_BASE64",
    small: true,
  },
  {
    folder: "record/tools/heap",
    entry: "assembly/index.ts",
    target: "runtime-usual.generated.ts",
    constant: "USUAL_RUNTIME_BASE64",
    fixed: { ...USUAL, ...NO_HOST },
    small: true,
  },
  {
    folder: "record/tools/heap",
    entry: "assembly/index.ts",
    target: "runtime-usual-hosted.generated.ts",
    constant: "USUAL_HOSTED_RUNTIME_BASE64",
    fixed: USUAL,
    small: true,
  },
  {
    folder: "record/tools/heap",
    entry: "assembly/heap.ts",
    target: "common-path.generated.ts",
    constant: "COMMON_PATH_BASE64",
    fixed: { ...USUAL, ...NO_HOST },
  },
  {
    folder: "record/native",
    entry: "assembly/index.ts",
    target: "runtime.generated.ts",
    constant: "NATIVE_RUNTIME_BASE64",
    replaced: NATIVE_FRONT_END,
  },
  {
    folder: "record/native",
    entry: "assembly/index.ts",
    target: "runtime-wall.generated.ts",
    constant: "NATIVE_WALL_RUNTIME_BASE64",
    replaced: {
      ...NATIVE_FRONT_END,
      "record/tools/heap/assembly/clock.ts": "record/native/assembly/front-end/wall-clock.ts",
    },
  },
  {
    folder: "record/tools/waste",
    entry: "assembly/summary/index.ts",
    target: "summary.generated.ts",
    constant: "WASTE_SUMMARY_BASE64",
  },
  {
    folder: "record/tools/waste",
    entry: "assembly/precise/index.ts",
    target: "precise.generated.ts",
    constant: "WASTE_PRECISE_BASE64",
  },
  {
    folder: "record/tools/working-set",
    entry: "assembly/index.ts",
    target: "working-set.generated.ts",
    constant: "WORKING_SET_RUNTIME_BASE64",
  },
  {
    folder: "record/native/tools/working-set",
    entry: "assembly/index.ts",
    target: "reader.generated.ts",
    constant: "MARK_READER_BASE64",
    replaced: {},
  },
  {
    folder: "record/tools/working-set/locality",
    entry: "assembly/index.ts",
    target: "locality.generated.ts",
    constant: "LOCALITY_RUNTIME_BASE64",
  },
  {
    folder: "record/tools/working-set/attribution",
    entry: "assembly/index.ts",
    target: "attribution.generated.ts",
    constant: "ATTRIBUTION_RUNTIME_BASE64",
  },
  {
    folder: "code/unwind",
    entry: "assembly/index.ts",
    target: "assembly.generated.ts",
    constant: "UNWIND_BASE64",
    ownMemory: 48,
  },
  {
    folder: "profile/formats/perf-data",
    entry: "assembly/index.ts",
    target: "assembly.generated.ts",
    constant: "PERF_RECORDS_BASE64",
    ownMemory: 16,
  },
  {
    folder: "names/stacks",
    entry: "assembly/index.ts",
    target: "assembly.generated.ts",
    constant: "SAMPLES_BASE64",
  },
];

/** Replaces some imported constants of a source by their values. */
function fix(source: string, fixed: Readonly<Record<string, number>>): string {
  return Object.entries(fixed).reduce((text, [name, value]) => {
    const declared = `export declare const ${name}: u32;`;
    if (!text.includes(declared)) throw new Error(`imports.ts does not import ${name}`);
    return text.replace(declared, `export const ${name}: u32 = ${value};`);
  }, source);
}

/** Computed before compiling, so that a source that changes meanwhile makes the result stale. */
const builtFrom = firstLine(assemblyDigest());

writeOpcodeConstants();
await writeLayouts(source, builtFrom);

/** Writes one constant per instruction, named as in the text format: `I32_ADD` is the id of `i32.add`. */
function writeOpcodeConstants(): void {
  const names = new Set(OPCODES.map(([, name]) => name as OpcodeName));
  const lines = [...names].map((name) => {
    const constant = name.toUpperCase().replaceAll(/[^A-Z0-9_]/g, "_");
    return `export const ${constant} = ${opcodeId(name)};\n`;
  });
  writeFileSync(join(source, "code/wasm/op.generated.ts"), `${builtFrom}\n${lines.join("")}`);
}

/** Text to compile for a file, usually its own. */
function textOf(path: string, { folder: room, fixed = {}, replaced = {} }: Part): string {
  const other = replaced[relative(source, path).replaceAll(sep, "/")];
  if (other !== undefined) {
    const from = relative(dirname(path), join(source, other)).replaceAll(sep, "/");
    return `export * from "${from.replace(/\.ts$/, "")}";\n`;
  }
  const text = readFileSync(path, "utf8");
  return path === join(source, room, "assembly/imports.ts") ? fix(text, fixed) : text;
}

for (const part of PARTS) {
  const { folder: room, entry, target, constant, small, ownMemory } = part;
  const home = join(source, room);
  const outFile = join(folder, `${constant}.wasm`);
  const { error, stderr } = await asc.main(
    [
      join(home, entry),
      "--outFile",
      outFile,
      "--runtime",
      "stub",
      "--noAssert",
      "--optimizeLevel",
      "3",
      "--converge",
      "--shrinkLevel",
      small === true ? "1" : "0",
      ...(ownMemory === undefined ? ["--importMemory"] : []),
      "--initialMemory",
      `${ownMemory ?? 1}`,
      "--enable",
      "simd",
      "--disableWarning",
      "201",
      ...(part.replaced === undefined ? [] : ["--enable", "threads"]),
    ],
    {
      readFile: (name, base) => {
        const path = resolve(base, name);
        return existsSync(path) ? textOf(path, part) : null;
      },
    },
  );
  if (error !== null) {
    process.stderr.write(stderr.toString());
    process.exit(1);
  }
  const base64 = readFileSync(outFile).toString("base64");
  writeFileSync(join(home, target), `${builtFrom}\nexport const ${constant} =\n  "${base64}";\n`);
}

// Files generated from older sources are removed first.
for (const path of staleFiles()) rmSync(join(source, "..", path));
