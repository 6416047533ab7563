import { entryOf } from "../../ground/bytes/entries.ts";
import { measure, stacksOf } from "../measures/index.ts";
import type { Measure, MeasuredProfiles } from "../measures/measure.ts";
import { placePath } from "../measures/measured-stacks.ts";

export interface SourceColumn {
  /** Name in JSON: a measure's word. */
  readonly key: string;
  readonly head?: string | undefined;
  readonly unit: "bytes" | "count";
}

/** Source line with a value per column; undefined if a profile does not have it. */
export interface SourceLine {
  readonly file: string;
  readonly line: number;
  readonly values: readonly (number | undefined)[];
}

export type SourceTool = "heap" | "waste" | "workingset" | "objects";

/** Source lines of a tool, the most important first. Places without a known line are left out. */
export interface SourceTable {
  readonly tool: SourceTool;
  readonly columns: readonly SourceColumn[];
  readonly lines: readonly SourceLine[];
}

/** Measures of source lines by tool: those shown in its table, and those only in JSON. */
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

/** Returns the program's own source lines with a tool's measures, as far as the run has them by place. */
export function sourceLines(tool: SourceTool, profiles: MeasuredProfiles): SourceTable {
  const [shown, more] = OF_LINES[tool];
  const columns = [...shown, ...more].flatMap((id) => {
    const declared = measure(id);
    const found = declared.column(profiles);
    return found === undefined || found.isUnplaced === true ? [] : [{ declared, amounts: found.amounts }];
  });
  const stacks = stacksOf(tool, profiles)!;
  const lines = new Map<string, { file: string; line: number; values: number[] }>();
  for (let row = 0; row < stacks.rows.length; row++) {
    const [{ file, line } = {}] = placePath(stacks, row);
    if (file === undefined || line === undefined || line === 0) continue;
    const key = `${line} ${file}`;
    const sums = entryOf(lines, key, () => ({ file, line, values: columns.map(() => 0) }));
    for (const [index, { declared, amounts }] of columns.entries())
      sums.values[index] = combined(declared, sums.values[index]!, Number(amounts[row]));
  }
  return {
    tool,
    columns: columns.map(({ declared: { id, head, unit } }) => ({
      key: id,
      head: shown.includes(id) ? head : undefined,
      unit: unit === "bytes" ? "bytes" : "count",
    })),
    lines: byPart([...lines.values()], columns.filter(({ declared }) => shown.includes(declared.id)).length),
  };
}

function combined({ combine }: Measure, a: number, b: number): number {
  return combine === "most" ? Math.max(a, b) : a + b;
}

/**
 * Sorts lines by their largest share of any of the first columns, in descending order; lines without any are left out.
 */
function byPart<Line extends { readonly values: readonly number[] }>(lines: Line[], columns: number): Line[] {
  const totals = Array.from({ length: columns }, (_, index) =>
    lines.reduce((sum, { values }) => sum + values[index]!, 0),
  );
  const partOf = ({ values }: Line) =>
    Math.max(0, ...totals.map((total, index) => (total === 0 ? 0 : values[index]! / total)));
  return lines.filter((line) => partOf(line) > 0).sort((lineA, lineB) => partOf(lineB) - partOf(lineA));
}
