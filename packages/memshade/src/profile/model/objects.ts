import { UserError } from "../../ground/bytes/errors.ts";
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
} from "./check.ts";
import { type NamedModule, namedModule } from "./named-module.ts";
import { stackFrame } from "./working-set/read-working-set.ts";
import type { StackFrame } from "./working-set/working-set.ts";

/**
 * The record of the objects of garbage-collected languages, `objects.json`, version 1. Counts and amounts are JSON numbers; counts are
 * exact, sizes are those of a model, and what became of objects is known of a sample.
 */
export const OBJECTS_SCHEMA = "memshade-objects";
export const OBJECTS_VERSION = 1;

export interface ObjectsProfile {
  schema: typeof OBJECTS_SCHEMA;
  version: typeof OBJECTS_VERSION;
  /** Version of memshade that recorded it. */
  memshade: string;
  command: string[];
  /** Short name of the program. */
  program: string;
  sizes: ObjectSizes;
  /** Reads and writes were counted. */
  fields: boolean;
  /** Allocations were counted by their calling context; else each site has one, without callers. */
  contexts: boolean;
  /** Mean distance between samples at the start, bytes; 0: none were taken. */
  sampleBytes: number;
  modules: NamedModule[];
  parts: ModuleObjects[];
  notTracked: string[];
}

/** What sizes were computed by, bytes. */
interface ObjectSizes {
  engine: string;
  references: number;
  structHeader: number;
  arrayHeader: number;
}

/** What the instances of one module did. */
export interface ModuleObjects {
  /** Index into `modules`. */
  module: number;
  instances: number;
  /** Those that were allocated, or whose fields were used. */
  types: ObjectType[];
  /** Instructions that allocated, by their offset. */
  sites: ObjectSite[];
  /** Those of call paths, each once. */
  frames: StackFrame[];
  paths: ObjectPaths;
  contexts: ObjectContexts;
  samples: ObjectSamples;
  /** Of the instance that allocated most; undefined where nobody looked, or nothing was allocated. */
  overTime?: ObjectsOverTime | undefined;
}

export interface ObjectType {
  /** In the type section. Types that are the same have the lowest index among them. */
  index: number;
  name?: string | undefined;
  kind: "struct" | "array";
  /** The type it extends. */
  supertype?: number | undefined;
  objects: number;
  /** Those of them that constant expressions made, when instances were made. */
  constant: number;
  /** Of arrays. */
  elements: number;
  bytes: number;
  /** Of a struct, in their order; of an array one, which stands for its elements. */
  fields: ObjectField[];
}

export interface ObjectField {
  name?: string | undefined;
  /** As the text format has it. */
  type: string;
  /** In an object, without padding. */
  bytes: number;
  mutable: boolean;
  /** By instructions that name this type; of arrays, elements. */
  reads: number;
  writes: number;
  /** Nothing has read it in an object of the type: neither as this type nor as one that it extends or that extends it. */
  unread: boolean;
  /** The same of writes after an object was made. */
  unwritten: boolean;
}

/** An instruction that makes objects. */
export interface ObjectSite {
  /** In the code section of the module; −1: constant expressions. */
  offset: number;
  /** Index of the type. */
  type: number;
  /** `struct.new` … */
  instruction: string;
  objects: number;
  elements: number;
  bytes: number;
  /** Where it stands. */
  frame?: StackFrame | undefined;
}

/** Call paths, as columns: each is a frame and the path of its caller. */
export interface ObjectPaths {
  /** Index into `frames`. */
  frame: number[];
  /** Index into these columns, lower than that of the path itself; −1: nobody called, or nobody knows who. */
  caller: number[];
}

/** What each site made in each calling context, exactly, as columns. */
interface ObjectContexts {
  /** Index into `sites`. */
  site: number[];
  /** Index into `paths`: the innermost frame is that of the site. */
  path: number[];
  objects: number[];
  elements: number[];
  bytes: number[];
}

/** What one instance allocated in each interval, exactly. */
export interface ObjectsOverTime {
  /** As columns: bytes that were allocated by the end of each interval, and objects that were made in it. */
  intervals: { end: number[]; objects: number[] };
  /** The contexts that allocated most. */
  contexts: ContextOverTime[];
}

/** What was made in one context in each interval in which something was. */
export interface ContextOverTime {
  /** Index into `contexts` of the module. */
  context: number;
  /** Indices of intervals, ascending. */
  intervals: number[];
  objects: number[];
  bytes: number[];
}

/** Objects that were chosen, as columns; in the order in which they were made, instance by instance. */
export interface ObjectSamples {
  /** Index into `sites`. */
  site: number[];
  /** Size, bytes, and the number of objects that it stands for. */
  size: number[];
  weight: number[];
  /** Bytes that its instance had allocated before, up to it. */
  birth: number[];
  /** The same when it was found gone; −1: it was not. */
  death: number[];
  /** It is not known whether it is gone. */
  unknown: boolean[];
  /** Index into `contexts`. */
  context: number[];
  /** Index into `paths`: the frames of JavaScript that entered the module, where they were noted; −1: they were not. */
  host: number[];
  /** Bytes that its instance had allocated when the engine had collected and the profile was taken. */
  now: number[];
  /** The engine was asked to collect before the profile was taken: what was not found gone is in use. */
  settled: boolean;
}

/**
 * Where the fields of a struct lie behind its header, by the model of V8: in their order, aligned to their size up to that of a reference;
 * small ones fill the gap that alignment has left. All are bytes.
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

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}

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
