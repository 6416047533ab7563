import { type CounterTrack, type SampleProfile, sumByStack } from "../../model/sample-profile.ts";
import { exactAmount } from "../amounts.ts";
import { jsonArray, jsonArrayOf, jsonObject } from "../json-pieces.ts";
import { CATEGORIES, SharedTables } from "./tables.ts";

/** The processed version written; the front end upgrades older ones and refuses newer ones. */
export const PROCESSED_VERSION = 70;
/** Of the format that Firefox itself writes, which the processed one grew out of. */
const GECKO_VERSION = 36;

/** One track: stacks in the order of time. */
interface Track {
  name: string;
  pid: number;
  tid: number;
  stack: (number | null)[];
  time: number[];
  weight: number[] | null;
  weightType: "samples" | "bytes";
}

/**
 * A profile for the Firefox Profiler, processed format. Samples with times become a thread per thread; others a
 * thread per value type, with the values as weights: they stand one millisecond apart, or all at the end of the time that
 * the profile's counters have. One unit of the counters' clock is a millisecond.
 *
 * @param shown value type whose thread is selected at first
 * @throws UserError if a weight is negative or above 2^53
 */
export function* writeFirefoxProfiler(
  profile: SampleProfile,
  version: string,
  shown?: number,
): Generator<string> {
  const shared = new SharedTables(profile);
  const isSummed = profile.samples.timeMs === undefined;
  const tracks = isSummed ? summedTracks(profile) : threadTracks(profile);
  const selected = isSummed ? tracks.findIndex(({ tid }) => tid === shown) : -1;
  const { counters = [] } = profile;
  yield* jsonObject({
    meta: { ...meta(profile, version), ...(selected < 0 ? {} : { initialSelectedThreads: [selected] }) },
    libs: profile.modules.map(({ name, path = name, buildId = "" }) => ({
      arch: "",
      name,
      path,
      debugName: name,
      debugPath: path,
      breakpadId: `${buildId.toUpperCase().padEnd(32, "0").slice(0, 32)}0`,
      codeId: buildId === "" ? null : buildId,
    })),
    shared: shared.write(),
    threads: jsonArrayOf(tracks.map((track, index) => thread(track, index === 0))),
    ...(counters.length === 0 ? {} : { counters: jsonArrayOf(counters.map(counter)) }),
  });
  yield "\n";
}

function meta({ name, notes, samples, valueTypes }: SampleProfile, version: string): object {
  const said = valueTypes.flatMap(({ type, says }) =>
    says === undefined ? [] : { label: type, value: says },
  );
  const entries = [...said, ...notes.map((value) => ({ label: "Note", value }))].map((entry) => ({
    ...entry,
    format: "string",
  }));
  return {
    interval: meanInterval(samples.timeMs),
    startTime: 0,
    processType: 0,
    product: name,
    stackwalk: 1,
    version: GECKO_VERSION,
    preprocessedProfileVersion: PROCESSED_VERSION,
    markerSchema: [],
    categories: CATEGORIES.map((category) => ({ ...category, subcategories: ["Other"] })),
    symbolicated: true,
    importedFrom: `memshade ${version}`,
    usesOnlyOneStackType: true,
    sourceCodeIsNotOnSearchfox: true,
    keepProfileThreadOrder: true,
    ...(entries.length === 0 ? {} : { extra: [{ label: "What the numbers mean", entries }] }),
  };
}

function meanInterval(times: readonly number[] | undefined): number {
  if (times === undefined || times.length < 2) return 1;
  return Math.max((times.at(-1)! - times[0]!) / (times.length - 1), 0.001);
}

function threadTracks({ threads, samples }: SampleProfile): Track[] {
  const tracks = threads.map(
    ({ name, pid, tid }): Track => ({
      name,
      pid,
      tid,
      stack: [],
      time: [],
      weight: null,
      weightType: "samples",
    }),
  );
  for (let row = 0; row < samples.length; row++) {
    const { stack, time } = tracks[samples.thread[row]!]!;
    stack.push(samples.stack[row]! < 0 ? null : samples.stack[row]!);
    time.push(samples.timeMs![row]!);
  }
  return tracks.filter(({ stack }) => stack.length > 0);
}

/** A track per value type, and that of the history. */
function summedTracks(profile: SampleProfile): Track[] {
  const sums = sumByStack(profile);
  const { counters = [], history } = profile;
  const starts = counters.map(({ times }) => times[0] ?? 0);
  const ends = counters.map(({ times }) => times.at(-1) ?? 0);
  const range = starts.length === 0 ? undefined : { start: Math.min(...starts), end: Math.max(...ends) };
  const tracks = profile.valueTypes.map(({ type, unit }, column): Track => {
    const rows = sums.filter(({ values }) => exactAmount(values[column]!, type) > 0);
    return {
      name: type,
      pid: 0,
      tid: column,
      stack: rows.map(({ stack }) => (stack < 0 ? null : stack)),
      time: rows.map((_row, index) => range?.end ?? index),
      weight: rows.map(({ values }) => values[column]!),
      weightType: unit === "bytes" ? "bytes" : "samples",
    };
  });
  if (history !== undefined)
    tracks.push({
      name: history.name,
      pid: 0,
      tid: tracks.length,
      stack: [...history.stacks],
      time: [...history.times],
      weight: [...history.values],
      weightType: history.unit === "bytes" ? "bytes" : "samples",
    });
  return range === undefined ? tracks : tracks.map((track) => spanning(track, range));
}

/** With a sample of nothing at either end of the time: viewers take the time of a track for that of its samples. */
function spanning(track: Track, { start, end }: { start: number; end: number }): Track {
  return {
    ...track,
    stack: [null, ...track.stack, null],
    time: [start, ...track.time, end],
    weight: track.weight && [0, ...track.weight, 0],
  };
}

function thread(track: Track, isMainThread: boolean): Generator<string> {
  const { name, pid, tid, stack, time, weight, weightType } = track;
  return jsonObject({
    processType: "default",
    processName: name,
    processStartupTime: 0,
    processShutdownTime: null,
    registerTime: 0,
    unregisterTime: null,
    pausedRanges: [],
    name,
    isMainThread,
    pid: String(pid),
    tid,
    samples: jsonObject({
      stack: jsonArray(stack),
      time: jsonArray(time),
      weight: weight === null ? null : jsonArray(weight),
      weightType,
      length: stack.length,
    }),
    markers: { data: [], name: [], startTime: [], endTime: [], phase: [], category: [], length: 0 },
  });
}

/** A track of the timeline; its samples are differences. */
function counter(
  { group, name, unit, clock, times, values }: CounterTrack,
  index: number,
): Generator<string> {
  return jsonObject({
    name,
    category: "Memory",
    description: `${name} of ${group}; 1 ms = 1 ${clock}`,
    pid: "0",
    mainThreadIndex: 0,
    samples: jsonObject({
      time: jsonArray(times),
      count: jsonArray(values.map((value, row) => exactAmount(value, name) - (values[row - 1] ?? 0))),
      length: times.length,
    }),
    display: {
      graphType: "line-accumulated",
      unit: unit === "bytes" ? "bytes" : "",
      color: "orange",
      markerSchemaLocation: null,
      sortWeight: index,
      label: name,
      tooltipRows: [],
    },
  });
}
