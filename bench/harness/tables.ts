import type { ProgramMeasurement } from "./measure.ts";
import type { RewritingMeasurement } from "./rewriting.ts";
import { geometricMean, median } from "./statistics.ts";
import type { Variant } from "./substitution.ts";

/** Columns of the tables: variants and their titles. */
export const COLUMNS: Partial<Record<Variant, string>> = {
  alloc: "alloc",
  full: "heap",
  workingset: "working set",
  waste: "waste",
  "waste contexts": "waste by context",
};

function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = line(header.map((_, column) => (column === 0 ? "---" : "--:")));
  return [line(header), rule, ...rows.map(line)].join("\n");
}

const ratio = (value: number) => value.toFixed(2);

/**
 * Programs with the median ratio of each variant, the code growth of the heap profiler, and the geometric means.
 * Ratios of another checkout are in brackets. A program without anything to record for a tool,
 * such as one without an allocator, has no ratio and is in no mean.
 */
export function slowdownTable(programs: readonly ProgramMeasurement[], variants: readonly Variant[]): string {
  const follows = ({ variants: measured }: ProgramMeasurement, variant: Variant) =>
    (measured[variant]?.codeGrowth ?? 1) !== 1;
  const ratioIn = (program: ProgramMeasurement, which: "ratios" | "againstRatios", variant: Variant) =>
    follows(program, variant) ? median(program.variants[variant]?.[which] ?? []) : Number.NaN;
  const growthIn = (program: ProgramMeasurement, variant: Variant) =>
    follows(program, variant) ? (program.variants[variant]?.codeGrowth ?? Number.NaN) : Number.NaN;
  const mean = (values: readonly number[]) => geometricMean(values.filter((value) => !Number.isNaN(value)));
  const cell = (value: number, against = Number.NaN) => {
    if (Number.isNaN(value)) return "–";
    return Number.isNaN(against) ? ratio(value) : `${ratio(value)} (${ratio(against)})`;
  };
  const rows = programs.map((program) => [
    program.name,
    median(variants.flatMap((variant) => program.variants[variant]?.plainMs ?? [])).toFixed(0),
    ...variants.map((variant) =>
      cell(ratioIn(program, "ratios", variant), ratioIn(program, "againstRatios", variant)),
    ),
    ...variants.map((variant) => cell(growthIn(program, variant))),
  ]);
  const means = (which: "ratios" | "againstRatios", variant: Variant) =>
    mean(programs.map((program) => ratioIn(program, which, variant)));
  rows.push([
    "**geometric mean**",
    "",
    ...variants.map((variant) => cell(means("ratios", variant), means("againstRatios", variant))),
    ...variants.map((variant) => cell(mean(programs.map((program) => growthIn(program, variant))))),
  ]);
  const titles = variants.map((variant) => COLUMNS[variant] ?? variant);
  return markdownTable(["program", "plain, ms", ...titles, ...titles.map((title) => `code, ${title}`)], rows);
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
