import { partitionPoint } from "../../ground/bytes/columns.ts";
import { MIB } from "../../ground/bytes/sizes.ts";
import {
  type ModuleObjects,
  type ObjectSite,
  type ObjectsProfile,
  type ObjectType,
  placeFields,
} from "../../profile/model/objects.ts";
import type { StackFrame } from "../../profile/model/working-set/working-set.ts";
import { fromOwn } from "./frames/own-place.ts";
import { type Phase, phasesOf } from "./phases.ts";

interface UnreadField {
  readonly part: ModuleObjects;
  /** Name with the type that has the field: the only one, or their common supertype. */
  readonly name: string;
  readonly type: number;
  readonly types: readonly ObjectType[];
  /** Size in one object and in all objects together, bytes. */
  readonly each: number;
  readonly bytes: number;
  readonly objects: number;
  readonly written: boolean;
  /** True if all objects of the language have the field: it belongs to the compiler, not to the program. */
  readonly isOfLanguage: boolean;
}

interface UnreadType {
  readonly part: ModuleObjects;
  readonly type: ObjectType;
}

/** Allocated struct type with its unread fields, without those that all objects of the language have. */
interface UnreadOfType {
  readonly part: ModuleObjects;
  readonly type: ObjectType;
  /** Offsets are sums of the preceding sizes, without padding. */
  readonly fields: readonly {
    readonly offset: number;
    readonly size: number;
    readonly name: string;
    readonly written: boolean;
  }[];
}

/**
 * Returns the unread fields, those with most bytes first. Fields of types without any read are left out, because the
 * types are reported.
 */
export function unreadFields({ parts, fields }: ObjectsProfile): UnreadField[] {
  if (!fields) return [];
  return parts.flatMap(unreadOfPart).sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
}

export function unreadTypes({ parts, fields }: ObjectsProfile): UnreadType[] {
  if (!fields) return [];
  return parts
    .flatMap((part) => part.types.filter(isUnread).map((type) => ({ part, type })))
    .sort((a, b) => b.type.bytes - a.type.bytes || a.type.index - b.type.index);
}

/** Returns all struct types with objects, and their unread fields. */
export function unreadByType({ parts, sizes, fields: areCounted }: ObjectsProfile): UnreadOfType[] {
  if (!areCounted) return [];
  return parts.flatMap((part) => {
    const byIndex = typesByIndex(part);
    const ofLanguage = typesOfLanguage(part, byIndex);
    return part.types
      .filter(({ kind, objects }) => kind === "struct" && objects > 0)
      .map((type): UnreadOfType => {
        const { offsets } = placeFields(
          type.fields.map(({ bytes }) => bytes),
          sizes.references,
        );
        const fields = type.fields.flatMap(({ name, bytes, unread, unwritten }, field) => {
          const offset = sizes.structHeader + offsets[field]!;
          return unread && !ofLanguage.has(ownerOf(type, field, byIndex))
            ? [{ offset, size: bytes, name: name || `${field}`, written: !unwritten }]
            : [];
        });
        return { part, type, fields };
      });
  });
}

function isUnread({ objects, fields }: ObjectType): boolean {
  return objects > 0 && fields.length > 0 && fields.every(({ unread }) => unread);
}

function unreadOfPart(part: ModuleObjects): UnreadField[] {
  const byIndex = typesByIndex(part);
  const ofLanguage = typesOfLanguage(part, byIndex);
  const found = new Map<string, { types: ObjectType[]; owner: ObjectType; field: number }>();
  for (const type of part.types) {
    if (type.kind === "array" || type.objects === 0 || isUnread(type)) continue;
    type.fields.forEach(({ unread }, field) => {
      if (!unread) return;
      const owner = ownerOf(type, field, byIndex);
      const key = `${owner.index}.${field}`;
      const existing = found.get(key);
      if (existing === undefined) found.set(key, { types: [type], owner, field });
      else existing.types.push(type);
    });
  }
  return [...found.values()].map(({ types, owner, field }) => {
    const named = types.length === 1 ? types[0]! : owner;
    const objects = types.reduce((sum, type) => sum + type.objects, 0);
    const { bytes } = types[0]!.fields[field]!;
    return {
      part,
      name: fieldName(named, field),
      type: named.index,
      types,
      each: bytes,
      bytes: bytes * objects,
      objects,
      written: types.some((type) => !type.fields[field]!.unwritten),
      isOfLanguage: ofLanguage.has(owner),
    };
  });
}

