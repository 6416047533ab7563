import { sampledFunctions, sampledStacks } from "../../../../explain/analyses/sampled-functions.ts";
import { formatCount, formatPercent, plural } from "../../../../profile/model/format.ts";
import type { NativeRecording } from "../../../../profile/model/native-stacks.ts";
import type { SampleProfile } from "../../../../profile/model/sample-profile.ts";
import { commandLine } from "../../../../profile/model/shell-words.ts";
import { cutMiddle, padLeft, printable } from "../common/text.ts";
import { missingLines } from "./native-stacks.ts";

export interface PerfProfileOptions {
  /** Functions and stacks to show at most. */
  readonly rows: number;
  /** Columns of the terminal; names are not cut where it is undefined. */
  readonly width: number | undefined;
}

const STACKS = 5;
const FRAMES_OF_A_STACK = 12;

/** The samples of one event of a recording. */
interface EventSamples {
  readonly name: string;
  readonly profile: SampleProfile;
}

/**
 * What took the time of a recording: functions as in `perf report --no-children`, then the heaviest stacks; of each event apart, as
 * samples of several cannot be added.
 */
export function perfProfileText(
  profile: SampleProfile,
  ofEvents: readonly EventSamples[],
  { command, events, lost, notes, missing }: NativeRecording,
  options: PerfProfileOptions,
): string {
  const times = profile.samples.timeMs;
  const duration =
    times === undefined || times.length === 0 ? "" : ` in ${(times.at(-1)! / 1000).toFixed(2)} s`;
  // A file that is cut off has its command line no more.
  const recordedBy = command.length === 0 ? [] : [`Recorded by: ${printable(commandLine(command))}`];
  const lines = [
    ...recordedBy,
    `${plural(profile.samples.length, "sample")} of ${printable(events.join(", "))}${duration}, ` +
      `${plural(profile.threads.length, "thread")}${lost > 0 ? `; ${formatCount(lost)} were lost` : ""}`,
    ...notes.map((note) => `Note: ${printable(note)}`),
  ];
  const tables = ofEvents.length === 0 ? [{ name: "", profile }] : ofEvents;
  for (const table of tables) {
    if (tables.length > 1)
      lines.push("", `${plural(table.profile.samples.length, "sample")} of ${printable(table.name)}:`);
    lines.push(...tableLines(table.profile, options));
  }
  if (missing.length > 0) lines.push("", ...missingLines(missing).map((line) => line.trimEnd()));
  return `${lines.join("\n")}\n`;
}

function tableLines(profile: SampleProfile, { rows, width }: PerfProfileOptions): string[] {
  const column = 0;
  const samples = profile.samples.length;
  // Functions of other events have none.
  const functions = sampledFunctions(profile, column).filter(({ total }) => total > 0);
  const cut = (text: string, indent: number) =>
    width === undefined ? printable(text) : cutMiddle(printable(text), Math.max(20, width - indent));
  const lines = ["", "    SELF   TOTAL  FUNCTION"];
  for (const { name, module, self, total } of functions.slice(0, rows)) {
    // What has no name is called by its address and module already.
    const place = module === undefined || name.endsWith(`(${module})`) ? "" : ` (${module})`;
    lines.push(
      `${padLeft(formatPercent(self, samples), 8)}${padLeft(formatPercent(total, samples), 8)}  ${cut(name + place, 18)}`,
    );
  }
  if (functions.length > rows)
    lines.push(`  … and ${plural(functions.length - rows, "more function")}: -n N shows them`);
  const stacks = sampledStacks(profile, column);
  for (const [index, { frames, value }] of stacks.slice(0, STACKS).entries()) {
    lines.push("", `Stack ${index + 1}: ${plural(value, "sample")}, ${formatPercent(value, samples)}`);
    for (const [number, frame] of frames.slice(0, FRAMES_OF_A_STACK).entries()) {
      const { function: name, file, line, inlined } = profile.frames[frame]!;
      const place = file === undefined ? "" : ` at ${file}${line ? `:${line}` : ""}`;
      lines.push(cut(`  #${String(number).padEnd(3)}${name}${place}${inlined ? " (inlined)" : ""}`, 0));
    }
    if (frames.length > FRAMES_OF_A_STACK)
      lines.push(`  … and ${plural(frames.length - FRAMES_OF_A_STACK, "more frame")}`);
  }
  if (stacks.length > STACKS)
    lines.push(
      "",
      `… and ${plural(stacks.length - STACKS, "more stack")}: --samples or --format folded shows them all`,
    );
  return lines;
}
