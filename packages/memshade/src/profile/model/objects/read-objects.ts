import { UserError } from "../../../ground/bytes/errors.ts";
import {
  count,
  flag,
  integer,
  list,
  number,
  oneOf,
  optional,
  parseVersioned,
  record,
  text,
} from "../check.ts";
import { namedModule } from "../named-module.ts";
import { stackFrame } from "../working-set/read-working-set.ts";
import {
  type ContextOverTime,
  type ModuleObjects,
  OBJECTS_SCHEMA,
  OBJECTS_VERSION,
  type ObjectContexts,
  type ObjectField,
  type ObjectPaths,
  type ObjectSamples,
  type ObjectSite,
  type ObjectSizes,
  type ObjectsOverTime,
  type ObjectsProfile,
  type ObjectType,
} from "./objects.ts";

const field = record<ObjectField>({
  name: optional(text),
  type: text,
  bytes: count,
  mutable: flag,
  reads: count,
  writes: count,
  unread: flag,
  unwritten: flag,
});

const part = record<ModuleObjects>({
  module: count,
  instances: count,
  types: list(
    record<ObjectType>({
      index: count,
      name: optional(text),
      kind: oneOf("struct", "array"),
      supertype: optional(count),
      objects: count,
      constant: count,
      elements: count,
      bytes: count,
      fields: list(field),
    }),
  ),
  sites: list(
    record<ObjectSite>({
      offset: count,
      type: count,
      instruction: text,
      objects: count,
      elements: count,
      bytes: count,
      frame: optional(stackFrame),
    }),
  ),
  frames: list(stackFrame),
  paths: record<ObjectPaths>({ frame: list(count), caller: list(integer) }),
  contexts: record<ObjectContexts>({
    site: list(count),
    path: list(count),
    objects: list(count),
    elements: list(count),
    bytes: list(count),
  }),
  samples: record<ObjectSamples>({
    site: list(count),
    size: list(number),
    weight: list(number),
    birth: list(number),
    death: list(number),
    unknown: list(flag),
    context: list(count),
    host: list(integer),
    now: list(number),
    settled: flag,
  }),
  overTime: optional(
    record<ObjectsOverTime>({
      intervals: record<ObjectsOverTime["intervals"]>({ end: list(count), objects: list(count) }),
      contexts: list(
        record<ContextOverTime>({
          context: count,
          intervals: list(count),
          objects: list(count),
          bytes: list(count),
        }),
      ),
    }),
  ),
});

const profile = record<ObjectsProfile>({
  schema: oneOf(OBJECTS_SCHEMA),
  version: oneOf(OBJECTS_VERSION),
  memshade: text,
  command: list(text),
  program: text,
  sizes: record<ObjectSizes>({ engine: text, references: count, structHeader: count, arrayHeader: count }),
  fields: flag,
  contexts: flag,
  sampleBytes: count,
  modules: list(namedModule),
  parts: list(part),
  notTracked: list(text),
});

/**
 * Reads the text of `objects.json`.
 *
 * @throws UserError in one line: no JSON, another kind of file, a version that is not known, a field that is not what it should be
 */
export function readObjects(json: string): ObjectsProfile {
  const what = "does not tell of the objects of a run";
  const checked = profile(parseVersioned(json, OBJECTS_SCHEMA, OBJECTS_VERSION, what));
  checked.parts.forEach((one, i) => {
    checkPart(one, checked.modules.length, (fault) => {
      throw new UserError(`parts[${i}]: ${fault}`);
    });
  });
  return checked;
}

/** Whether what a part refers to is there. */
function checkPart(
  { module, samples, sites, types, frames, paths, contexts, overTime }: ModuleObjects,
  modules: number,
  fail: (fault: string) => never,
): void {
  const within = (name: string, numbers: readonly number[], count: number): void => {
    for (const number of numbers) if (number >= count) fail(`there is no ${name} ${number}`);
  };
  const alike = (name: string, table: object): void => {
    const columns = Object.values(table).filter(Array.isArray);
    if (columns.some(({ length }) => length !== columns[0]!.length))
      fail(`the columns of ${name} have different lengths`);
  };
  within("module", [module], modules);
  const known = new Set(types.map(({ index }) => index));
  for (const { type } of sites) if (!known.has(type)) fail(`there is no type ${type}`);
  alike("paths", paths);
  alike("contexts", contexts);
  alike("samples", samples);
  within("frame", paths.frame, frames.length);
  paths.caller.forEach((caller, path) => {
    if (caller >= path) fail(`path ${path} is called by path ${caller}, which comes later`);
  });
  within("site", [...contexts.site, ...samples.site], sites.length);
  within("path", contexts.path, paths.frame.length);
  within("path", samples.host, paths.frame.length);
  within("context", samples.context, contexts.site.length);
  if (overTime === undefined) return;
  alike("intervals", overTime.intervals);
  for (const { context, ...columns } of overTime.contexts) {
    alike("what a context made", columns);
    within("context", [context], contexts.site.length);
    within("interval", columns.intervals, overTime.intervals.end.length);
  }
}
