// Measures reading of call frame information against readelf and libdw, and the speed of walking stacks. Prints Markdown.
//
//     node bench/unwind/run.ts [FILE]        (Debian: firefox-esr, binutils, libdw-dev, gcc)
import "../../packages/memshade/scripts/check-generated.ts";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registers, StackColumns, StackImage } from "../../packages/memshade/src/code/unwind/index.ts";
import { openCoreFixture } from "../../packages/memshade/test/code/unwind/core-fixture.ts";

const PAIRS = 3;
const here = import.meta.dirname;
const library = new URL("../../packages/memshade/dist/unwinding.js", import.meta.url).href;
const file = process.argv[2] ?? "/usr/lib/firefox-esr/libxul.so";

/** CPU seconds (user and system) of a whole process, and its output. */
function cpuSeconds(command: readonly string[]): { seconds: number; output: string } {
  const script = 'TIMEFORMAT="%U %S"; time "$@"';
  const child = spawnSync("bash", ["-c", script, "bash", ...command], {
    encoding: "utf8",
    maxBuffer: 1 << 30,
  });
  if (child.status !== 0) throw new Error(`${command.join(" ")} failed: ${child.stderr}`);
  const [user, system] = child.stderr.trim().split("\n").at(-1)!.split(" ").map(Number);
  return { seconds: user + system, output: child.stdout };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

const folder = mkdtempSync(join(tmpdir(), "memshade-bench-"));
const libdw = join(folder, "libdw-rows");
// Types are removed beforehand, as in the built package: removing them takes as long as half of the work.
const load = join(folder, "load.mjs");
writeFileSync(load, stripTypeScriptTypes(readFileSync(join(here, "load.ts"), "utf8")));
const hasLibdw =
  spawnSync("cc", ["-O2", "-o", libdw, join(here, "libdw-rows.c"), "-ldw", "-lelf"]).status === 0;
if (!hasLibdw) console.warn("SKIPPED: libdw-rows.c cannot be built (libdw-dev)");

if (existsSync(file)) {
  const ours: number[] = [];
  const readelf: number[] = [];
  const peer: number[] = [];
  let summary = "";
  for (let pair = 0; pair < PAIRS; pair++) {
    const run = cpuSeconds([process.execPath, load, library, file]);
    ours.push(run.seconds);
    summary = run.output.trim();
    if (hasLibdw) peer.push(cpuSeconds([libdw, file]).seconds);
    readelf.push(
      cpuSeconds(["sh", "-c", 'readelf --debug-dump=frames-interp "$0" > /dev/null', file]).seconds,
    );
  }
  const ratio = (theirs: readonly number[]) =>
    median(theirs.map((seconds, i) => seconds / ours[i])).toFixed(1);
  console.log(`${file}: ${summary}\n`);
  console.log("| reading all rows, whole process | CPU, s | ratio to memshade |\n| --- | --: | --: |");
  console.log(`| memshade (Node's start included) | ${median(ours).toFixed(2)} | 1 |`);
  if (hasLibdw) console.log(`| libdw | ${median(peer).toFixed(2)} | ${ratio(peer)} |`);
  console.log(`| readelf --debug-dump=frames-interp | ${median(readelf).toFixed(2)} | ${ratio(readelf)} |\n`);
} else {
  console.warn(`SKIPPED: there is no ${file}`);
}

const fixtures = join(here, "../../../shared/fixtures/unwind");
if (existsSync(fixtures)) {
  console.log("| stack | frames | million frames per second of CPU |\n| --- | --: | --: |");
  for (const name of ["recursion", "threads"]) {
    const { unwinder, threads, readMemory } = openCoreFixture(join(fixtures, name, "core.gz"), {});
    for (const { lwp, registers } of threads) {
      const start = Number(registers.rsp);
      const pages: Uint8Array[] = [];
      for (let address = start; ; address += 4096) {
        const page = readMemory(address, 4096);
        if (page !== undefined) pages.push(page);
        if (page === undefined || page.length < 4096) break;
      }
      const image = new StackImage(start, new Uint8Array(Buffer.concat(pages)));
      const context = Registers.of(unwinder.target, registers);
      const columns = new StackColumns();
      const rates = Array.from({ length: 5 }, () => {
        let frames = 0;
        const before = process.cpuUsage();
        while (frames < 2_000_000) {
          unwinder.unwindInto(columns, context, image);
          frames += columns.count;
        }
        const { user, system } = process.cpuUsage(before);
        return frames / (user + system);
      });
      console.log(`| ${name}, thread ${lwp} | ${columns.count} | ${median(rates).toFixed(1)} |`);
    }
  }
} else {
  console.warn("SKIPPED: ../shared/fixtures/unwind is not there");
}
