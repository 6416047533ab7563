import { UserError } from "../../ground/bytes/errors.ts";
import { roundUp } from "../../ground/bytes/sizes.ts";
import {
  count,
  each,
  flag,
  integer,
  list,
  number,
  oneOf,
  optional,
  parseVersioned,
  record,
  text,
} from "./check.ts";
import { type NamedModule, namedModule } from "./named-module.ts";
import { stackFrame } from "./working-set/read-working-set.ts";
import type { StackFrame } from "./working-set/working-set.ts";

/**
 * Record of the objects of garbage-collected languages, `objects.json`, version 1. Counts and amounts are JSON numbers.
 * Counts are exact, sizes follow a model, and the fate of objects is known for a sample.
 */
export const OBJECTS_SCHEMA = "memshade-objects";
export const OBJECTS_VERSION = 1;

export interface ObjectsProfile {
  /** Name and version of the format. */
  schema: typeof OBJECTS_SCHEMA;
  version: typeof OBJECTS_VERSION;
  /** Version of memshade that recorded the run. */
  memshade: string;
  /** Program and arguments as typed. */
  command: string[];
  /** Short name of the program. */
  program: string;
  /** Model of sizes. */
  sizes: ObjectSizes;
  /** True if accesses to fields were counted. */
  fields: boolean;
  /**
   * True if allocations were counted by their calling context; otherwise each site has one context, without callers.
   */
  contexts: boolean;
  /** Mean distance between samples at the start, bytes; 0: no samples were taken. */
  sampleBytes: number;
  /** Recorded modules. */
  modules: NamedModule[];
  /** Objects of each module. */
  parts: ModuleObjects[];
  /** Sentences about facts that the profile does not cover. */
  notTracked: string[];
}

interface ObjectSizes {
  /** Engine whose sizes the model follows. */
  engine: string;
  /** Bytes of a reference, and of the headers of structs and arrays. */
  references: number;
  structHeader: number;
  arrayHeader: number;
}

export interface ModuleObjects {
  /** Index into `modules`. */
  module: number;
  /** Number of instances. */
  instances: number;
  /** Types that were allocated, or whose fields were used. */
  types: ObjectType[];
  /** Instructions that allocated, by their offset. */
  sites: ObjectSite[];
  /** Frames of call paths. */
  frames: StackFrame[];
  /** Call paths. */
  paths: ObjectPaths;
  /** Allocations by site and call path; without contexts a row per site. */
  contexts: ObjectContexts;
  /** Followed objects. */
  samples: ObjectSamples;
  /** Figures of the instance that allocated most; undefined if they were not recorded, or nothing was allocated. */
  overTime?: ObjectsOverTime | undefined;
}

export interface ObjectType {
  /** Index in the type section. Equal types have the lowest index among them. */
  index: number;
  /** Name of the type. */
  name?: string | undefined;
  /** Kind of the type. */
  kind: "struct" | "array";
  /** Index of the type that it extends. */
  supertype?: number | undefined;
  /** Allocated objects. */
  objects: number;
  /** Objects created by constant expressions, when instances were created. */
  constant: number;
  /** Elements of arrays. */
  elements: number;
  /** Bytes of all objects, by the model. */
  bytes: number;
  /** Fields of a struct, in their order; for an array one entry, which describes its elements. */
  fields: ObjectField[];
}

export interface ObjectField {
  /** Name and type of the field. */
  name?: string | undefined;
  type: string;
  /** Size in an object, without padding. */
  bytes: number;
  /** True if the field can be written after the object was created. */
  mutable: boolean;
  /** Reads and writes by instructions that name this type; for arrays, of elements. */
  reads: number;
  writes: number;
  /**
   * True if no instruction read the field in an object of the type, neither as this type nor as a supertype or subtype.
   */
  unread: boolean;
  /** True if no instruction wrote the field after an object was created, with the same rule for types. */
  unwritten: boolean;
}

export interface ObjectSite {
  /** Offset in the code section of the module; −1: constant expressions. */
  offset: number;
  /** Index of the allocated type. */
  type: number;
  /** Name of the instruction. */
  instruction: string;
  /** Allocated objects, elements of arrays, and bytes. */
  objects: number;
  elements: number;
  bytes: number;
  /** Frame of the instruction. */
  frame?: StackFrame | undefined;
}

/** Call paths, as columns: each is a frame and the path of its caller. */
export interface ObjectPaths {
  /** Index into `frames`. */
  frame: number[];
  /** Index into these columns, lower than the path's own; −1: the path has no caller, or an unknown one. */
  caller: number[];
}

