import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import type { ModuleObjects, ObjectSite, ObjectsProfile } from "../../../profile/model/objects.ts";
import type { StackFrame } from "../../../profile/model/working-set/working-set.ts";

/** What a site made by one call path. */
export interface SiteShare {
  /** Indices of the context and of its site. */
  readonly context: number;
  readonly index: number;
  readonly site: ObjectSite;
  /** Innermost first; empty where nothing is known. */
  readonly frames: readonly StackFrame[];
  /** By the model of sizes. As objects, exact for all paths together that differ in nothing but the JavaScript that entered the module. */
  readonly bytes: number;
  readonly objects: number;
  /** Bytes in use, an estimate. */
  readonly live: number;
  /** Part of its context, from 0 to 1. */
  readonly part: number;
}

/** Bytes by path of the host, −1: none. */
type HostBytes = Map<number, number>;

/**
 * What sites made, by calling context. Who entered the module is noted of some of the objects that were followed: the others have the callers of
 * the nearest such one, and contexts without any are shared out as all that begin in the same function.
 */
export function siteShares(part: ModuleObjects): SiteShare[] {
  const { contexts, sites, samples } = part;
  const live = new Float64Array(contexts.site.length);
  samples.context.forEach((context, sample) => {
    if (samples.death[sample]! < 0 && !samples.unknown[sample]!)
      live[context]! += samples.size[sample]! * samples.weight[sample]!;
  });
  const hostsOf = hostsByContext(part);
  return contexts.site.flatMap((index, context): SiteShare[] => {
    const own = framesOfPath(part, contexts.path[context]!);
    const hosts = hostsOf(context);
    const all = [...hosts.values()].reduce((sum, bytes) => sum + bytes, 0);
    return [...hosts].map(([host, bytes]) => {
      const share = bytes / all;
      return {
        context,
        index,
        site: sites[index]!,
        part: share,
        frames: host < 0 ? own : [...own, ...framesOfPath(part, host)],
        bytes: contexts.bytes[context]! * share,
        objects: contexts.objects[context]! * share,
        live: live[context]! * share,
      };
    });
  });
}

/** What a run is told with whose {@link callersAreEstimated}. */
export const ESTIMATED_CALLERS =
  "How much was made for each JavaScript caller is estimated by the objects that were followed.";

/** Whether several paths of JavaScript share what one context made. */
export function callersAreEstimated({ parts }: ObjectsProfile): boolean {
  return parts.some((part) => siteShares(part).some((share) => share.part < 1));
}

/** The call path by which each site made most bytes, by the site's index. */
export function busiestPaths(part: ModuleObjects): ReadonlyMap<number, readonly StackFrame[]> {
  const busiest = new Map<number, SiteShare>();
  for (const share of siteShares(part)) {
    const known = busiest.get(share.index);
    if (known === undefined || share.bytes > known.bytes) busiest.set(share.index, share);
  }
  return new Map([...busiest].map(([index, { frames }]) => [index, frames]));
}

/** The frames of a call path, innermost first. */
export function framesOfPath({ frames, paths }: ModuleObjects, path: number): StackFrame[] {
  const found: StackFrame[] = [];
  for (let at = path; at >= 0; at = paths.caller[at]!) found.push(frames[paths.frame[at]!]!);
  return found;
}

const NOBODY: HostBytes = new Map([[-1, 1]]);

function hostsByContext(part: ModuleObjects): (context: number) => HostBytes {
  const { contexts, samples } = part;
  const noted = samples.host.flatMap((host, sample) => (host < 0 ? [] : sample));
  if (noted.length === 0) return () => NOBODY;
  const entries = contexts.path.map((path) => entryOf(part, path));
  const notedOfContext = groupBy(noted, (sample) => samples.context[sample]!);
  const notedOfEntry = groupBy(noted, (sample) => entries[samples.context[sample]!]!);
  const ofContext = new Map<number, HostBytes>();
  const ofEntry = new Map<number, HostBytes>();
  samples.context.forEach((context, sample) => {
    const among = notedOfContext.get(context) ?? notedOfEntry.get(entries[context]!);
    if (among === undefined) return;
    const host = samples.host[nearest(among, sample)]!;
    const bytes = samples.size[sample]! * samples.weight[sample]!;
    addTo(ofContext, context, host, bytes);
    addTo(ofEntry, entries[context]!, host, bytes);
  });
  return (context) => ofContext.get(context) ?? ofEntry.get(entries[context]!) ?? NOBODY;
}

function groupBy(values: readonly number[], keyOf: (value: number) => number): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    group.push(value);
  }
  return groups;
}

/** The one of ascending numbers that is nearest to another one. */
function nearest(numbers: readonly number[], to: number): number {
  const above = partitionPoint(0, numbers.length, (index) => numbers[index]! < to);
  const [before, behind] = [numbers[above - 1], numbers[above]];
  if (before === undefined) return behind!;
  return behind === undefined || to - before < behind - to ? before : behind;
}

/** The function in which a path begins. */
function entryOf({ frames, paths }: ModuleObjects, path: number): number {
  let at = path;
  while (paths.caller[at]! >= 0) at = paths.caller[at]!;
  return frames[paths.frame[at]!]!.function;
}

function addTo(sums: Map<number, HostBytes>, key: number, host: number, bytes: number): void {
  const of = sums.get(key) ?? new Map<number, number>();
  sums.set(key, of);
  of.set(host, (of.get(host) ?? 0) + bytes);
}
