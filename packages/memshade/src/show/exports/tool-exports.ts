import { objectTotals } from "../../explain/analyses/objects.ts";
import type { RecordedTools } from "../../explain/analyses/recorded-tools.ts";
import { LONGEST_TEMPORARY_LIFETIME } from "../../explain/analyses/temporary.ts";
import { measure } from "../../explain/measures/index.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { type DhatColumns, type DhatHeader, type DhatLives, writeDhat } from "../../profile/formats/dhat.ts";
import type { CpuProfile } from "../../profile/model/cpu.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { knowsField } from "../../profile/model/known-fields.ts";
import type { CounterTrack, SampleProfile } from "../../profile/model/sample-profile.ts";
import { commandLine } from "../../profile/model/shell-words.ts";
import { heapCsvLines } from "../report/json/heap-csv.ts";
import { workingSetCsv } from "../report/json/working-set-csv.ts";
import {
  allocationHistory,
  type CountedWeight,
  detailedHeapCounters,
  type ExportedSamples,
  type History,
  heapCounters,
  type Weight,
  workingSetCounters,
} from "./samples.ts";

type Profiles = { readonly [Part in keyof RecordedTools]-?: NonNullable<RecordedTools[Part]> };

export type ToolProfile = {
  [Part in keyof Profiles]: { readonly tool: Part; readonly profile: Profiles[Part] };
}[keyof Profiles];

/** Export functions of one tool, in addition to its measures. */
interface ToolExport<Profile> {
  /** Stacks and weights of a tool without measures. */
  readonly weights?: readonly Weight[];
  samples?(profile: Profile): ExportedSamples;
  /** Records over time, exported beside stacks. */
  counters?(profile: Profile): CounterTrack[];
  history?(profile: Profile): History | undefined;
  /**
   * Writes a DHAT file with all its fields. Other tools' DHAT files have one weight: its bytes, its count and
   * the accesses of the run.
   */
  dhat?(profile: Profile, exported: ExportedSamples): Iterable<string>;
  dhatScale?(profile: Profile): { readonly lineBytes: number; readonly end: number };
  /** Records over time, exported on their own: as a table and as counters. */
  readonly overTime?: {
    isKnown?(profile: Profile): boolean;
    csv(profile: Profile): Iterable<string>;
    counters(profile: Profile): CounterTrack[];
  };
  /** Reason why a tool has no record over time, as the end of a sentence about a format's files. */
  readonly noTimeline?: string;
}

/** Weights of call paths by CPU time, in file order. */
const CPU_WEIGHTS: readonly Weight[] = [
  {
    key: "samples",
    type: "samples",
    unit: "count",
    says: "samples of a call path, each with those before it that were lost",
  },
  { key: "cpu", type: "cpu", unit: "nanoseconds", says: "CPU time that the samples stand for" },
];

/** Returns the samples unchanged, with threads and times. */
function cpuSamples({ samples, notTracked }: CpuProfile): ExportedSamples {
  const profile = { ...samples, valueTypes: CPU_WEIGHTS, notes: [...samples.notes, ...notTracked] };
  return { profile, weights: CPU_WEIGHTS, shown: 0 };
}

