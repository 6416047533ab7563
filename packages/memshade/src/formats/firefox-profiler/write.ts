import { type SampleProfile, sumByStack } from "../../model/sample-profile.ts";
import { exactAmount } from "../amounts.ts";
import { jsonArray, jsonArrayOf, jsonObject } from "../json-pieces.ts";
import { SharedTables } from "./tables.ts";

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
 * thread per value type, whose samples stand one millisecond apart, with the values as weights.
 *
 * @throws UserError if a weight is negative or above 2^53
 */
export function* writeFirefoxProfiler(profile: SampleProfile, version: string): Generator<string> {
  const shared = new SharedTables(profile);
  const tracks = profile.samples.timeMs === undefined ? summedTracks(profile) : threadTracks(profile);
  yield* jsonObject({
    meta: meta(profile, version),
    libs: profile.modules.map(({ name, path = name, buildId = "" }) => ({
      ...{ arch: "", name, path, debugName: name, debugPath: path },
      breakpadId: `${buildId.toUpperCase().padEnd(32, "0").slice(0, 32)}0`,
      codeId: buildId === "" ? null : buildId,
    })),
    shared: shared.write(),
    threads: jsonArrayOf(tracks.map((track, index) => thread(track, index === 0))),
  });
  yield "\n";
}

function meta({ name, notes, samples }: SampleProfile, version: string): object {
  return {
    interval: meanInterval(samples.timeMs),
    startTime: 0,
    processType: 0,
    product: name,
    stackwalk: 1,
    version: GECKO_VERSION,
    preprocessedProfileVersion: PROCESSED_VERSION,
    markerSchema: [],
    categories: [
      { name: "Other", color: "grey", subcategories: ["Other"] },
      { name: "User", color: "yellow", subcategories: ["Other"] },
    ],
    symbolicated: true,
    importedFrom: `memshade ${version}`,
    usesOnlyOneStackType: true,
    sourceCodeIsNotOnSearchfox: true,
    keepProfileThreadOrder: true,
    ...(notes.length === 0
      ? {}
      : {
          extra: [
            {
              label: "What the numbers mean",
              entries: notes.map((value) => ({ label: "Note", format: "string", value })),
            },
          ],
        }),
  };
}

function meanInterval(times: readonly number[] | undefined): number {
  if (times === undefined || times.length < 2) return 1;
  return Math.max((times.at(-1)! - times[0]!) / (times.length - 1), 0.001);
}

function threadTracks({ threads, samples }: SampleProfile): Track[] {
  const tracks = threads.map(
    ({ name, pid, tid }): Track => ({
      ...{ name, pid, tid, stack: [], time: [], weight: null, weightType: "samples" },
    }),
  );
  for (let row = 0; row < samples.length; row++) {
    const { stack, time } = tracks[samples.thread[row]!]!;
    stack.push(samples.stack[row]! < 0 ? null : samples.stack[row]!);
    time.push(samples.timeMs![row]!);
  }
  return tracks.filter(({ stack }) => stack.length > 0);
}

function summedTracks(profile: SampleProfile): Track[] {
  const sums = sumByStack(profile);
  return profile.valueTypes.map(({ type, unit }, column) => {
    const rows = sums.filter(({ values }) => exactAmount(values[column]!, type) > 0);
    return {
      ...{ name: type, pid: 0, tid: column },
      stack: rows.map(({ stack }) => (stack < 0 ? null : stack)),
      time: rows.map((_row, index) => index),
      weight: rows.map(({ values }) => values[column]!),
      weightType: unit === "bytes" ? "bytes" : "samples",
    };
  });
}

function thread(track: Track, isMainThread: boolean): Generator<string> {
  const { name, pid, tid, stack, time, weight, weightType } = track;
  return jsonObject({
    ...{ processType: "default", processName: name, processStartupTime: 0, processShutdownTime: null },
    ...{ registerTime: 0, unregisterTime: null, pausedRanges: [], name, isMainThread },
    ...{ pid: String(pid), tid },
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