/** Exact allocations of each site in each calling context, as columns. */
interface ObjectContexts {
  /** Index into `sites`. */
  site: number[];
  /** Index into `paths`, whose innermost frame is that of the site. */
  path: number[];
  /** Allocated objects, elements of arrays, and bytes. */
  objects: number[];
  elements: number[];
  bytes: number[];
}

export interface ObjectsOverTime {
  /** Columns: bytes allocated up to the end of each interval, and objects created in it. */
  intervals: { end: number[]; objects: number[] };
  /** Contexts with most bytes, at most 256. */
  contexts: ContextOverTime[];
}

/** Allocations of one context in each interval with allocations. */
export interface ContextOverTime {
  /** Index of the context. */
  context: number;
  /** Indices of intervals. */
  intervals: number[];
  /** Allocated objects and bytes in each of them. */
  objects: number[];
  bytes: number[];
}

/** Sampled objects, as columns, instance by instance in the order of their creation. */
export interface ObjectSamples {
  /** Index into `sites`. */
  site: number[];
  /** Size in bytes, and the number of objects that the sample represents. */
  size: number[];
  weight: number[];
  /** Bytes that the instance had allocated up to and including the object. */
  birth: number[];
  /** Bytes that the instance had allocated when the object was found to be collected; −1: it was not. */
  death: number[];
  /** True if it is unknown whether the object was collected. */
  unknown: boolean[];
  /** Index into `contexts`. */
  context: number[];
  /** Index into `paths`: the JavaScript frames that entered the module; −1: not recorded. */
  host: number[];
  /** Bytes that the instance had allocated when the profile was taken, after a collection. */
  now: number[];
  /**
   * True if the engine was asked to collect before the profile was taken. Objects that were not found to be collected
   * are then in use.
   */
  settled: boolean;
}

/**
 * Computes the offsets of a struct's fields after its header, by the model of V8. Fields are in order, aligned to their
 * size up to that of a reference; small fields fill the gap that alignment has left. All values are bytes.
 */
export function placeFields(
  sizes: readonly number[],
  references: number,
): { readonly offsets: number[]; readonly end: number } {
  let end = 0;
  let gap = 0;
  let gapEnd = 0;
  const offsets = sizes.map((bytes) => {
    const alignment = Math.min(bytes, references);
    const inGap = roundUp(gap, alignment);
    if (inGap + bytes <= gapEnd) {
      gap = inGap + bytes;
      return inGap;
    }
    const start = roundUp(end, alignment);
    if (start - end > gapEnd - gap) [gap, gapEnd] = [end, start];
    end = start + bytes;
    return start;
  });
  return { offsets, end: roundUp(end, references) };
}

const field = record<ObjectField>({
  name: optional(text),
  type: text,
  ...each(count, "bytes", "reads", "writes"),
  ...each(flag, "mutable", "unread", "unwritten"),
});

const part = record<ModuleObjects>({
  module: count,
  instances: count,
  types: list(
    record<ObjectType>({
      ...each(count, "index", "objects", "constant", "elements", "bytes"),
      name: optional(text),
      kind: oneOf("struct", "array"),
      supertype: optional(count),
      fields: list(field),
    }),
  ),
  sites: list(
    record<ObjectSite>({
      ...each(count, "offset", "type", "objects", "elements", "bytes"),
      instruction: text,
      frame: optional(stackFrame),
    }),
  ),
  frames: list(stackFrame),
  paths: record<ObjectPaths>({ frame: list(count), caller: list(integer) }),
  contexts: record<ObjectContexts>({
    ...each(list(count), "site", "path", "objects", "elements", "bytes"),
  }),
  samples: record<ObjectSamples>({
    site: list(count),
    ...each(list(number), "size", "weight", "birth", "death", "now"),
    unknown: list(flag),
    context: list(count),
    host: list(integer),
    settled: flag,
  }),
  overTime: optional(
    record<ObjectsOverTime>({
      intervals: record<ObjectsOverTime["intervals"]>({ end: list(count), objects: list(count) }),
      contexts: list(
        record<ContextOverTime>({
          context: count,
          ...each(list(count), "intervals", "objects", "bytes"),
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
 * @throws UserError in one line: no JSON, another kind of file, an unknown version, or an invalid field
 */
export function readObjects(json: string): ObjectsProfile {
  const predicate = "does not tell of the objects of a run";
  const checked = profile(parseVersioned(json, OBJECTS_SCHEMA, OBJECTS_VERSION, predicate));
  checked.parts.forEach((part, i) => {
    checkPart(part, checked.modules.length, (fault) => {
      throw new UserError(`parts[${i}]: ${fault}`);
    });
  });
  return checked;
}

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
  const typeIndices = new Set(types.map(({ index }) => index));
  for (const { type } of sites) if (!typeIndices.has(type)) fail(`there is no type ${type}`);
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