/** Export functions by tool. A tool without an entry exports its call paths with its measures. */
export const TOOL_EXPORTS: { readonly [Part in keyof Profiles]: ToolExport<Profiles[Part]> } = {
  heap: {
    counters: heapCounters,
    history: allocationHistory,
    dhat: heapDhat,
    overTime: {
      isKnown: ({ overTime }) => overTime !== undefined,
      *csv(profile) {
        for (const line of heapCsvLines(profile)) yield `${line}\n`;
      },
      counters: detailedHeapCounters,
    },
  },
  waste: { dhatScale: ({ totals: { stores, loads } }) => ({ lineBytes: 1, end: stores + loads }) },
  workingset: {
    counters: workingSetCounters,
    dhatScale: ({ lineBytes, instances }) => ({
      lineBytes,
      end: instances.reduce((sum, { duration }) => sum + duration, 0),
    }),
    overTime: { csv: (profile) => [workingSetCsv(profile)], counters: workingSetCounters },
  },
  objects: {
    dhatScale: (profile) => ({ lineBytes: 1, end: objectTotals(profile).bytes }),
    noTimeline: "the heap and working sets over time: objects over time are in memshade report --json",
  },
  statics: { dhatScale: ({ accesses }) => ({ lineBytes: 1, end: accesses }) },
  cpu: {
    weights: CPU_WEIGHTS,
    samples: cpuSamples,
    noTimeline: "amounts over time: samples are in --format firefox with their times",
  },
};

export function toolExport(tool: ToolProfile["tool"]): ToolExport<ToolProfile["profile"]> {
  return TOOL_EXPORTS[tool] ?? {};
}

export function isOverTime(tool: ToolProfile["tool"]): boolean {
  return toolExport(tool).overTime !== undefined;
}

/**
 * Requires a record over time.
 *
 * @param asking the request, as the user typed it
 * @throws UserError if it was not recorded
 */
export function requireOverTime({ tool, profile }: ToolProfile, input: string, asking: string): void {
  if (toolExport(tool).overTime?.isKnown?.(profile) !== false) return;
  throw new UserError(
    `${input} has no ${tool} over time: ${asking} needs a run of memshade with the ${tool} tool`,
  );
}

/** Returns the error for a format over time that a tool does not support. */
export function noTimeline(format: string, tool: ToolProfile["tool"]): UserError {
  const { noTimeline: why = `data over time: ${tool} has none` } = toolExport(tool);
  return new UserError(`${format} files hold ${why}`);
}

/** Unit names of DHAT's own files. */
const DHAT_UNITS: Readonly<Record<string, { unit: string; million: string } | undefined>> = {
  ms: { unit: "ms", million: "ks" },
  instructions: { unit: "instrs", million: "Minstr" },
};

/**
 * Writes the heap for DHAT's viewer: totals; for runs also lifetimes, maxima, the peak and the end. Requires
 * `canBeDhat`.
 */
function heapDhat(profile: HeapProfile, { profile: samples }: ExportedSamples): Generator<string> {
  const { description } = profile;
  const column = (id: string): readonly number[] | undefined => columnOf(samples, measure(id).sample!.type);
  const [rb, wb] = [column("read-bytes"), column("written-bytes")];
  const columns: DhatColumns = {
    tb: column("bytes")!,
    tbk: column("blocks")!,
    lives: livesOf(profile, samples.samples.length, column),
    accesses: rb && wb && { rb, wb },
  };
  const { unit } = description.clock;
  const clock = DHAT_UNITS[unit] ?? { unit, million: `million ${unit}` };
  const end = unit === "allocations" ? description.totals?.allocations : undefined;
  const header: DhatHeader = {
    mode: "heap",
    verb: "Allocated",
    command: (description.command && commandLine(description.command)) ?? samples.name,
    units: { byte: "byte", bytes: "bytes", blocks: "blocks" },
    notes: [
      "Recorded by memshade.",
      "The maximum of a point is what is certain: it had as much at a time at least.",
      ...samples.notes,
    ],
    time: {
      ...clock,
      end: end ?? latestEnd(profile),
      peak: peakTime(profile),
      short: LONGEST_TEMPORARY_LIFETIME,
    },
  };
  return writeDhat(samples, header, columns);
}

/** True if a heap profile has the fields that each point of a DHAT file needs. */
export function canBeDhat({ weights }: Pick<ExportedSamples, "weights">): boolean {
  return ["bytes", "blocks"].every((key) => weights.some((weight) => weight.key === key));
}