/** Least number of struct types from which a language's root type can be recognized. */
const LEAST_TYPES = 8;

/**
 * Returns the types that a language derives a program's types from: those that most of the structs created by code
 * extend. Structs created by constant expressions, such as method tables, do not count.
 */
function typesOfLanguage(
  { types }: ModuleObjects,
  byIndex: ReadonlyMap<number, ObjectType>,
): ReadonlySet<ObjectType> {
  const structs = types.filter(({ kind, objects, constant }) => kind === "struct" && objects > constant);
  if (structs.length < LEAST_TYPES) return new Set();
  const counts = new Map<ObjectType, number>();
  for (const type of structs)
    for (const above of ancestors(type, byIndex)) counts.set(above, (counts.get(above) ?? 0) + 1);
  return new Set([...counts].filter(([, count]) => 2 * count > structs.length).map(([type]) => type));
}

function ancestors(type: ObjectType, byIndex: ReadonlyMap<number, ObjectType>): ObjectType[] {
  const found: ObjectType[] = [];
  for (let at = type; at.supertype !== undefined && found.length <= byIndex.size; ) {
    const above = byIndex.get(at.supertype);
    if (above === undefined) break;
    found.push(above);
    at = above;
  }
  return found;
}

/** Returns the type that introduced a field: the outermost supertype that has it. */
function ownerOf(type: ObjectType, field: number, byIndex: ReadonlyMap<number, ObjectType>): ObjectType {
  return ancestors(type, byIndex).findLast(({ fields }) => fields.length > field) ?? type;
}

export function typeName({ name, kind, index }: ObjectType): string {
  return name || `${kind} ${index}`;
}

/** Returns `Node.debugName`; `Node.3` if the field has no name; `Bytes[]` for elements. */
function fieldName(type: ObjectType, field: number): string {
  if (type.kind === "array") return `${typeName(type)}[]`;
  return `${typeName(type)}.${type.fields[field]?.name || field}`;
}

export function typesByIndex({ types }: ModuleObjects): ReadonlyMap<number, ObjectType> {
  return new Map(types.map((type) => [type.index, type]));
}

/** Estimate of objects in use, from those that were followed. */
export interface Survival {
  /** Objects in use, their bytes, and the standard error of the bytes. */
  readonly objects: number;
  readonly bytes: number;
  readonly error: number;
  /** Objects that were followed. */
  readonly followed: number;
  /**
   * Bytes by age: one entry per bound of {@link AGE_BOUNDS}, with the objects younger than it and not younger than the
   * previous bound; the last entry is older.
   */
  readonly ages: readonly number[];
}

/** Bounds of ages, which are bytes allocated since the object's creation. */
export const AGE_BOUNDS: readonly number[] = [MIB, 16 * MIB, 256 * MIB];

interface Sums {
  objects: number;
  bytes: number;
  variance: number;
  followed: number;
  ages: number[];
}

/** Estimates the objects in use by the key of each sample; undefined keys are left out. */
export function survivalBy<Key>(
  { samples }: ModuleObjects,
  keyOf: (sample: number) => Key | undefined,
): Map<Key, Survival> {
  const found = new Map<Key, Sums>();
  samples.site.forEach((_, sample) => {
    if (samples.death[sample]! >= 0 || samples.unknown[sample]!) return;
    const key = keyOf(sample);
    if (key === undefined) return;
    let sums = found.get(key);
    if (sums === undefined) {
      sums = { objects: 0, bytes: 0, variance: 0, followed: 0, ages: [...AGE_BOUNDS, 0].map(() => 0) };
      found.set(key, sums);
    }
    const [size, weight] = [samples.size[sample]!, samples.weight[sample]!];
    const age = samples.now[sample]! - samples.birth[sample]!;
    const bound = AGE_BOUNDS.findIndex((most) => age < most);
    sums.objects += weight;
    sums.bytes += weight * size;
    // Variance of an estimator that weights each sample with the inverse of its probability.
    sums.variance += weight * (weight - 1) * size * size;
    sums.followed++;
    sums.ages[bound < 0 ? AGE_BOUNDS.length : bound]! += weight * size;
  });
  return new Map(
    [...found].map(([key, { variance, ...sums }]) => [
      key,
      { ...sums, error: Math.sqrt(Math.max(0, variance)) },
    ]),
  );
}

