import {
  AGE_BOUNDS,
  framesOfPath,
  objectPhases,
  objectTotals,
  survivalBy,
  typeName,
  unreadFields,
  unreadTypes,
  wholeSurvival,
} from "../../../explain/analyses/objects.ts";
import type { Finding } from "../../../explain/findings/index.ts";
import type { ModuleObjects, ObjectsProfile } from "../../../profile/model/objects.ts";
import type { Presence } from "../../../profile/model/run.ts";
import { findingsJson } from "./findings.ts";
import { presenceJson } from "./presence.ts";
import { jsonText } from "./text.ts";

/** Formats the garbage-collected objects of a run as JSON (docs/report-json.md). */
export function objectsReportJson(
  profile: ObjectsProfile,
  options: {
    readonly input: string;
    readonly rows: number | undefined;
    readonly presence?: Presence | undefined;
    /** Findings of the run; undefined if they are not written here. */
    readonly summary?: readonly Finding[] | undefined;
  },
): string {
  const { command, program, sizes, fields, sampleBytes, modules, parts, notTracked } = profile;
  const most = options.rows ?? Number.POSITIVE_INFINITY;
  return jsonText({
    schema: "memshade-objects-report",
    version: 1,
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
        types: types
          .toSorted(bySize)
          .slice(0, most)
          .map((type) => ({ ...type, inUse: byType.get(type.index) })),
        sites: sites
          .map((site, index) => ({ ...site, inUse: bySite.get(index) }))
          .sort(bySize)
          .slice(0, most),
        overTime: overTimeJson(part),
      };
    }),
    unreadFields: unreadFields(profile)
      .slice(0, most)
      .map(({ part, name, type, each, bytes, objects, written, isOfLanguage }) => ({
        module: part.module,
        name,
        type,
        each,
        bytes,
        objects,
        written,
        isOfLanguage,
      })),
    unreadTypes: unreadTypes(profile)
      .slice(0, most)
      .map(({ part, type }) => ({
        module: part.module,
        name: typeName(type),
        type: type.index,
        bytes: type.bytes,
        objects: type.objects,
      })),
  });
}

/** Returns objects over time, with phases and the sites of contexts; null if not recorded. */
function overTimeJson(part: ModuleObjects): object | null {
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