/** Returns lifetimes; undefined if they were not recorded. A context's maximum is a lower bound. */
function livesOf(
  profile: HeapProfile,
  rows: number,
  column: (id: string) => readonly number[] | undefined,
): DhatLives | undefined {
  const [gb, gbk, eb, ebk] = [column("peak"), column("peak-blocks"), column("left"), column("left-blocks")];
  if (!knowsField(profile, "totalLifetime") || !gb || !gbk || !eb || !ebk) return undefined;
  const { length, mibs } = profile.contexts;
  const ofRows = (value: (row: number) => number) =>
    Array.from({ length: rows }, (_, row) => (row < length ? value(row) : 0));
  const largest = ofRows((row) => mibs.maxSize[row]!);
  const any = ofRows((row) => Math.min(1, mibs.allocCount[row]!));
  return {
    gb,
    gbk,
    eb,
    ebk,
    tl: ofRows((row) => Number(mibs.totalLifetime[row])),
    mb: largest.map((bytes, row) => Math.max(bytes, gb[row]!, eb[row]!)),
    mbk: any.map((blocks, row) => Math.max(blocks, gbk[row]!, ebk[row]!)),
  };
}

/**
 * Returns the time of the peak, from the intervals of the instance with the largest maximum; the end if
 * unknown.
 */
function peakTime(profile: HeapProfile): number {
  const { overTime, description } = profile;
  const end = overTime === undefined ? latestEnd(profile) : (description.totals?.allocations ?? 0);
  let [most, time] = [-1, end];
  for (const { intervals } of overTime?.instances ?? [])
    for (const [i, bytes] of intervals.maxBytes.entries())
      if (bytes > most) [most, time] = [bytes, intervals.end[i]!];
  return Math.min(time, end);
}

function latestEnd({ contexts: { mibs } }: HeapProfile): number {
  return mibs.deallocTimestamp.reduce((latest, time) => Math.max(latest, time), 0);
}

/**
 * Writes one weight of a tool for DHAT's viewer, as bytes with an operation.
 *
 * @param lineBytes bytes per counted unit, if no weight counts the units
 * @param end accesses of the whole run
 */
export function weightDhat(
  { profile }: ExportedSamples,
  { says, type, with: counted }: CountedWeight,
  { lineBytes, end }: { lineBytes: number; end: number },
): Generator<string> {
  const tb = columnOf(profile, type)!;
  const tbk = columnOf(profile, counted.type) ?? tb.map((bytes) => Math.ceil(bytes / lineBytes));
  const header: DhatHeader = {
    mode: says,
    notes: ["Recorded by memshade.", ...profile.notes],
    verb: counted.verb,
    command: profile.name,
    units: { byte: "byte", bytes: "bytes", blocks: counted.counted },
    time: { unit: "accesses", million: "million accesses", end, peak: 0, short: 0 },
  };
  return writeDhat(withRows(profile, tb), header, columnsWhere(tb, tbk));
}

/** Removes rows without amounts, whose stacks would be empty points. */
function withRows(profile: SampleProfile, amounts: readonly number[]): SampleProfile {
  const rowsWithAmount = amounts.flatMap((amount, row) => (amount > 0 ? [row] : []));
  const { stack, thread, values } = profile.samples;
  return {
    ...profile,
    samples: {
      length: rowsWithAmount.length,
      stack: rowsWithAmount.map((row) => stack[row]!),
      thread: rowsWithAmount.map((row) => thread[row]!),
      values: values.map((column) => rowsWithAmount.map((row) => column[row]!)),
    },
  };
}

function columnsWhere(tb: readonly number[], tbk: readonly number[]): DhatColumns {
  const isKept = (_: number, row: number) => tb[row]! > 0;
  return { tb: tb.filter(isKept), tbk: tbk.filter(isKept) };
}

function columnOf({ valueTypes, samples }: SampleProfile, type: string): readonly number[] | undefined {
  return samples.values[valueTypes.findIndex((valueType) => valueType.type === type)];
}
