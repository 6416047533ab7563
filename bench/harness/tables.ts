import type { PairMeasurement } from "./allocation-pair.ts";
import type { Column, ColumnMeasurement, ProgramMeasurement } from "./measure.ts";
import type { RewritingMeasurement } from "./rewriting.ts";
import { geometricMean, median } from "./statistics.ts";

const TITLES: Record<Column, string> = {
  counters: "counters only",
  full: "full profiler",
  alloc: "allocations",
  workingset: "working set",
  "workingset aligned": "aligned accesses",
  "workingset timed": "real time",
  locality: "working set, locality of 1 % of the lines",
  "locality exact": "working set, exact locality",
  "first touch": "working set, first touches",
  fill: "working set, fill of lines",
  owners: "working set, owners",
  waste: "waste",
  "waste opaque": "waste, opaque host",
  "waste pairs": "waste with pairs",
  "waste contexts": "waste by context",
  "waste again": "waste, later runs",
  "waste contexts again": "waste by context, later runs",
};

function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = line(header.map((_, column) => (column === 0 ? "---" : "--:")));
  return [line(header), rule, ...rows.map(line)].join("\n");
}

const ratio = (value: number) => value.toFixed(2);

function spread(values: readonly number[]): string {
  return `${ratio(Math.min(...values))}–${ratio(Math.max(...values))}`;
}

const mebibytes = (bytes: number) => `${(Math.max(0, bytes) / 2 ** 20).toFixed(1)} MiB`;

/** Programs with one ratio (median of the pairs, and least to greatest) per column, then the geometric means. */
export function slowdownTable(
  programs: readonly ProgramMeasurement[],
  columns: readonly Column[],
  groups: readonly { title: string; names: readonly string[] }[],
): string {
  const header = ["program", "plain CPU, ms"];
  for (const column of columns) header.push(TITLES[column], "least–most", "code growth", "file growth");
  const cells = (measurement: ColumnMeasurement | undefined): string[] =>
    measurement === undefined
      ? ["", "", "", ""]
      : [
          ratio(median(measurement.ratios)),
          spread(measurement.ratios),
          ratio(measurement.codeGrowth),
          ratio(measurement.fileGrowth),
        ];
  const rows = programs.map(({ name, columns: measured }) => [
    name,
    median(columns.flatMap((column) => measured[column]?.plainMs ?? [])).toFixed(0),
    ...columns.flatMap((column) => cells(measured[column])),
  ]);
  for (const { title, names } of groups) {
    const members = programs.filter(({ name }) => names.includes(name));
    if (members.length < 2) continue;
    const mean = (column: Column, value: (measurement: ColumnMeasurement) => number) =>
      `**${ratio(geometricMean(members.map(({ columns: measured }) => value(measured[column] as ColumnMeasurement))))}**`;
    rows.push([
      `**geometric mean, ${title} (${members.length})**`,
      "",
      ...columns.flatMap((column) => [
        mean(column, (measurement) => median(measurement.ratios)),
        "",
        mean(column, (measurement) => measurement.codeGrowth),
        mean(column, (measurement) => measurement.fileGrowth),
      ]),
    ]);
  }
  return markdownTable(header, rows);
}

/** Resident memory of one run, as the plain and as the profiled program. */
export interface MemoryMeasurement {
  name: string;
  plainBytes: number;
  profiledBytes: number;
}

export function memoryTable(programs: readonly MemoryMeasurement[]): string {
  return markdownTable(
    ["program", "plain", "profiled", "added"],
    programs.map(({ name, plainBytes, profiledBytes }) => [
      name,
      mebibytes(plainBytes),
      mebibytes(profiledBytes),
      mebibytes(profiledBytes - plainBytes),
    ]),
  );
}

export function pairTable(pairs: readonly PairMeasurement[]): string {
  return markdownTable(
    ["live blocks", "plain, ns", "profiled, ns", "added, ns"],
    pairs.map(({ liveBlocks, plainNs, profiledNs }) => [
      liveBlocks.toLocaleString("en"),
      plainNs.toFixed(1),
      profiledNs.toFixed(1),
      (profiledNs - plainNs).toFixed(1),
    ]),
  );
}

/** Speed and growth per module, and over all bytes. */
export function rewritingTable(modules: readonly RewritingMeasurement[]): string {
  const bytes = modules.reduce((sum, module) => sum + module.bytes, 0);
  const microseconds = modules.reduce((sum, module) => sum + module.bytes / module.megabytesPerSecond, 0);
  return markdownTable(
    ["module", "MB", "MB/s", "code growth", "file growth"],
    [
      ...modules.map((module) => [
        module.file,
        (module.bytes / 1e6).toFixed(2),
        module.megabytesPerSecond.toFixed(1),
        ratio(module.codeGrowth),
        ratio(module.fileGrowth),
      ]),
      [
        "**all**",
        (bytes / 1e6).toFixed(2),
        `**${(bytes / microseconds).toFixed(1)}**`,
        `**${ratio(geometricMean(modules.map((module) => module.codeGrowth)))}** (geometric mean)`,
        `**${ratio(geometricMean(modules.map((module) => module.fileGrowth)))}** (geometric mean)`,
      ],
    ],
  );
}
