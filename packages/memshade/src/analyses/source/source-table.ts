/** A figure of source lines. */
export interface SourceColumn {
  /** Its name in JSON. */
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

/** What a tool tells of source lines, those first that matter most. Places whose line is not known are left out. */
export interface SourceTable {
  readonly tool: "heap" | "waste" | "workingset" | "objects";
  readonly columns: readonly SourceColumn[];
  readonly lines: readonly SourceLine[];
}

/** Adds up figures by source line. */
export class SourceSums {
  private readonly tool: SourceTable["tool"];
  private readonly columns: readonly SourceColumn[];
  private readonly lines = new Map<string, { file: string; line: number; values: (number | undefined)[] }>();

  constructor(tool: SourceTable["tool"], columns: readonly SourceColumn[]) {
    this.tool = tool;
    this.columns = columns;
  }

  /**
   * Adds the values of a place, by the keys of their columns; others are 0. `combine`: how two values become one, the sum if
   * nothing is said.
   */
  add(
    { file, line }: { readonly file?: string | undefined; readonly line?: number | undefined },
    values: Readonly<Record<string, number | undefined>>,
    combine: (one: number, other: number) => number = (one, other) => one + other,
  ): void {
    if (file === undefined || line === undefined || line === 0) return;
    const key = `${line} ${file}`;
    let sums = this.lines.get(key);
    if (sums === undefined) {
      sums = { file, line, values: this.columns.map(() => 0) };
      this.lines.set(key, sums);
    }
    for (const [index, { key: column }] of this.columns.entries()) {
      if (!(column in values)) continue;
      const [known, more] = [sums.values[index], values[column]];
      sums.values[index] = known === undefined || more === undefined ? undefined : combine(known, more);
    }
  }

  /** Lines by their values in the first column, the largest first. */
  byFirst(): SourceTable {
    return this.sorted(({ values }) => values[0] ?? 0);
  }

  /** Lines by what they are of all lines in the column of the table where that is most, the largest first; those without any value are left out. */
  byPart(): SourceTable {
    const totals = this.columns.map(({ head }, index) =>
      head === undefined
        ? 0
        : [...this.lines.values()].reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
    );
    const partOf = ({ values }: SourceLine) =>
      Math.max(...values.map((value, index) => (totals[index] === 0 ? 0 : (value ?? 0) / totals[index]!)));
    const { lines, ...table } = this.sorted(partOf);
    return { ...table, lines: lines.filter((line) => partOf(line) > 0) };
  }

  private sorted(rank: (line: SourceLine) => number): SourceTable {
    const lines = [...this.lines.values()].sort((one, other) => rank(other) - rank(one));
    return { tool: this.tool, columns: this.columns, lines };
  }
}
