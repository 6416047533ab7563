import {
  type CounterTrack,
  type SampleFrame,
  type SampleModule,
  type SampleProfile,
  SampleProfileBuilder,
  type ValueType,
} from "../model/sample-profile.ts";

/** An amount that call stacks of a tool have: a value type with what is known of it. */
export interface Weight extends ValueType {
  /** Word for it on the command line, the same as in rankings where there is one. */
  readonly key: string;
  readonly says: string;
  /** What is done with the bytes, and what to count beside them: for formats that have both. */
  readonly with?: { readonly verb: string; readonly type: string; readonly counted: string } | undefined;
}

/** A weight of bytes that something was done with. */
export type CountedWeight = Weight & { readonly with: NonNullable<Weight["with"]> };

/** A weight with its values, one per row; undefined where they are not known. */
export interface WeightColumn {
  readonly weight: Weight;
  readonly values: ArrayLike<number> | ArrayLike<bigint> | undefined;
  /** Of the whole run: what the rows lack of it has a row of its own. */
  readonly total?: number | undefined;
}

/** What a tool recorded as weighted call stacks. */
export interface ExportedSamples {
  readonly profile: SampleProfile;
  /** What its value types are, in their order. */
  readonly weights: readonly Weight[];
  /** Index of the weight to look at first. */
  readonly shown: number;
}

export interface ExportedRows {
  readonly name: string;
  readonly modules: readonly SampleModule[];
  /** Frames of each row, innermost first. */
  readonly stacks: readonly (readonly SampleFrame[])[];
  readonly columns: readonly WeightColumn[];
  /** Keys of the weights to look at first: the first of them that there is any of. */
  readonly shown: readonly string[];
  readonly notes: readonly string[];
  readonly counters?: readonly CounterTrack[] | undefined;
  /** What rows did when; undefined as a row: those that nobody tells apart. */
  readonly history?: History | undefined;
}

export interface History {
  readonly name: string;
  readonly unit: "bytes" | "count";
  readonly events: readonly {
    readonly time: number;
    readonly row: number | undefined;
    readonly value: number;
  }[];
}

const NO_PATH: SampleFrame = { function: "[no call path]" };
const REST: SampleFrame = { function: "[in no context]" };
const OTHERS: SampleFrame = { function: "[others, not listed]" };

/** Rows with the weights that are known, in the order of the columns. */
export function exportedSamples(rows: ExportedRows): ExportedSamples {
  const known = rows.columns.filter(({ values }) => values !== undefined);
  const weights = known.map(({ weight }) => weight);
  const builder = new SampleProfileBuilder({
    name: rows.name,
    valueTypes: weights.map(({ type, unit, says }) => ({ type, unit, says })),
    counters: rows.counters,
    notes: rows.notes,
  });
  for (const module of rows.modules) builder.addModule(module);
  const thread = builder.addThread({ pid: 0, tid: 0, name: rows.name });
  const rest = known.map(({ total }) => total ?? 0);
  const stacks = rows.stacks.map((frames) => builder.stackOf(frames.length === 0 ? [NO_PATH] : frames));
  for (const [row, stack] of stacks.entries()) {
    const values = known.map(({ values }) => Number(values![row]));
    for (const [column, value] of values.entries()) rest[column]! -= value;
    builder.addSample(thread, stack, values);
  }
  const left = rest.map((value, column) => (known[column]!.total === undefined ? 0 : Math.max(0, value)));
  if (left.some((value) => value > 0)) builder.addSample(thread, builder.stackOf([REST]), left);
  const candidates = rows.shown
    .map((key) => weights.findIndex((weight) => weight.key === key))
    .filter((index) => index >= 0);
  const history = rows.history && {
    ...{ name: rows.history.name, unit: rows.history.unit },
    times: rows.history.events.map(({ time }) => time),
    stacks: rows.history.events.map(({ row }) =>
      row === undefined ? builder.stackOf([OTHERS]) : stacks[row]!,
    ),
    values: rows.history.events.map(({ value }) => value),
  };
  const profile = builder.finish(history);
  const hasAny = (column: number) => profile.samples.values[column]!.some((value) => value > 0);
  return { profile, weights, shown: candidates.find(hasAny) ?? candidates[0] ?? 0 };
}

/**
 * Amounts that may be fractions as whole numbers with the same sum, rounded: each is rounded so that all up to it are.
 */
export function wholeAmounts(amounts: readonly number[]): number[] {
  let exact = 0;
  let written = 0;
  return amounts.map((amount) => {
    exact += amount;
    const whole = Math.max(0, Math.round(exact) - written);
    written += whole;
    return whole;
  });
}
