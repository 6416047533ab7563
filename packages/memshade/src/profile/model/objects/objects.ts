import type { NamedModule } from "../named-module.ts";
import type { StackFrame } from "../working-set/working-set.ts";

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
export interface ObjectSizes {
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
export interface ObjectContexts {
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
