import { entryOf } from "../../ground/bytes/entries.ts";
import { NONE } from "../model/indices.ts";
import {
  type CounterTrack,
  type SampleFrame,
  type SampleProfile,
  sumByStack,
} from "../model/sample-profile.ts";
import { exactAmount } from "./amounts.ts";
import { jsonArray, jsonArrayOf, jsonObject } from "./json-pieces.ts";

/** Processed format version; the front end upgrades older ones and refuses newer ones. */
const PROCESSED_VERSION = 70;
/** Version of Firefox's own (Gecko) format, on which the processed format is based. */
const GECKO_VERSION = 36;

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
 * Writes a profile for the Firefox Profiler, processed format. Samples with times become a track per thread. Other
 * samples become a track per value type, with the values as weights.
 *
 * Samples without times stand one millisecond apart, or all at the end of the time range of the profile's counters. A
 * unit of the counters' clock is shown as a millisecond.
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
  const descriptions = valueTypes.flatMap(({ type, says }) =>
    says === undefined ? [] : { label: type, value: says },
  );
  const entries = [...descriptions, ...notes.map((value) => ({ label: "Note", value }))].map((entry) => ({
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

/** Adds an empty sample at both ends of the time range, because viewers derive a track's range from its samples. */
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

/** Writes a counter track; its samples are differences. */
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

class Table {
  readonly #columns: Record<string, unknown[]>;

  constructor(columns: readonly string[]) {
    this.#columns = Object.fromEntries(columns.map((column) => [column, []]));
  }

  get length(): number {
    return Object.values(this.#columns)[0]!.length;
  }

  add(row: Record<string, unknown>): number {
    for (const [name, column] of Object.entries(this.#columns)) column.push(row[name] ?? null);
    return this.length - 1;
  }

  *write(): Generator<string> {
    const columns = Object.entries(this.#columns).map(([name, values]) => [name, jsonArray(values)]);
    yield* jsonObject({ ...Object.fromEntries(columns), length: this.length });
  }
}

/** Categories of frames (`meta.categories`); the first must exist and be grey. */
const CATEGORIES = [
  { name: "Other", color: "grey" },
  { name: "User", color: "yellow" },
  { name: "JavaScript", color: "orange" },
  { name: "Library", color: "lightblue" },
] as const;

function categoryOf({ language, library }: SampleFrame): number {
  const name = library !== undefined ? "Library" : (language ?? "User");
  return CATEGORIES.findIndex((category) => category.name === name);
}

/** Tables that all threads share, in the shape of processed version 70. */
class SharedTables {
  readonly #profile: SampleProfile;
  readonly #strings: string[] = [];
  readonly #stringIndex = new Map<string, number>();
  readonly #functions = new Table([
    "name",
    "isJS",
    "relevantForJS",
    "resource",
    "source",
    "lineNumber",
    "columnNumber",
    "originalLocation",
  ]);
  readonly #functionIndex = new Map<string, number>();
  readonly #sources = new Table(["id", "filename", "startLine", "startColumn", "sourceMapURL", "content"]);
  readonly #sourceIndex = new Map<string, number>();
  readonly #frames = new Table([
    "address",
    "lib",
    "inlineDepth",
    "category",
    "subcategory",
    "func",
    "nativeSymbol",
    "innerWindowID",
    "line",
    "column",
    "originalLocation",
  ]);
  /** Row of each pair of frame and inline depth: the same function can be inlined at several depths. */
  readonly #frameIndex = new Map<string, number>();
  readonly #stackFrame: number[] = [];
  readonly #prefixOffset: number[] = [];

  constructor(profile: SampleProfile) {
    this.#profile = profile;
    const depths: number[] = [];
    profile.stackPrefix.forEach((prefix, stack) => {
      const frame = profile.stackFrame[stack]!;
      const isInlined = profile.frames[frame]!.inlined === true && prefix !== NONE;
      depths.push(isInlined ? depths[prefix]! + 1 : 0);
      this.#stackFrame.push(this.#frame(frame, depths[stack]!));
      this.#prefixOffset.push(prefix === NONE ? 0 : stack - prefix);
    });
  }

  string(text: string): number {
    return entryOf(this.#stringIndex, text, () => this.#strings.push(text) - 1);
  }

  write(): Generator<string> {
    return jsonObject({
      stackTable: jsonObject({
        frame: jsonArray(this.#stackFrame),
        prefixOffset: jsonArray(this.#prefixOffset),
        length: this.#stackFrame.length,
      }),
      frameTable: this.#frames.write(),
      funcTable: this.#functions.write(),
      resourceTable: { length: 0, name: [], host: [], type: [] },
      nativeSymbols: { length: 0, libIndex: [], address: [], name: [], functionSize: [] },
      sources: this.#sources.write(),
      sourceLocationTable: { length: 0, source: [], line: [], column: [] },
      stringArray: jsonArray(this.#strings),
    });
  }

  #frame(index: number, inlineDepth: number): number {
    const key = `${index} ${inlineDepth}`;
    const existing = this.#frameIndex.get(key);
    if (existing !== undefined) return existing;
    const frame = this.#profile.frames[index]!;
    const row = this.#frames.add({
      address: frame.address ?? -1,
      lib: frame.module ?? -1,
      inlineDepth,
      category: categoryOf(frame),
      subcategory: 0,
      innerWindowID: 0,
      func: this.#function(frame),
      line: frame.line || null,
      column: frame.column || null,
    });
    this.#frameIndex.set(key, row);
    return row;
  }

  #function({ function: name, file, startLine, language }: SampleFrame): number {
    const key = JSON.stringify([name, file, startLine, language]);
    const existing = this.#functionIndex.get(key);
    if (existing !== undefined) return existing;
    const row = this.#functions.add({
      name: this.string(name),
      isJS: language === "JavaScript",
      relevantForJS: false,
      resource: -1,
      source: file === undefined ? null : this.#source(file),
      lineNumber: startLine || null,
    });
    this.#functionIndex.set(key, row);
    return row;
  }

  #source(file: string): number {
    return entryOf(this.#sourceIndex, file, () =>
      this.#sources.add({ filename: this.string(file), startLine: 1, startColumn: 1 }),
    );
  }
}
