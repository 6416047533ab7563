import { entryOf } from "../../../../../ground/bytes/entries.ts";
import { type Bound, unseenBounds } from "../../../../../profile/model/bound.ts";
import { counted, groupDigits } from "../../../../../profile/model/counted.ts";
import type { CpuSamples } from "../../../../../profile/model/cpu.ts";
import { NONE } from "../../../../../profile/model/indices.ts";
import type { NamedModule } from "../../../../../profile/model/named-module.ts";
import { MEMSHADE_VERSION } from "../../../../../profile/model/version.ts";
import {
  type InstanceWorkingSet,
  MEASURES,
  type StackFrame,
  WORKING_SET_SCHEMA,
  WORKING_SET_VERSION,
  type WorkingSetProfile,
} from "../../../../../profile/model/working-set/working-set.ts";
import {
  buildLevels,
  type SnapshotRecord,
  totalOf,
} from "../../../../../profile/model/working-set/working-set-series.ts";
import { PATIENCE } from "../layout.ts";
import { describeOwners } from "./describe-owners.ts";
import type { IntervalRecords, NativeWorkingSetSession } from "./native-session.ts";

const NS_PER_MS = 1e6;
const MOST_FRAMES = 48;
const ALONE = `The end of an interval was not recorded within ${PATIENCE} seconds: the last interval holds all lines touched from then on, and its accesses are not counted.`;
const RACES =
  "Accesses of threads at the same time may count as one, usually a few percent: intervals contain more accesses than stated, and runs differ.";

export interface DescribedWorkingSet {
  profile: WorkingSetProfile;
  description: Record<string, number | string | boolean>;
  bounds: Bound[];
}

/**
 * Makes the profile of a recorded session.
 *
 * @param samples call paths by CPU time; the last one of an interval becomes the interval's stack
 * @param start origin of the samples' times, ns of the monotonic clock
 */
export function describeNative(
  session: NativeWorkingSetSession,
  run: {
    command: readonly string[];
    program: string;
    modules: readonly NamedModule[];
    threads: number;
    pathOf: (context: number) => number[] | undefined;
  },
  samples: CpuSamples | undefined,
  start: number,
): DescribedWorkingSet | undefined {
  const { records: intervals, timing, lines, refused } = session;
  if (intervals === undefined || intervals.records.length === 0) return undefined;
  const { records } = intervals;
  const last = records[records.length - 1];
  const levels = buildLevels(records, true);
  const owners = describeOwners(session, levels, run.program, run.pathOf);
  const { stacks, stackOf } = stacksOf(intervals, levels[0].start.length, samples, start);
  const instance: InstanceWorkingSet = {
    module: 0,
    instance: 0,
    duration: last.end,
    period: timing.interval * 2 ** last.scale,
    snapshots: records.length - 1,
    memoryBytes: lines.touchedBytes,
    profilerBytes: lines.ownBytes,
    total: Object.fromEntries(MEASURES.map((measure) => [measure, totalOf(records, measure)])),
    levels,
    stackOf,
    stacks,
    ...(owners === undefined ? {} : { owners }),
  };
  const options = {
    interval: timing.interval,
    maxIntervals: timing.maxIntervals,
    assumeAligned: false,
    firstTouch: false,
    fill: false,
    owners: owners !== undefined,
  };
  const profile: WorkingSetProfile = {
    schema: WORKING_SET_SCHEMA,
    version: WORKING_SET_VERSION,
    memshade: MEMSHADE_VERSION,
    command: [...run.command],
    program: run.program,
    lineBytes: 64,
    unit: timing.unit,
    options,
    modules: [...run.modules],
    instances: [instance],
    notTracked: [
      ...(timing.unit === "accesses" && run.threads > 1 ? [RACES] : []),
      ...(timing.unit === "accesses" ? [] : lateIntervals(records, timing.interval)),
      ...(session.isAlone ? [ALONE] : []),
      ...(refused === 0
        ? []
        : [`${counted(refused, "range of lines is", "ranges of lines are")} missing: the tables were full.`]),
    ],
  };
  const bounds = refused === 0 ? [] : unseenBounds("the tables of lines were full", ["lines"]);
  return { profile, description: { unit: timing.unit, ...options }, bounds };
}

/** Returns a sentence about intervals that ended at least a whole interval late. Times are in ns. */
export function lateIntervals(
  records: readonly Pick<SnapshotRecord, "start" | "end" | "scale">[],
  interval: number,
): string[] {
  const late = records.filter(({ start, end, scale }) => end - start >= 2 * interval * 2 ** scale);
  if (late.length === 0) return [];
  const longest = Math.max(...late.map(({ start, end }) => end - start));
  return [
    `${counted(late.length, "interval")} of ${groupDigits(records.length)} took at least twice as long as requested, up to ${inMs(longest)}: the machine was busy, the program was starting, or reading the lines took longer than an interval.`,
  ];
}

function inMs(nanoseconds: number): string {
  return `${Number((nanoseconds / NS_PER_MS).toPrecision(3))} ms`;
}

/** Returns the stack of each interval, its last sample. A merged interval has the stack of its later half. */
function stacksOf(
  { records, moments }: IntervalRecords,
  count: number,
  samples: CpuSamples | undefined,
  start: number,
): Pick<InstanceWorkingSet, "stacks" | "stackOf"> {
  const stackOf: number[] = new Array<number>(count).fill(NONE);
  const stacks: StackFrame[][] = [];
  if (samples === undefined) return { stacks, stackOf };
  const numbers = new Map<number, number>();
  let row = 0;
  const last = records[records.length - 1].scale;
  records.forEach((record, i) => {
    let sample: number = NONE;
    for (
      ;
      row < samples.samples.ms.length && samples.samples.ms[row] * NS_PER_MS + start <= moments[i];
      row++
    )
      sample = samples.samples.stack[row];
    if (sample === NONE) return;
    const number = entryOf(numbers, sample, () => stacks.push(framesOf(sample, samples)) - 1);
    stackOf[Math.floor(record.interval / 2 ** (last - record.scale))] = number;
  });
  return { stacks, stackOf };
}

/** Function and call offset hold the site number until the frame is symbolized. */
function framesOf(stack: number, { stacks: { caller, site } }: CpuSamples): StackFrame[] {
  const frames: StackFrame[] = [];
  for (let at = stack; at !== NONE && frames.length < MOST_FRAMES; at = caller[at])
    frames.push({ function: site[at], offset: site[at] });
  return frames;
}
