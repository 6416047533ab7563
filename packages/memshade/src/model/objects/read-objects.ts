import { UserError } from "../../bytes/errors.ts";
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
  type ModuleObjects,
  OBJECTS_SCHEMA,
  OBJECTS_VERSION,
  type ObjectField,
  type ObjectSamples,
  type ObjectSite,
  type ObjectSizes,
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
  stacks: list(list(stackFrame)),
  samples: record<ObjectSamples>({
    site: list(count),
    size: list(number),
    weight: list(number),
    birth: list(number),
    death: list(number),
    unknown: list(flag),
    stack: list(integer),
    now: list(number),
    settled: flag,
  }),
});

const profile = record<ObjectsProfile>({
  schema: oneOf(OBJECTS_SCHEMA),
  version: oneOf(OBJECTS_VERSION),
  memshade: text,
  command: list(text),
  program: text,
  sizes: record<ObjectSizes>({ engine: text, references: count, structHeader: count, arrayHeader: count }),
  fields: flag,
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
  checked.parts.forEach(({ module, samples, sites, stacks, types }, i) => {
    const fail = (fault: string): never => {
      throw new UserError(`parts[${i}]: ${fault}`);
    };
    if (module >= checked.modules.length) fail(`there is no module ${module}`);
    const known = new Set(types.map(({ index }) => index));
    for (const { type } of sites) if (!known.has(type)) fail(`there is no type ${type}`);
    const { settled: _, ...columns } = samples;
    for (const column of Object.values(columns))
      if (column.length !== samples.site.length) fail("the columns of samples have different lengths");
    for (const site of samples.site) if (site >= sites.length) fail(`there is no site ${site}`);
    for (const stack of samples.stack) if (stack >= stacks.length) fail(`there is no stack ${stack}`);
  });
  return checked;
}
