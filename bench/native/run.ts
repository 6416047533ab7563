/**
 * Measures the cost of recording a native program: `memshade run PROGRAM` over the program alone, processor time (user and system, with
 * children) of whole commands and the largest process. Runs alternate, each in a new folder. Outputs are compared.
 * Needs `/usr/bin/time` (GNU).
 * node bench/native/run.ts [--pairs 5] [--only NAME]… [--apart] [--peers] [--write] [--tool NAME [--who]]
 * `--tool`: heap, waste or workingset; programs are rewritten by this tool, and small kernels (`kernels/`) are added. Columns give the cost
 * of
 * rewriting alone, and of the tool's code without memshade around it. `--who`: with the owners of a working set. `--apart`: with the
 * programs that
 * are measured only before a release. `--peers`: heaptrack, Valgrind's DHAT and memcheck, if installed, once each. `--write`: includes `--apart`,
 * writes a section of
 * NATIVE.md next to this folder, and without a tool the mean to docs/costs.md.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { machine } from "../harness/machine.ts";
import { geometricMean, median } from "../harness/statistics.ts";
import { type Cost, costOf } from "../harness/whole-command.ts";
import { RewrittenFiles } from "../rewrite/rewritten-files.ts";
import { type InPlace, inPlace } from "./in-place.ts";
import { KERNELS, type NativeProgram, PROGRAMS } from "./programs.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MEMSHADE = [process.execPath, join(ROOT, "packages/memshade/bin/memshade.js")];
const PEERS: Readonly<Record<string, readonly string[]>> = {
  heaptrack: ["heaptrack", "--record-only", "-o", "out"],
  DHAT: ["valgrind", "--tool=dhat", "--dhat-out-file=out"],
  memcheck: ["valgrind", "--leak-check=full", "--log-file=out"],
};

const TOOLS = { heap: "heap", waste: "waste", workingset: "working-set" } as const;

/** Time limit of peers. The slowest take minutes for a program of two seconds; longer runs have failed. */
const PEER_LIMIT = ["timeout", "-k", "5", "300"];

interface Row {
  program: NativeProgram;
  plain: Pick<Cost, "seconds" | "mebibytes">;
  /** undefined: the tool records no blocks */
  allocations: number | undefined;
  ratio: number;
  /** Ratios of the rewritten files under the same launcher; undefined if no tool is chosen. */
  parts: Record<keyof InPlace, number> | undefined;
  mebibytes: number;
  /** Ratios of peers by name; undefined if a peer is not installed or fails. */
  peers: Record<string, number | undefined>;
}

const { values } = parseArgs({
  options: {
    pairs: { type: "string", default: "5" },
    only: { type: "string", multiple: true },
    apart: { type: "boolean", default: false },
    peers: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    tool: { type: "string" },
    who: { type: "boolean", default: false },
  },
});

const tool = values.tool as keyof typeof TOOLS | undefined;
if (tool !== undefined && !(tool in TOOLS)) {
  console.error("Use: --tool heap, waste or workingset");
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "native-bench-"));
/** Rewritten files are shared by all programs, because many load the same libraries. */
const plain = new RewrittenFiles(join(folder, "rewritten"), () => []);

async function measure(program: NativeProgram): Promise<Row | undefined> {
  const command = program.command(folder);
  if (command === undefined) return undefined;
  const out = join(folder, `profile-${program.name}`);
  const chosen = tool === undefined ? [] : ["--tool", tool, ...(values.who ? ["--who"] : [])];
  const recording = [...MEMSHADE, "run", "--quiet", ...chosen, "--out", out, ...command];
  const run = (all: readonly string[], launcher?: readonly string[]) => costOf(all, program.input, launcher);
  const how = tool && { tool: TOOLS[tool], plain };
  const launchers = how && (await inPlace(command, program.input, folder, how));
  // The first run builds tables and loads the files into memory.
  const expected = run(command).output;
  run(recording);
  const { heap } = JSON.parse(readFileSync(join(out, "run.json"), "utf8"));
  const pairs = Array.from({ length: Number(values.pairs) }, () => {
    const all = {
      plain: run(command),
      rewritten: launchers && run(command, launchers.rewritten),
      inserted: launchers && run(command, launchers.inserted),
      recorded: run(recording),
    };
    for (const [how, cost] of Object.entries(all))
      if (cost !== undefined && cost.output !== expected)
        throw new Error(`${program.name}: other output when ${how}`);
    return all;
  });
  const middle = (of: (pair: (typeof pairs)[number]) => number) => median(pairs.map(of));
  const seconds = middle(({ plain }) => plain.seconds);
  const part = (name: keyof InPlace) => middle((all) => all[name]!.seconds / all.plain.seconds);
  return {
    program,
    plain: { seconds, mebibytes: middle(({ plain }) => plain.mebibytes) },
    allocations: heap?.allocations,
    ratio: middle(({ plain, recorded }) => recorded.seconds / plain.seconds),
    parts: launchers && { rewritten: part("rewritten"), inserted: part("inserted") },
    mebibytes: middle(({ recorded }) => recorded.mebibytes),
    peers: values.peers ? peersOf(command, program, seconds) : {},
  };
}

