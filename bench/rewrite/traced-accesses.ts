/**
 * Measures the share of accesses that counters cover. Small programs are single-stepped (`trace-steps.c`); each access is decoded and
 * added to the kind of memory that it hits. The sums are compared with the final counters of the rewritten program. Linux on x86-64 with
 * glibc; needs
 * `gcc`. Static data that code addresses directly is excluded. The dynamic linker is not rewritten: its accesses are listed separately.
 * node bench/rewrite/traced-accesses.ts
 */
import { spawn, spawnSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { COUNTERS, WRITES, WRITES_BIT } from "../../packages/memshade/src/record/native/layout.ts";
import { rewriteFile } from "../../packages/memshade/src/record/native/rewrite/rewrite-file.ts";
import { loaderCopy } from "../../packages/memshade/src/record/native/rewritten/loader-copy.ts";
import { nativeHeap } from "../../packages/memshade/src/record/native/tools/heap.ts";
import { loadedFiles } from "./rewritten-files.ts";
import { type Mapping, readMappings, tracedAccesses } from "./traced-steps.ts";

const PROGRAMS: readonly (readonly string[])[] = [
  ["/usr/bin/gzip", "-c", "-n", "/etc/hostname"],
  ["/usr/bin/sort", "-k", "1", "/etc/protocols"],
  ["/usr/bin/sed", "-E", "s/([0-9]+)/<\\1>/", "/etc/hosts"],
  [
    "/usr/bin/lua5.4",
    "-e",
    "local t = {} for i = 1, 50 do t[i] = i * 7919 % 1009 end table.sort(t) print(t[7])",
  ],
];
const COUNTED = ["heap", "mapped"];

const folder = mkdtempSync(join(tmpdir(), "traced-"));
const tracer = join(folder, "trace-steps");
const tool = nativeHeap();

/** Sums of the counters of the addresses of mappings, by kind. */
function countersOf(pid: string, mappings: readonly Mapping[]): Map<string, number> {
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const sums = new Map<string, number>();
  for (const { start, end, kind } of mappings) {
    if (!COUNTED.includes(kind)) continue;
    const words = new Uint32Array(Number(end - start) / 8);
    let sum = 0;
    const flipped = (start >> 3n) ^ (1n << BigInt(WRITES_BIT));
    for (const from of [BigInt(COUNTERS) + (start >> 3n) * 4n, BigInt(WRITES) + flipped * 4n]) {
      readSync(memory, words, 0, words.byteLength, from);
      for (const word of words) sum += word;
    }
    sums.set(kind, (sums.get(kind) ?? 0) + sum);
  }
  closeSync(memory);
  return sums;
}

async function runCounting(command: readonly string[]): Promise<Map<string, number>> {
  const { program, loader } = loadedFiles(command, folder);
  const into = mkdtempSync(join(folder, "counting-"));
  for (const path of program) {
    const names = new Set([basename(path), ...linksTo(path)]);
    const { bytes } = rewriteFile(readFileSync(path), tool.plan, { areCallsWatched: true });
    for (const name of names) writeFileSync(join(into, name), bytes, { mode: 0o755 });
  }
  const copy = join(into, "loader");
  writeFileSync(copy, loaderCopy(readFileSync(loader), tool), { mode: 0o755 });
  const [out, maps] = [join(into, "pid"), join(into, "maps")];
  const rest = ["--library-path", into, join(into, basename(program[0])), ...command.slice(1)];
  const child = spawn(tracer, ["memory", out, maps, copy, ...rest], { stdio: ["pipe", "ignore", "inherit"] });
  for (let waits = 0; waits < 600 && (statSync(out, { throwIfNoEntry: false })?.size ?? 0) === 0; waits++)
    await setTimeout(100);
  const sums = countersOf(readFileSync(out, "utf8").trim(), readMappings(readFileSync(maps, "utf8")));
  child.stdin?.end("\n");
  return sums;
}

/** Names by which programs load a library, which may be links. */
function linksTo(path: string): string[] {
  const { stdout } = spawnSync("readelf", ["-d", path], { encoding: "utf8" });
  return [...stdout.matchAll(/\(SONAME\).*\[(.*)\]/g)].map(([, name]) => name);
}

try {
  mkdirSync(folder, { recursive: true });
  const source = join(import.meta.dirname, "trace-steps.c");
  if (spawnSync("gcc", ["-O2", source, "-o", tracer], { stdio: "inherit" }).status !== 0)
    throw new Error("trace-steps.c does not compile");
  console.log(
    "| program | steps | accesses | by the dynamic linker | others | counted | share | not named by operands |",
  );
  console.log("| --- | --: | --: | --: | --: | --: | --: | --: |");
  for (const command of PROGRAMS) {
    const [out, maps] = [join(folder, "steps"), join(folder, "maps")];
    spawnSync(tracer, ["steps", out, maps, ...command], { stdio: "ignore" });
    const traced = tracedAccesses(out, readMappings(readFileSync(maps, "utf8")));
    const counters = await runCounting(command);
    let counted = 0;
    for (const kind of COUNTED) counted += counters.get(kind) ?? 0;
    const sum = (of: (one: { where: string; kind: string; cause: string; count: number }) => boolean) =>
      traced.accesses
        .filter((one) => COUNTED.includes(one.kind) && of(one))
        .reduce((all, { count }) => all + count, 0);
    const loader = sum(({ where }) => where === "loader");
    const isStatic = (cause: string) => cause === "static data";
    const others = sum(({ where, cause }) => where !== "loader" && !isStatic(cause));
    const cells = [basename(command[0]), traced.steps, loader + others, loader, others, counted];
    const share = `${((100 * counted) / others).toFixed(2)} %`;
    const causes = traced.accesses
      .filter(
        ({ kind, where, cause }) =>
          COUNTED.includes(kind) && where !== "loader" && cause !== "" && !isStatic(cause),
      )
      .map(({ cause, kind, count }) => `${cause} (${kind}) ${count}`);
    console.log(`| ${[...cells, share, causes.join(", ")].join(" | ")} |`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
