import {
  AGE_BOUNDS,
  framesOfPath,
  objectPhases,
  objectTotals,
  type Survival,
  survivalBy,
  typeName,
  unreadFields,
  unreadTypes,
  wholeSurvival,
} from "../../../explain/analyses/objects.ts";
import type { Finding } from "../../../explain/findings/index.ts";
import type {
  ModuleObjects,
  ObjectSite,
  ObjectsOverTime,
  ObjectsProfile,
  ObjectType,
} from "../../../profile/model/objects.ts";
import type { Presence } from "../../../profile/model/run.ts";
import type { StackFrame } from "../../../profile/model/working-set/working-set.ts";
import { type FindingJson, findingsJson } from "./findings.ts";
import { type PresenceJson, presenceJson } from "./presence.ts";
import { type CutJson, RankedList } from "./text.ts";

/** Report of garbage-collected objects. */
export interface ObjectsReportJson
  extends CutJson,
    Pick<
      ObjectsProfile,
      "command" | "program" | "sizes" | "fields" | "sampleBytes" | "modules" | "notTracked"
    > {
  /** Name and version of the format. */
  schema: "memshade-objects-report";
  version: 2;
  /** Run, as named on the command line. */
  input: string;
  /** Memory of the profiler, as far as known. */
  presence: PresenceJson | null;
  /** Number of all objects, their bytes, and the number of types and sites. */
  totals: { objects: number; bytes: number; types: number; sites: number };
  /** Findings; absent within the report of several tools. */
  summary: readonly FindingJson[] | undefined;
  /** Bounds of `ages`, bytes. */
  ageBounds: readonly number[];
  /** Objects of each module. */
  parts: readonly ObjectsPartJson[];
  /** Fields that no instruction reads. */
  unreadFields: RankedList<UnreadFieldJson>;
  /** Types of whose objects no instruction reads a field: index of the module, name and index of the type. */
  unreadTypes: RankedList<{ module: number; name: string; type: number; bytes: number; objects: number }>;
}

interface ObjectsPartJson {
  /** Index of the module. */
  module: number;
  /** Number of instances. */
  instances: number;
  /** Objects that were followed. */
  followed: number;
  /** True if the engine collected garbage before the profile was taken. */
  settled: boolean;
  /** Objects in use at the end; absent if none were followed. */
  inUse: Survival | undefined;
  /** Types with most bytes. */
  types: RankedList<ObjectTypeJson>;
  /** Sites with most bytes. */
  sites: RankedList<ObjectSiteJson>;
  /** Objects over time; null if not recorded. */
  overTime: ObjectsOverTimeJson | null;
}

interface ObjectTypeJson extends ObjectType {
  /** Objects of the type in use at the end. */
  inUse: Survival | undefined;
}

interface ObjectSiteJson extends ObjectSite {
  /** Objects of the site in use at the end. */
  inUse: Survival | undefined;
}

interface UnreadFieldJson {
  /** Index of the module. */
  module: number;
  /** Name of the field with its type, and index of the type. */
  name: string;
  type: number;
  /** Bytes in an object, and in all objects. */
  each: number;
  bytes: number;
  /** Objects with the field. */
  objects: number;
  /** True if the field was written. */
  written: boolean;
  /** True if most of the program's types have the field, because it belongs to the language. */
  isOfLanguage: boolean;
}

interface ObjectsOverTimeJson extends Pick<ObjectsOverTime, "intervals"> {
  /** Phases of the program. */
  phases: readonly ObjectPhaseJson[];
  /** Contexts with most bytes: offset of the site, stack, and columns by interval. */
  contexts: readonly {
    offset: number;
    stack: readonly StackFrame[];
    intervals: number[];
    objects: number[];
    bytes: number[];
  }[];
}

/** Consecutive intervals in which the same part of the program allocates about the same amount. */
interface ObjectPhaseJson {
  /** First and last interval. */
  first: number;
  last: number;
  /** Start and end, in allocated bytes. */
  start: number;
  end: number;
  /** Allocated bytes and objects. */
  bytes: number;
  objects: number;
  /** Function that allocates; null if unknown. */
  name: string | null;
  /** Part of the intervals in which that function allocated most, 0…1. */
  agreement: number;
  /** Representative stack; null if unknown. */
  stack: readonly StackFrame[] | null;
}

/** Returns the garbage-collected objects of a run for JSON (docs/report-json.md). */
export function objectsReportJson(
  profile: ObjectsProfile,
  options: {
    readonly input: string;
    readonly presence?: Presence | undefined;
    /** Findings of the run; undefined if they are not written here. */
    readonly summary?: readonly Finding[] | undefined;
  },
): ObjectsReportJson {
  const { command, program, sizes, fields, sampleBytes, modules, parts, notTracked } = profile;
  return {
    schema: "memshade-objects-report",
    version: 2,
    input: options.input,
    command,
    program,
    sizes,
    fields,
    sampleBytes,
    modules,
    notTracked,
    presence: presenceJson(options.presence),
    totals: objectTotals(profile),
    summary: options.summary && findingsJson(options.summary),
    ageBounds: AGE_BOUNDS,
    parts: parts.map((part) => {
      const { module, instances, types, sites, samples } = part;
      const byType = survivalBy(part, (sample) => sites[samples.site[sample]!]!.type);
      const bySite = survivalBy(part, (sample) => samples.site[sample]!);
      const bySize = <Row extends { readonly bytes: number }>(a: Row, b: Row) => b.bytes - a.bytes;
      return {
        module,
        instances,
        followed: samples.site.length,
        settled: samples.settled,
        inUse: wholeSurvival(part),
        types: RankedList.of(types.toSorted(bySize), (type) => ({ ...type, inUse: byType.get(type.index) })),
        sites: RankedList.of(
          sites.map((site, index) => ({ ...site, inUse: bySite.get(index) })).sort(bySize),
          (site) => site,
        ),
        overTime: overTimeJson(part),
      };
    }),
    unreadFields: RankedList.of(
      unreadFields(profile),
      ({ part, name, type, each, bytes, objects, written, isOfLanguage }) => ({
        module: part.module,
        name,
        type,
        each,
        bytes,
        objects,
        written,
        isOfLanguage,
      }),
    ),
    unreadTypes: RankedList.of(unreadTypes(profile), ({ part, type }) => ({
      module: part.module,
      name: typeName(type),
      type: type.index,
      bytes: type.bytes,
      objects: type.objects,
    })),
  };
}

/** Returns objects over time, with phases and the sites of contexts; null if not recorded. */
function overTimeJson(part: ModuleObjects): ObjectsOverTimeJson | null {
  const { overTime, contexts, sites } = part;
  if (overTime === undefined) return null;
  const stackOf = (context: number) => framesOfPath(part, contexts.path[context]!);
  return {
    intervals: overTime.intervals,
    phases: objectPhases(part).map(
      ({ first, last, start, end, bytes, objects, name, agreement, context }) => ({
        first,
        last,
        start,
        end,
        bytes,
        objects,
        name: name ?? null,
        agreement,
        stack: context < 0 ? null : stackOf(context),
      }),
    ),
    contexts: overTime.contexts.map(({ context, ...columns }) => ({
      offset: sites[contexts.site[context]!]!.offset,
      stack: stackOf(context),
      ...columns,
    })),
  };
}