function peersOf(command: readonly string[], { input }: NativeProgram, seconds: number): Row["peers"] {
  return Object.fromEntries(
    Object.entries(PEERS).map(([name, prefix]) => {
      if (spawnSync(prefix[0], ["--version"], { stdio: "ignore" }).status !== 0) return [name, undefined];
      try {
        return [name, costOf([...PEER_LIMIT, ...prefix, ...command], input).seconds / seconds];
      } catch {
        return [name, undefined];
      }
    }),
  );
}

function table(rows: readonly Row[]): string {
  const peers = Object.keys(rows[0]?.peers ?? {});
  const times = (ratio: number | undefined) => (ratio === undefined ? "–" : `${ratio.toFixed(2)}x`);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const partNames = Object.keys(rows[0]?.parts ?? {}) as (keyof InPlace)[];
  const cells = ({ program, plain, allocations, ratio, parts, mebibytes, peers: theirs }: Row) => [
    `${program.name}${program.isApart ? " (apart)" : ""}`,
    `${plain.seconds.toFixed(2)} s, ${plain.mebibytes.toFixed(0)} MiB`,
    allocations === undefined ? "–" : `${(allocations / 1e6).toFixed(2)} million`,
    ...partNames.map((name) => times(parts?.[name])),
    `${times(ratio)}, ${mebibytes.toFixed(0)} MiB`,
    ...peers.map((name) => times(theirs[name])),
  ];
  const means = (name: string, some: readonly Row[]) => {
    const mean = (of: (row: Row) => number | undefined) =>
      times(geometricMean(some.flatMap((row) => of(row) ?? [])));
    return line([
      name,
      "",
      "",
      ...partNames.map((part) => mean(({ parts }) => parts?.[part])),
      mean(({ ratio }) => ratio),
      ...peers.map((peer) => mean((row) => row.peers[peer])),
    ]);
  };
  const counted = countedIn(rows);
  const real = counted.filter(({ program }) => !KERNELS.includes(program));
  const names = ["program", "alone", "allocations", ...partNames, "recorded", ...peers];
  return [
    line(names),
    line(names.map((_, i) => (i === 0 ? "---" : "--:"))),
    ...rows.map((row) => line(cells(row))),
    ...(real.length === 0 ? [] : [means("geometric mean", real)]),
    ...(real.length === counted.length ? [] : [means("with kernels", counted)]),
  ].join("\n");
}

/** Rows that means cover: the held-out programs only if there are no others. */
function countedIn(rows: readonly Row[]): readonly Row[] {
  const some = rows.filter(({ program }) => !program.isApart);
  return some.length > 0 ? some : rows;
}

const INTRODUCTION = `# Native programs

Processor time of the whole command \`memshade run --quiet PROGRAM\` over that of the program alone, and the largest process of each: medians of
pairs in alternation, with all tables, and all files that a tool rewrites, made before. The programs are Debian's, the work is in
[native](native/programs.ts); the kernels (matrix, hashmap, trees, sieve, words) are [our own](native/kernels). Those kept apart were looked at when the
figures were taken only, and are not in the means. Of tools that rewrite: \`rewritten\` has nothing inserted, \`inserted\` is the tool's code with nothing
recorded.
`;

/** Puts a section into NATIVE.md, or replaces the section of this name. */
function writeSection(name: string, body: string): void {
  const path = join(ROOT, "bench/NATIVE.md");
  const sections = new Map(
    readFileSync(path, "utf8")
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.split("\n", 1)[0], section.slice(section.indexOf("\n") + 1).trim()]),
  );
  sections.set(name, body);
  const all = [...sections].map(([heading, text]) => `## ${heading}\n\n${text}\n`);
  writeFileSync(path, [INTRODUCTION, ...all].join("\n"));
}

/** Puts a text between its marks in a file. */
function writeBetweenMarks(path: string, text: string): void {
  const [begin, end] = ["<!-- native -->", "<!-- native ends -->"];
  const parts = readFileSync(path, "utf8").split(new RegExp(`(?<=${begin})[^]*(?=${end})`));
  if (parts.length !== 2) throw new Error(`${path} has no ${begin} … ${end}`);
  writeFileSync(path, parts.join(text));
}

try {
  const all = tool === undefined ? PROGRAMS : [...PROGRAMS, ...KERNELS];
  const chosen = all.filter(({ name, isApart }) =>
    values.only === undefined ? values.apart || values.write || !isApart : values.only.includes(name),
  );
  const rows: Row[] = [];
  for (const program of chosen) {
    console.error(`native: ${program.name}`);
    const row = await measure(program);
    if (row !== undefined) rows.push(row);
    else console.error(`native: ${program.name} is SKIPPED, not installed (${program.package})`);
  }
  const text = table(rows);
  console.log(text);
  if (values.write) {
    const name = tool === undefined ? "Allocations" : `--tool ${tool}${values.who ? " --who" : ""}`;
    const peers = values.peers ? " The other tools ran once." : "";
    writeSection(name, `${machine()} Pairs: ${values.pairs}.${peers}\n\n${text}`);
    if (tool === undefined)
      writeBetweenMarks(
        join(ROOT, "docs/costs.md"),
        geometricMean(countedIn(rows).map(({ ratio }) => ratio)).toFixed(1),
      );
  }
} finally {
  rmSync(folder, { recursive: true });
}
