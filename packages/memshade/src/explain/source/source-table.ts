import { measure, stacksOf } from "../measures/index.ts";
import type { Measure, MeasuredProfiles } from "../measures/measure.ts";
import { placePath } from "../measures/measured-stacks.ts";

/** A figure of source lines. */
export interface SourceColumn {
  /** Its name in JSON: a measure's word. */
  readonly key: string;
  /** Its name in a table; absent: it is in no table. */
  readonly head?: string | undefined;
  readonly unit: "bytes" | "count";
}

/** A line of the source with a value for each column; undefined where a profile does not know it. */
export interface SourceLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly values: readonly (number | undefined)[];
}

export type SourceTool = "heap" | "waste" | "workingset" | "objects";

/** What a tool tells of source lines, those first that matter most. Places whose line is not known are left out. */
export interface SourceTable {
  readonly tool: SourceTool;
  readonly columns: readonly SourceColumn[];
  readonly lines: readonly SourceLine[];
}

/** The measures that a tool tells of lines: those in its table, and those that JSON has beside them. */
const OF_LINES: Readonly<Record<SourceTool, readonly [shown: readonly string[], more: readonly string[]]>> = {
  heap: [["bytes", "blocks", "accesses"], ["left"]],
  waste: [
    ["dead", "silent", "redundant"],
    ["written", "stores", "loads"],
  ],
  workingset: [["misses", "first-touch", "share", "new", "workingset"], []],
  objects: [["object-bytes", "objects", "objects-in-use"], []],
};

export function sourceTables(profiles: MeasuredProfiles): SourceTable[] {
  const tools = Object.keys(OF_LINES) as SourceTool[];
  return tools.filter((tool) => profiles[tool] !== undefined).map((tool) => sourceLines(tool, profiles));
}

/** The program's own source lines by what a tool tells of them, as far as the run has it by place. */
export function sourceLines(tool: SourceTool, profiles: MeasuredProfiles): SourceTable {
  const [shown, more] = OF_LINES[tool];
  const known = [...shown, ...more].flatMap((id) => {
    const of = measure(id);
    const found = of.column(profiles);
    return found === undefined || found.isUnplaced === true ? [] : [{ of, amounts: found.amounts }];
  });
  const stacks = stacksOf(tool, profiles)!;
  const lines = new Map<string, { file: string; line: number; values: number[] }>();
  for (let row = 0; row < stacks.rows.length; row++) {
    const [{ file, line } = {}] = placePath(stacks, row);
    if (file === undefined || line === undefined || line === 0) continue;
    const key = `${line} ${file}`;
    let sums = lines.get(key);
    if (sums === undefined) {
      sums = { file, line, values: known.map(() => 0) };
      lines.set(key, sums);
    }
    for (const [index, { of, amounts }] of known.entries())
      sums.values[index] = combined(of, sums.values[index]!, Number(amounts[row]));
  }
  return {
    tool,
    columns: known.map(({ of: { id, head, unit } }) => ({
      key: id,
      head: shown.includes(id) ? head : undefined,
      unit: unit === "bytes" ? "bytes" : "count",
    })),
    lines: byPart([...lines.values()], known.filter(({ of }) => shown.includes(of.id)).length),
  };
}

function combined({ combine }: Measure, one: number, other: number): number {
  return combine === "most" ? Math.max(one, other) : one + other;
}

/** Lines by what they are of all lines in that of the first columns where it is most, the largest first; those without any are left out. */
function byPart<Line extends { readonly values: readonly number[] }>(lines: Line[], columns: number): Line[] {
  const totals = Array.from({ length: columns }, (_, index) =>
    lines.reduce((sum, { values }) => sum + values[index]!, 0),
  );
  const partOf = ({ values }: Line) =>
    Math.max(0, ...totals.map((total, index) => (total === 0 ? 0 : values[index]! / total)));
  return lines.filter((line) => partOf(line) > 0).sort((one, other) => partOf(other) - partOf(one));
}
