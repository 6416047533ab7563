import { UserError } from "../../ground/bytes/errors.ts";
import { likeIt, nearest } from "../analyses/nearest-words.ts";
import type { Measure, MeasuredProfiles, MeasureView } from "./measure.ts";
import type { MeasuredStacks, MeasuredTool, RecordingTool } from "./measured-stacks.ts";
import { someMeasures } from "./some-measures.ts";
import { TOOLS } from "./tools.ts";

export const MEASURED_TOOLS = Object.keys(TOOLS) as readonly MeasuredTool[];

/** Whether measures are declared of what a tool records; samples have other weights. */
export function isMeasured<Tool extends string>(tool: Tool): tool is Tool & MeasuredTool {
  return Object.hasOwn(TOOLS, tool);
}

/** All quantities that call paths have, those of a tool together: the first one of each is looked at first. */
export const MEASURES: readonly Measure[] = Object.values(TOOLS).flatMap(({ measures }) => measures);

export function measuresOfTool(tool: MeasuredTool): readonly Measure[] {
  return TOOLS[tool].measures;
}

/** Ids of those that are looked at first where nobody asks: the first of them that there is any of. */
export function firstOfTool(tool: MeasuredTool): readonly string[] {
  return TOOLS[tool].first;
}

export function isAdditive({ combine }: Measure): boolean {
  return combine === "sum";
}

/** The measure of an id. */
export function measure(id: string): Measure {
  const found = MEASURES.find((one) => one.id === id);
  if (found === undefined) throw new RangeError(`no such measure: ${id}`);
  return found;
}

/** Units in which profile formats count. */
export function sampleUnit({ unit }: Measure): "bytes" | "count" {
  return unit === "bytes" ? "bytes" : "count";
}

/** The words by which a view knows a measure, its id first. */
export function wordsOf({ id, aliases = [] }: Measure, view: MeasureView): string[] {
  return [
    id,
    ...aliases.flatMap((alias) =>
      typeof alias === "string" ? alias : alias.in.includes(view) ? alias.word : [],
    ),
  ];
}

/** The measure that a view knows by a word; those of the tool first, where one is named. */
export function findMeasure(word: string, view: MeasureView, tool?: MeasuredTool): Measure | undefined {
  const own = tool === undefined ? [] : measuresOfTool(tool);
  for (const among of [own, MEASURES]) {
    const found =
      among.find(({ id }) => id === word) ?? among.find((one) => wordsOf(one, view).includes(word));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether a view begins with the smallest amount where it is asked by that word. */
export function isReversed({ aliases = [] }: Measure, word: string, view: MeasureView): boolean {
  return aliases.some(
    (alias) =>
      typeof alias !== "string" &&
      alias.word === word &&
      alias.in.includes(view) &&
      alias.isReversed === true,
  );
}

/** The words most like one that is none, at most three. */
export function nearestMeasures(word: string, among: readonly Measure[], view: MeasureView): string[] {
  const names = among.flatMap((one) => wordsOf(one, view).map((name) => ({ word: name, name })));
  return nearest(word, names).slice(0, 3);
}

/** Of views that are called otherwise. */
const COMMANDS: Partial<Record<MeasureView, string>> = { trend: "store trend" };

/** @throws UserError for words that are none, with those most like it */
export function measureOfWord(
  word: string,
  view: MeasureView,
  option: string,
  {
    tool,
    isOffered = () => true,
  }: { tool?: MeasuredTool | undefined; isOffered?: (measure: Measure) => boolean } = {},
): Measure {
  const found = findMeasure(word, view, tool);
  if (found !== undefined && isOffered(found)) return found;
  const among = (tool === undefined ? MEASURES : measuresOfTool(tool)).filter(isOffered);
  const near = nearestMeasures(word, among, view);
  const ids = among.map(({ id }) => id);
  throw new UserError(
    `${option} takes one of ${someMeasures(ids, COMMANDS[view] ?? view)}, not "${word}"${likeIt(near)}`,
  );
}

/** The call paths that a tool recorded; undefined where the run has no profile of it. */
export function stacksOf(tool: MeasuredTool, profiles: MeasuredProfiles): MeasuredStacks | undefined {
  return TOOLS[tool].stacks(profiles);
}

/** The tool that a run is recorded with to have what a tool's stacks are made of. */
export function recordedWith(tool: MeasuredTool): RecordingTool {
  return TOOLS[tool].recordedWith;
}

/** What is not in a tool's figures of a run, in sentences. */
export function gapsOfTool(tool: MeasuredTool, profiles: MeasuredProfiles): readonly string[] {
  return TOOLS[tool].gaps(profiles);
}

/** Those measures of a tool that a run has, in their order. */
export function knownMeasures(tool: MeasuredTool, profiles: MeasuredProfiles): Measure[] {
  return measuresOfTool(tool).filter((one) => isKnown(one, profiles));
}

/** Those that add up and that the run has by place. */
export function placedMeasures(tool: MeasuredTool, profiles: MeasuredProfiles): Measure[] {
  return knownMeasures(tool, profiles).filter(
    (one) => isAdditive(one) && one.column(profiles)?.isUnplaced !== true,
  );
}

export function isKnown({ combine, column }: Measure, profiles: MeasuredProfiles): boolean {
  if (typeof combine === "string") return column(profiles) !== undefined;
  return isKnown(measure(combine.of), profiles) && isKnown(measure(combine.by), profiles);
}
