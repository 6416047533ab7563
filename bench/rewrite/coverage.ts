/**
 * Measures the share of time that rewritten programs spend in code that a tool covers: `perf` samples the instruction pointer while the
 * programs of `native/programs.ts` and `more-programs.ts` run rewritten, without inserted code. `--places N` prints the N most
 * frequent addresses of old code per program. Linux on x86-64 with glibc; needs `perf`, `unshare` and `mount`.
 * node bench/rewrite/coverage.ts [--places 5] [PROGRAM]…
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machine } from "../harness/machine.ts";
import { PROGRAMS } from "../native/programs.ts";
import { MORE_PROGRAMS } from "./more-programs.ts";
import { inPlaceOf } from "./namespace.ts";
import { filesOf, RewrittenFiles } from "./rewritten-files.ts";
import { PLACES, samplePlaces } from "./sampled-places.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { places: { type: "string", default: "0" } },
});
const all = [...PROGRAMS, ...MORE_PROGRAMS];
const unknown = positionals.filter((name) => !all.some((one) => one.name === name));
if (unknown.length > 0) {
  console.error(`Use: coverage.ts [--places N] [${all.map(({ name }) => name).join(" | ")}]…`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "rewrite-coverage-"));
const rewritten = new RewrittenFiles(join(folder, "rewritten"), () => []);
const line = (cells: readonly (string | number)[]) => console.log(`| ${cells.join(" | ")} |`);
try {
  console.log(`${machine()}\n`);
  line(["program", "samples", ...PLACES.map((place) => `${place}, %`)]);
  line(["---", ...["samples", ...PLACES].map(() => "--:")]);
  for (const { name, package: packageName, command: commandIn, input } of all) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    const command = commandIn(folder);
    if (command === undefined) {
      console.error(`coverage: ${name} is SKIPPED, not installed (${packageName})`);
      continue;
    }
    const replacements = rewritten.replacements(filesOf(command, folder, input));
    const { counts, old } = samplePlaces(command, input, inPlaceOf(replacements), replacements, folder);
    const samples = PLACES.reduce((sum, place) => sum + counts[place], 0);
    line([name, samples, ...PLACES.map((place) => ((100 * counts[place]) / samples).toFixed(2))]);
    const most = [...old].sort((a, b) => b[1] - a[1]).slice(0, Number(values.places));
    for (const [place, count] of most) console.log(`  ${count} ${place}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
