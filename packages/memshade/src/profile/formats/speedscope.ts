import { entryOf } from "../../ground/bytes/entries.ts";
import {
  framesOfSampleStack,
  type SampleProfile,
  sumByStack,
  type ValueType,
} from "../model/sample-profile.ts";
import { exactAmount } from "./amounts.ts";
import { jsonArray, jsonArrayOf, jsonObject } from "./json-pieces.ts";

const SCHEMA = "https://www.speedscope.app/file-format-schema.json";

/** Unit names of speedscope; counts have none. */
const UNIT: Readonly<Record<ValueType["unit"], string>> = {
  count: "none",
  bytes: "bytes",
  nanoseconds: "nanoseconds",
};

/**
 * Writes a speedscope file: one `sampled` profile per value type. If samples have times, each thread and value type has
 * its own profile, so that "time order" shows a history. Samples without weight are left out, because the format has no
 * negative weights.
 *
 * @param shown value type that is shown first, if samples have no times
 * @throws UserError if a weight is negative or above 2^53
 */
export function* writeSpeedscope(profile: SampleProfile, exporter: string, shown = 0): Generator<string> {
  yield* jsonObject({
    $schema: SCHEMA,
    name: profile.name,
    exporter,
    activeProfileIndex: profile.samples.timeMs === undefined ? shown : 0,
    shared: jsonObject({ frames: jsonArray(speedscopeFrames(profile)) }),
    profiles: jsonArrayOf(profiles(profile)),
  });
  yield "\n";
}

function* speedscopeFrames({ frames }: SampleProfile): Generator<object> {
  for (const { function: name, file, line, column } of frames)
    yield { name, file, ...(line ? { line, ...(column ? { col: column } : {}) } : {}) };
}

interface Rows {
  name: string;
  unit: string;
  stacks: number[];
  weights: number[];
}

function* profiles(profile: SampleProfile): Generator<Generator<string>> {
  for (const { name, unit, stacks, weights } of rowsOf(profile)) {
    const paths = new Map<number, number[]>();
    const path = (stack: number): number[] => {
      return entryOf(paths, stack, () => framesOfSampleStack(profile, stack).reverse());
    };
    yield jsonObject({
      type: "sampled",
      name,
      unit,
      startValue: 0,
      endValue: exactAmount(
        weights.reduce((sum, weight) => sum + weight, 0),
        `the sum of ${name}`,
      ),
      samples: jsonArray(
        (function* () {
          for (const stack of stacks) yield path(stack);
        })(),
      ),
      weights: jsonArray(weights),
    });
  }
}

function* rowsOf(profile: SampleProfile): Generator<Rows> {
  const { valueTypes, samples, threads } = profile;
  if (samples.timeMs === undefined) {
    const sums = sumByStack(profile);
    for (const [column, { type, unit }] of valueTypes.entries()) {
      const weighted = sums.filter(({ values }) => exactAmount(values[column]!, type) > 0);
      yield {
        name: type,
        unit: UNIT[unit],
        stacks: weighted.map(({ stack }) => stack),
        weights: weighted.map(({ values }) => values[column]!),
      };
    }
    if (profile.history !== undefined) {
      const { name, unit, stacks, values } = profile.history;
      const weights = values.map((value) => exactAmount(value, name));
      yield { name, unit: UNIT[unit], stacks: [...stacks], weights };
    }
    return;
  }
  for (const [thread, { name, pid, tid }] of threads.entries())
    for (const [column, { type, unit }] of valueTypes.entries()) {
      const rows: Rows = {
        name: `${name} ${pid}/${tid}: ${type}`,
        unit: UNIT[unit],
        stacks: [],
        weights: [],
      };
      for (let row = 0; row < samples.length; row++) {
        const weight = exactAmount(samples.values[column]![row]!, type);
        if (samples.thread[row] !== thread || weight === 0) continue;
        rows.stacks.push(samples.stack[row]!);
        rows.weights.push(weight);
      }
      if (rows.stacks.length > 0) yield rows;
    }
}
