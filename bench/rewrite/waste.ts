/**
 * Measures the cost of following stores and loads (`--tool waste` of native programs): Debian programs (`native/programs.ts`) with all
 * their libraries,
 * processor time of whole commands, in alternation with the originals, medians of the ratios. Nothing else is recorded. Exit code 1 if a
 * program fails, or its output differs.
 * node bench/rewrite/waste.ts [--pairs 5] [PROGRAM]…
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { rewriteFile } from "../../packages/memshade/src/record/native/rewrite/rewrite-file.ts";
import { loaderCopy } from "../../packages/memshade/src/record/native/rewritten/loader-copy.ts";
import { SLOTS_END } from "../../packages/memshade/src/record/native/tools/waste/layout.ts";
import { nativeWaste, WastePlan } from "../../packages/memshade/src/record/native/tools/waste/plan-waste.ts";
import { machine } from "../harness/machine.ts";
import { geometricMean, median } from "../harness/statistics.ts";
import { costOf } from "../harness/whole-command.ts";
import { type NativeProgram, PROGRAMS } from "../native/programs.ts";
import { inPlaceOf, type Mount } from "./namespace.ts";
import { loadedFiles } from "./rewritten-files.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { pairs: { type: "string", default: "5" } },
});
const pairs = Number(values.pairs);
const folder = mkdtempSync(join(tmpdir(), "waste-bench-"));

/** Replacements of a program's files. The slots of each file follow those of the file before. */
function mountsOf({ program, loader }: ReturnType<typeof loadedFiles>): Mount[] {
  const copy = join(mkdtempSync(join(folder, "files-")), "loader");
  writeFileSync(copy, loaderCopy(readFileSync(loader), nativeWaste()), { mode: 0o755 });
  let from: number | undefined;
  const mounts = program.map((original, i): Mount => {
    const behind = from;
    const waste = new WastePlan(behind === undefined ? undefined : () => ({ from: behind, to: SLOTS_END }));
    const path = `${copy}-${i}`;
    writeFileSync(path, rewriteFile(readFileSync(original), waste.plan, { areCallsWatched: true }).bytes, {
      mode: 0o755,
    });
    from = waste.end;
    return { original, path };
  });
  return [{ original: loader, path: copy }, ...mounts];
}

function ratioOf({
  name,
  command: commandIn,
  input,
}: NativeProgram): { name: string; ratio: number } | undefined {
  const command = commandIn(folder);
  if (command === undefined) return undefined;
  const launcher = inPlaceOf(mountsOf(loadedFiles(command, folder, input)));
  // The first run loads the files into memory; a run with an exit code other than 0 throws.
  const expected = costOf(command, input).output;
  const ratios = Array.from({ length: pairs }, () => {
    const plain = costOf(command, input).seconds;
    const { seconds, output } = costOf(command, input, launcher);
    if (output !== expected) throw new Error(`${name}: other output when rewritten`);
    return seconds / plain;
  });
  return { name, ratio: median(ratios) };
}

try {
  console.log(`${machine()}\n`);
  const rows = PROGRAMS.filter(({ name, isApart }) =>
    positionals.length === 0 ? !isApart : positionals.includes(name),
  ).flatMap((program) => {
    console.error(`waste: ${program.name}`);
    return ratioOf(program) ?? [];
  });
  for (const { name, ratio } of rows) console.log(`| ${name} | ${ratio.toFixed(2)}x |`);
  console.log(`| geometric mean | ${geometricMean(rows.map(({ ratio }) => ratio)).toFixed(2)}x |`);
} finally {
  rmSync(folder, { recursive: true });
}
