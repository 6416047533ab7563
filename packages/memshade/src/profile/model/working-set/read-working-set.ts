import { UserError } from "../../../ground/bytes/errors.ts";
import {
  type Check,
  count,
  each,
  flag,
  integer,
  list,
  oneOf,
  optional,
  part,
  record,
  text,
} from "../check.ts";
import type { HostCode } from "../heap-profile.ts";
import { namedModule } from "../named-module.ts";
import {
  type AttributedContext,
  type Attribution,
  type AttributionLevel,
  type InstanceWorkingSet,
  type LineFill,
  type LocalityOptionsRecord,
  type LocalityRecord,
  type LocalitySite,
  MEASURES,
  type Measure,
  type StackFrame,
  WORKING_SET_SCHEMA,
  WORKING_SET_VERSION,
  type WorkingSetLevel,
  type WorkingSetOptionsRecord,
  type WorkingSetProfile,
} from "./working-set.ts";

const weight: Check<number> = (value) =>
  typeof value === "number" && Number.isFinite(value) ? value : integer(value);

const measures = <T>(check: Check<T>): Check<Partial<Record<Measure, T>>> =>
  record<Partial<Record<Measure, T>>>(
    Object.fromEntries(MEASURES.map((measure) => [measure, optional(check)])) as never,
  );

const level = record<WorkingSetLevel>({
  factor: count,
  ...each(list(count), "start", "end", "fresh"),
  lastIsPartial: flag,
  counts: measures(list(count)),
});

export const stackFrame = record<Omit<StackFrame, "library" | "module" | "isInlined">>({
  function: count,
  host: optional(text as Check<HostCode>),
  ...each(optional(count), "offset", "line", "startLine"),
  ...each(optional(text), "name", "file", "inlined"),
});
const pair: Check<[number, number]> = (value) => {
  const values = list(weight)(value);
  return values.length === 2 ? [values[0], values[1]] : (part("[1]", count, undefined) as never);
};

const weights = list(weight);
const attribution = record<Attribution>({
  contexts: list(
    record<AttributedContext>({
      kind: oneOf("code", "host", "stack", "static", "heap", "mapping", "unknown"),
      of: optional(text),
      stack: list(stackFrame),
      ...each(weight, "total", "mean", "peak"),
    }),
  ),
  otherContexts: record({ contexts: count, total: weight }),
  levels: list(record<AttributionLevel>({ factor: count, intervals: list(list(pair)), others: weights })),
});

const instance = record<InstanceWorkingSet>({
  ...each(count, "module", "instance", "duration", "period", "snapshots", "memoryBytes", "profilerBytes"),
  incomplete: optional(flag),
  total: measures(count),
  levels: list(level),
  stackOf: list(integer),
  stacks: list(list(stackFrame)),
  firstTouch: optional(attribution),
  owners: optional(attribution),
  fill: optional(
    record<LineFill>({ levels: list(record({ factor: count, bytes: list(count) })), total: count }),
  ),
  locality: optional(
    record<LocalityRecord>({
      method: oneOf("shards"),
      references: count,
      ...each(weight, "sampled", "rate", "cold"),
      ...each(list(pair), "distances", "times", "firsts", "lasts"),
      sites: list(
        record<LocalitySite>({
          frame: optional(stackFrame),
          file: optional(text),
          line: optional(count),
          ...each(weight, "references", "misses", "cold"),
        }),
      ),
      otherSites: record({ sites: count, misses: weight }),
      sitesAtLines: count,
    }),
  ),
});

const profile = record<WorkingSetProfile>({
  schema: text as Check<typeof WORKING_SET_SCHEMA>,
  version: oneOf(WORKING_SET_VERSION),
  memshade: text,
  command: list(text),
  program: text,
  lineBytes: count,
  unit: oneOf("accesses", "wall", "cpu"),
  options: record<WorkingSetOptionsRecord>({
    interval: count,
    maxIntervals: count,
    ...each(flag, "assumeAligned", "firstTouch", "fill"),
    owners: optional(flag),
    locality: optional(
      record<LocalityOptionsRecord>({
        method: oneOf("shards"),
        rate: weight,
        cacheBytes: count,
      }),
    ),
  }),
  modules: list(namedModule),
  instances: list(instance),
  notTracked: list(text),
});

/**
 * Reads the text of `workingset.json`.
 *
 * @throws UserError in one line: no JSON, another kind of file, an unknown version, or an invalid field
 */
export function readWorkingSet(json: string): WorkingSetProfile {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new UserError("this is not JSON");
  }
  const { schema, version } = (value ?? {}) as { schema?: unknown; version?: unknown };
  if (schema !== WORKING_SET_SCHEMA) throw new UserError(`this is not a ${WORKING_SET_SCHEMA} file`);
  if (version !== WORKING_SET_VERSION)
    throw new UserError(
      `version ${JSON.stringify(version)} of the working set is not known, only ${WORKING_SET_VERSION}`,
    );
  const checked = profile(value);
  checked.instances.forEach((instance, i) => {
    for (const { start, end, fresh, counts } of instance.levels)
      for (const column of [end, fresh, ...Object.values(counts)])
        if (column?.length !== start.length)
          throw new UserError(`instances[${i}]: the columns of a series have different lengths`);
    if (instance.levels.length === 0) throw new UserError(`instances[${i}] has no series`);
    for (const stack of instance.stackOf)
      if (stack >= instance.stacks.length) throw new UserError(`instances[${i}]: there is no stack ${stack}`);
    for (const { contexts, levels } of [instance.firstTouch, instance.owners].flatMap((part) => part ?? []))
      for (const { intervals } of levels)
        for (const [context] of intervals.flat())
          if (contexts[context] === undefined)
            throw new UserError(`instances[${i}]: there is no context ${context}`);
    if (instance.module >= checked.modules.length)
      throw new UserError(`instances[${i}]: there is no module ${instance.module}`);
  });
  return checked;
}