/** Upper bound, at 95 % confidence, of the expected number of missed objects when no followed object is in use. */
const MOST_MISSED = 3;

/** Estimates the objects in use of a module; undefined if no objects were followed. */
export function wholeSurvival(part: ModuleObjects): Survival | undefined {
  const { size, weight } = part.samples;
  if (size.length === 0) return undefined;
  const found = survivalBy(part, () => 0).get(0);
  if (found !== undefined) return found;
  const largest = size.reduce((most, bytes, sample) => Math.max(most, bytes * weight[sample]!), 0);
  const ages = [...AGE_BOUNDS, 0].map(() => 0);
  return { objects: 0, bytes: 0, error: MOST_MISSED * largest, followed: 0, ages };
}

/**
 * Least part of the deaths that must be observed before the end. A death that is observed only at the end has an
 * unknown time.
 */
const LEAST_SEEN = 0.5;

/**
 * Estimates the bytes in use at ascending times, which are bytes allocated. Undefined if the engine could not report
 * collected objects during the run: it does so between the tasks of a program, not inside one.
 */
export function liveAt({ samples }: ModuleObjects, times: readonly number[]): number[] | undefined {
  const dead = samples.death.filter((death) => death >= 0);
  if (dead.length === 0 && !samples.settled) return undefined;
  const isSeen = (death: number, sample: number) => death >= 0 && death < samples.now[sample]!;
  if (samples.site.length === 0 || samples.death.filter(isSeen).length < dead.length * LEAST_SEEN)
    return undefined;
  const changes = new Array<number>(times.length + 1).fill(0);
  const stepOf = (at: number): number => partitionPoint(0, times.length, (step) => times[step]! < at);
  samples.site.forEach((_, sample) => {
    const bytes = samples.size[sample]! * samples.weight[sample]!;
    changes[stepOf(samples.birth[sample]!)]! += bytes;
    if (samples.death[sample]! >= 0) changes[stepOf(samples.death[sample]!)]! -= bytes;
  });
  let live = 0;
  return changes.slice(0, times.length).map((change) => {
    live += change;
    return Math.max(0, live);
  });
}

/** Returns the ends of equal stretches of all allocated bytes. */
export function equalStretches({ samples }: ModuleObjects, count: number): number[] {
  const end = samples.now.reduce((most, now) => Math.max(most, now), 0);
  return Array.from({ length: count }, (_, step) => ((step + 1) * end) / count);
}

export interface SiteShare {
  readonly context: number;
  readonly index: number;
  readonly site: ObjectSite;
  readonly frames: readonly StackFrame[];
  /**
   * Bytes by the size model. Bytes and objects are exact for the sum of all paths that differ only in their JavaScript
   * frames.
   */
  readonly bytes: number;
  readonly objects: number;
  readonly live: number;
  /** Share of its context, from 0 to 1. */
  readonly part: number;
}

/** Bytes by host path; −1: none. */
type HostBytes = Map<number, number>;

/**
 * Returns the allocations of sites by calling context. Host callers are recorded for some of the followed objects.
 * Other objects get the callers of the nearest such one. Contexts without any are divided like all contexts with the
 * same entry function.
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
    const total = [...hosts.values()].reduce((sum, bytes) => sum + bytes, 0);
    return [...hosts].map(([host, bytes]) => {
      const share = bytes / total;
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

export const ESTIMATED_CALLERS =
  "How much was made for each JavaScript caller is estimated by the objects that were followed.";

/** Returns true if several JavaScript paths share the allocations of one context. */
export function callersAreEstimated({ parts }: ObjectsProfile): boolean {
  return parts.some((part) => siteShares(part).some((share) => share.part < 1));
}

/** Returns the call path with most bytes of each site, by the site's index. */
export function busiestPaths(part: ModuleObjects): ReadonlyMap<number, readonly StackFrame[]> {
  const busiest = new Map<number, SiteShare>();
  for (const share of siteShares(part)) {
    const existing = busiest.get(share.index);
    if (existing === undefined || share.bytes > existing.bytes) busiest.set(share.index, share);
  }
  return new Map([...busiest].map(([index, { frames }]) => [index, frames]));
}

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

/** Returns the nearest of ascending numbers. */
function nearest(numbers: readonly number[], to: number): number {
  const above = partitionPoint(0, numbers.length, (index) => numbers[index]! < to);
  const [before, behind] = [numbers[above - 1], numbers[above]];
  if (before === undefined) return behind!;
  return behind === undefined || to - before < behind - to ? before : behind;
}

