/**
 * Measures the cost of rewriting native programs. Five Debian programs (`native/programs.ts`) are rewritten with all libraries that
 * they load, into a temporary folder: once without inserted code, and once with counters of heap accesses (`native/tools/heap`). They
 * run in a mount namespace in place of the originals. Figures are processor time of whole commands, in alternation with
 * the originals, as medians of the ratios. Exit code 1 if a program fails or its output differs. Linux on x86-64 with glibc;
 * needs `/usr/bin/time` (GNU), `unshare` and `mount`.
 * node bench/rewrite/run.ts [--pairs 5] [PROGRAM]…
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { loaderCopy } from "../../packages/memshade/src/record/native/rewritten/loader-copy.ts";
import { nativeHeap } from "../../packages/memshade/src/record/native/tools/heap.ts";
import { machine } from "../harness/machine.ts";
import { geometricMean, median } from "../harness/statistics.ts";
import { costOf } from "../harness/whole-command.ts";
import { type NativeProgram, PROGRAMS } from "../native/programs.ts";
import { checkCounters } from "./check-counters.ts";
import { inPlaceOf, type Mount } from "./namespace.ts";
import { loadedFiles, type Replacement, RewrittenFiles } from "./rewritten-files.ts";

const COLUMNS = [
  "program",
  "code",
  "rewriting",
  "new text",
  "no room",
  "left alone",
  "rewritten",
  "counting",
];

interface Row {
  name: string;
  /** seconds of processor time */
  plain: number;
  /** Replacements of the program's files: without inserted code, and with counters. */
  replacements: readonly Replacement[][];
  /** Processor time divided by that of the originals, in the same order. */
  ratios: readonly number[];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { pairs: { type: "string", default: "5" } },
});
const pairs = Number(values.pairs);
const unknown = positionals.filter((name) => !PROGRAMS.some((one) => one.name === name));
if (unknown.length > 0 || !(pairs >= 1)) {
  console.error(`Use: run.ts [--pairs N] [${PROGRAMS.map(({ name }) => name).join(" | ")}]…`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "rewrite-bench-"));
const rewritten = new RewrittenFiles(join(folder, "rewritten"), () => []);
const counting = new RewrittenFiles(join(folder, "counting"), nativeHeap().plan);

/** A dynamic linker that maps the counters, as a replacement of the original one. */
function countingLoader(original: string): Mount {
  const path = join(folder, "loader");
  writeFileSync(path, loaderCopy(readFileSync(original), nativeHeap()), { mode: 0o755 });
  return { original, path };
}

function measure({ name, command: commandIn, input }: NativeProgram): Row | undefined {
  const command = commandIn(folder);
  if (command === undefined) return undefined;
  const files = loadedFiles(command, folder, input);
  const replacements = [rewritten, counting].map((one) => one.replacements(files.program));
  const launchers = [
    inPlaceOf([]),
    inPlaceOf(replacements[0]),
    inPlaceOf([countingLoader(files.loader), ...replacements[1]]),
  ];
  // The first run loads the files into memory; a run with an exit code other than 0 throws.
  const expected = costOf(command, input).output;
  const rounds = Array.from({ length: pairs }, () =>
    launchers.map((launcher) => {
      const { seconds, output } = costOf(command, input, launcher);
      if (output !== expected) throw new Error(`${name}: other output when rewritten`);
      return seconds;
    }),
  );
  return {
    name,
    plain: median(rounds.map(([plain]) => plain)),
    replacements,
    ratios: [1, 2].map((variant) => median(rounds.map((seconds) => seconds[variant] / seconds[0]))),
  };
}

function cells({ name, plain, replacements, ratios }: Row): string[] {
  const sum = (variant: number, of: (one: Replacement) => number) =>
    replacements[variant].reduce((total, one) => total + of(one), 0);
  const text = sum(0, (one) => one.rewritten.oldText);
  const both = (of: (variant: number) => number, digits: number) =>
    [0, 1].map((variant) => of(variant).toFixed(digits)).join("; ");
  const leftAlone = sum(0, (one) =>
    Object.values(one.rewritten.leftAlone).reduce((all, each) => all + each, 0),
  );
  return [
    `${name}, ${plain.toFixed(2)} s`,
    `${(text / 1e6).toFixed(1)} MB in ${replacements[0].length} files`,
    `${both((variant) => text / 1e6 / sum(variant, ({ seconds }) => seconds), 1)} MB/s`,
    `${both((variant) => sum(variant, (one) => one.rewritten.newText) / text, 2)} x`,
    `${sum(0, (one) => one.rewritten.unpatched.places)}`,
    `${leftAlone} of ${leftAlone + sum(0, (one) => one.rewritten.functions)}`,
    ...ratios.map((ratio) => `${ratio.toFixed(2)}x`),
  ];
}

function table(rows: readonly Row[]): string {
  const line = (all: readonly string[]) => `| ${all.join(" | ")} |`;
  const means = [0, 1].map((i) => `${geometricMean(rows.map(({ ratios }) => ratios[i])).toFixed(2)}x`);
  return [
    line(COLUMNS),
    line(COLUMNS.map((_, i) => (i === 0 ? "---" : "--:"))),
    ...rows.map((row) => line(cells(row))),
    line(["geometric mean", ...COLUMNS.slice(3).map(() => ""), ...means]),
  ].join("\n");
}

try {
  const check = checkCounters(folder, (command) => {
    const { program, loader } = loadedFiles(command, folder);
    return [countingLoader(loader), ...counting.replacements(program)];
  });
  console.log(`${machine()}\n\n${check}\n`);
  const rows = PROGRAMS.filter(({ name, isApart }) =>
    positionals.length === 0 ? !isApart : positionals.includes(name),
  ).flatMap((program) => {
    console.error(`rewrite: ${program.name}`);
    const row = measure(program);
    if (row === undefined)
      console.error(`rewrite: ${program.name} is SKIPPED, not installed (${program.package})`);
    return row ?? [];
  });
  console.log(table(rows));
} finally {
  rmSync(folder, { recursive: true });
}
