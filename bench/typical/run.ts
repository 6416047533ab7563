/**
 * Measures the shares of their stores and loads that real programs waste: dead bytes of those written, silent stores, repeated loads.
 * node bench/typical/run.ts [--write]
 * Runs each program of the suites `real` and `apart` once under `--tool waste` with little work, and prints a table, with the middle
 * half of them in the last line. `--write` puts the table into docs/tools/waste.md.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { WasteFile } from "../../packages/memshade/src/profile/model/waste.ts";

const inRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const PAGE = inRoot("docs/tools/waste.md");
const BEGIN = "<!-- typical -->";
const END = "<!-- typical ends -->";

const PACKAGES = [
  "sqljs",
  "zstd",
  "tree-sitter",
  "quickjs",
  "resvg",
  "sqlite-wasm",
  "tiktoken",
  "yoga",
  "brotli",
  "rapier",
  "graphviz",
  "hash-wasm",
  "jq",
];
const LIBRARIES: readonly (readonly [string, string])[] = [
  ["sqlite", "5000"],
  ["zstd", "300000"],
  ["zlib", "200000"],
  ["lua", "3"],
];

interface Shares {
  name: string;
  dead: number;
  silent: number;
  redundant: number;
}

function measure(name: string, words: readonly string[]): Shares | undefined {
  const folder = mkdtempSync(join(tmpdir(), "typical-"));
  try {
    const [verb, ...program] = words;
    const command = [inRoot("packages/memshade/bin/memshade.js"), verb, "--tool", "waste", "--out", folder];
    const { status, stderr } = spawnSync(process.execPath, [...command, ...program], {
      encoding: "utf8",
      maxBuffer: 1 << 28,
    });
    if (status !== 0) {
      console.warn(`${name} is left out: ${stderr}`);
      return undefined;
    }
    const { totals } = JSON.parse(readFileSync(join(folder, "waste.json"), "utf8")) as WasteFile;
    return {
      name,
      dead: totals.deadOverwritten / totals.bytesWritten,
      silent: totals.silentStores / totals.stores,
      redundant: totals.silentLoads / totals.loads,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;

/** Value at a quantile: the nearest one in order. */
function quartile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.round(part * (sorted.length - 1))]!;
}

const { values } = parseArgs({ options: { write: { type: "boolean" } } });
const rows = [
  ...PACKAGES.map((name) => measure(name, ["node", inRoot(`bench/workloads/${name}.ts`), "small"])),
  ...LIBRARIES.map(([name, size]) =>
    measure(`${name} (C)`, ["run", inRoot(`bench/debian/built/${name}.wasm`), size]),
  ),
].filter((row) => row !== undefined);
const range = (of: (row: Shares) => number): string =>
  `${percent(quartile(rows.map(of), 0.25))} – ${percent(quartile(rows.map(of), 0.75))}`;
const table = [
  "| program | dead, of bytes written | silent, of stores | redundant, of loads |",
  "|---|--:|--:|--:|",
  ...rows.map(
    ({ name, dead, silent, redundant }) =>
      `| ${name} | ${percent(dead)} | ${percent(silent)} | ${percent(redundant)} |`,
  ),
  `| the middle half | ${range(({ dead }) => dead)} | ${range(({ silent }) => silent)} | ${range(({ redundant }) => redundant)} |`,
].join("\n");
console.log(table);
if (values.write === true) {
  const page = readFileSync(PAGE, "utf8");
  const start = page.indexOf(BEGIN) + BEGIN.length;
  writeFileSync(PAGE, `${page.slice(0, start)}\n\n${table}\n\n${page.slice(page.indexOf(END))}`);
}