function entryOf({ frames, paths }: ModuleObjects, path: number): number {
  let at = path;
  while (paths.caller[at]! >= 0) at = paths.caller[at]!;
  return frames[paths.frame[at]!]!.function;
}

function addTo(sums: Map<number, HostBytes>, key: number, host: number, bytes: number): void {
  const hosts = sums.get(key) ?? new Map<number, number>();
  sums.set(key, hosts);
  hosts.set(host, (hosts.get(host) ?? 0) + bytes);
}

/** Start and end of intervals, in bytes allocated, and their contents. */
interface ObjectIntervals {
  readonly start: readonly number[];
  readonly end: readonly number[];
  readonly bytes: readonly number[];
  readonly objects: readonly number[];
}

/** Consecutive intervals in which the same part of the program allocates about the same amount. */
export interface ObjectPhase extends Phase {
  readonly bytes: number;
  readonly objects: number;
  /** Index of its representative context, −1: none is known. */
  readonly context: number;
}

interface SiteOverTime {
  readonly site: number;
  readonly bytes: readonly number[];
  readonly most: number;
}

export function objectIntervals({ overTime }: ModuleObjects): ObjectIntervals | undefined {
  if (overTime === undefined) return undefined;
  const { end, objects } = overTime.intervals;
  const start = end.map((_, interval) => end[interval - 1] ?? 0);
  return { start, end, objects, bytes: end.map((at, interval) => at - start[interval]!) };
}

/** Finds phases by the mean size of objects, and by the context that allocated most in each interval. */
export function objectPhases(part: ModuleObjects): ObjectPhase[] {
  const intervals = objectIntervals(part);
  if (intervals === undefined) return [];
  const { start, end, bytes, objects } = intervals;
  const busiest = start.map(() => ({ context: -1, bytes: 0 }));
  for (const { context, ...columns } of part.overTime!.contexts)
    columns.intervals.forEach((interval, row) => {
      if (columns.bytes[row]! > busiest[interval]!.bytes)
        busiest[interval] = { context, bytes: columns.bytes[row]! };
    });
  const stackOf = busiest.map(({ context }) => context);
  const stacks: StackFrame[][] = part.contexts.path.map(() => []);
  for (const context of new Set(stackOf))
    if (context >= 0) stacks[context] = [...fromOwn(framesOfPath(part, part.contexts.path[context]!)).stack];
  const sizes = bytes.map((intervalBytes, interval) => intervalBytes / Math.max(1, objects[interval]!));
  const sum = (values: readonly number[], { first, last }: Phase) =>
    values.slice(first, last + 1).reduce((total, value) => total + value, 0);
  return phasesOf({ start, end, sizes, stackOf, stacks }).map((phase) => ({
    ...phase,
    bytes: sum(bytes, phase),
    objects: sum(objects, phase),
    context: phase.stack,
  }));
}

/** Returns the sites of the contexts that were recorded over time, those that allocated most in an interval first. */
export function objectSitesOverTime({ contexts, overTime }: ModuleObjects): SiteOverTime[] {
  if (overTime === undefined) return [];
  const bySite = new Map<number, number[]>();
  for (const { context, intervals, bytes } of overTime.contexts) {
    const site = contexts.site[context]!;
    const values = bySite.get(site) ?? overTime.intervals.end.map(() => 0);
    bySite.set(site, values);
    intervals.forEach((interval, row) => {
      values[interval]! += bytes[row]!;
    });
  }
  return [...bySite]
    .map(([site, bytes]) => ({ site, bytes, most: bytes.reduce((most, value) => Math.max(most, value), 0) }))
    .sort((a, b) => b.most - a.most);
}

/** Returns the totals of all modules of a run; bytes follow the size model. */
export function objectTotals({ parts }: ObjectsProfile): {
  objects: number;
  bytes: number;
  types: number;
  sites: number;
} {
  const types = parts.flatMap((part) => part.types).filter(({ objects }) => objects > 0);
  return {
    objects: types.reduce((sum, { objects }) => sum + objects, 0),
    bytes: types.reduce((sum, { bytes }) => sum + bytes, 0),
    types: types.length,
    sites: parts.reduce((sum, { sites }) => sum + sites.length, 0),
  };
}
