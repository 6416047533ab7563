/**
 * What recording a native program costs: `memshade run PROGRAM` over the program alone, processor time (user and system, with
 * children) of whole commands and the largest process, in alternation, each in a new folder. Outputs are compared.
 * Needs `/usr/bin/time` (GNU).
 *
 *     node bench/native/run.ts [--pairs 5] [--only NAME]… [--apart] [--peers] [--write] [--tool NAME]
 *
 * `--tool`: the programs are rewritten by that tool. `--apart`: with the programs that are looked at before a release only. `--peers`: heaptrack and Valgrind's DHAT, where they are
 * installed, once each. `--write`: with those kept apart, to NATIVE.md beside this folder, and the mean to docs/costs.md.
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
import { type NativeProgram, PROGRAMS } from "./programs.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MEMSHADE = [process.execPath, join(ROOT, "packages/memshade/bin/memshade.js")];
const PEERS: Readonly<Record<string, readonly string[]>> = {
  heaptrack: ["heaptrack", "--record-only", "-o", "out"],
  DHAT: ["valgrind", "--tool=dhat", "--dhat-out-file=out"],
};

/** The slowest take minutes for a program of two seconds; longer ones have given up. */
const PEER_LIMIT = ["timeout", "-k", "5", "300"];

interface Row {
  program: NativeProgram;
  plain: Pick<Cost, "seconds" | "mebibytes">;
  /** undefined: the tool records no blocks */
  allocations: number | undefined;
  ratio: number;
  mebibytes: number;
  /** By name; undefined where it is not installed, or gives up. */
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
  },
});

function measure(program: NativeProgram, folder: string): Row | undefined {
  const command = program.command(folder);
  if (command === undefined) return undefined;
  const out = join(folder, program.name);
  const tool = values.tool === undefined ? [] : ["--tool", values.tool];
  const recording = [...MEMSHADE, "run", "--quiet", ...tool, "--out", out, ...command];
  const run = (all: readonly string[]) => costOf(all, program.input);
  // The first run makes tables, and has the files in memory.
  const expected = run(command).output;
  run(recording);
  const { heap } = JSON.parse(readFileSync(join(out, "run.json"), "utf8"));
  const pairs = Array.from({ length: Number(values.pairs) }, () => {
    const pair = { plain: run(command), recorded: run(recording) };
    if (pair.recorded.output !== expected) throw new Error(`${program.name}: other output when recorded`);
    return pair;
  });
  const middle = (of: (pair: (typeof pairs)[number]) => number) => median(pairs.map(of));
  const seconds = middle(({ plain }) => plain.seconds);
  return {
    program,
    plain: { seconds, mebibytes: middle(({ plain }) => plain.mebibytes) },
    allocations: heap?.allocations,
    ratio: middle(({ plain, recorded }) => recorded.seconds / plain.seconds),
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
  const cells = ({ program, plain, allocations, ratio, mebibytes, peers: theirs }: Row) => [
    `${program.name}${program.isApart ? " (apart)" : ""}`,
    `${plain.seconds.toFixed(2)} s, ${plain.mebibytes.toFixed(0)} MiB`,
    allocations === undefined ? "–" : `${(allocations / 1e6).toFixed(2)} million`,
    `${times(ratio)}, ${mebibytes.toFixed(0)} MiB`,
    ...peers.map((name) => times(theirs[name])),
  ];
  const mean = (of: (row: Row) => number | undefined) =>
    times(geometricMean(rows.flatMap((row) => of(row) ?? [])));
  return [
    line(["program", "alone", "allocations", "recorded", ...peers]),
    line(["---", "--:", "--:", "--:", ...peers.map(() => "--:")]),
    ...rows.map((row) => line(cells(row))),
    line([
      ...["geometric mean", "", "", mean(({ ratio }) => ratio)],
      ...peers.map((name) => mean((row) => row.peers[name])),
    ]),
  ].join("\n");
}

/** Puts a text between marks that a file has for it. */
function writeBetweenMarks(path: string, text: string): void {
  const [begin, end] = ["<!-- native -->", "<!-- native ends -->"];
  const parts = readFileSync(path, "utf8").split(new RegExp(`(?<=${begin})[^]*(?=${end})`));
  if (parts.length !== 2) throw new Error(`${path} has no ${begin} … ${end}`);
  writeFileSync(path, parts.join(text));
}

const folder = mkdtempSync(join(tmpdir(), "native-bench-"));
try {
  const chosen = PROGRAMS.filter(({ name, isApart }) =>
    values.only === undefined ? values.apart || values.write || !isApart : values.only.includes(name),
  );
  const rows = chosen.flatMap((program) => {
    console.error(`native: ${program.name}`);
    const row = measure(program, folder);
    if (row === undefined)
      console.error(`native: ${program.name} is SKIPPED, not installed (${program.package})`);
    return row ?? [];
  });
  const text = table(rows);
  console.log(text);
  if (values.write) {
    const report = `# Native programs

${machine()}

Processor time of the whole command \`memshade run --quiet PROGRAM\` over that of the program alone, and the largest process of each: medians of
${values.pairs} pairs in alternation; tables for walking were made before. The programs are Debian's, the work is in [native](native/programs.ts); those
kept apart were looked at when the figures were taken only.${values.peers ? " Heaptrack and DHAT ran once." : ""}

${text}
`;
    writeFileSync(join(ROOT, "bench/NATIVE.md"), report);
    writeBetweenMarks(join(ROOT, "docs/costs.md"), geometricMean(rows.map(({ ratio }) => ratio)).toFixed(1));
  }
} finally {
  rmSync(folder, { recursive: true });
}
