import { UserError } from "../../ground/bytes/errors.ts";
import { likeIt, nearest } from "../analyses/nearest-words.ts";
import type { Measure, MeasuredProfiles, MeasureView } from "./measure.ts";
import type { MeasuredStacks, MeasuredTool, RecordingTool } from "./measured-stacks.ts";
import { someMeasures } from "./some-measures.ts";
import { TOOLS } from "./tools.ts";

export const MEASURED_TOOLS = Object.keys(TOOLS) as readonly MeasuredTool[];

export function isMeasured<Tool extends string>(tool: Tool): tool is Tool & MeasuredTool {
  return Object.hasOwn(TOOLS, tool);
}

/** All quantities of call paths, grouped by tool; the first one of each tool is its default. */
export const MEASURES: readonly Measure[] = Object.values(TOOLS).flatMap(({ measures }) => measures);

export function measuresOfTool(tool: MeasuredTool): readonly Measure[] {
  return TOOLS[tool].measures;
}

/** Returns the ids of a tool's default measures; the first one that is not 0 is used. */
export function firstOfTool(tool: MeasuredTool): readonly string[] {
  return TOOLS[tool].first;
}

export function isAdditive({ combine }: Measure): boolean {
  return combine === "sum";
}

export function measure(id: string): Measure {
  const found = MEASURES.find((candidate) => candidate.id === id);
  if (found === undefined) throw new RangeError(`no such measure: ${id}`);
  return found;
}

export function sampleUnit({ unit }: Measure): "bytes" | "count" {
  return unit === "bytes" ? "bytes" : "count";
}

/** Returns the words of a measure in a view, its id first. */
export function wordsOf({ id, aliases = [] }: Measure, view: MeasureView): string[] {
  return [
    id,
    ...aliases.flatMap((alias) =>
      typeof alias === "string" ? alias : alias.in.includes(view) ? alias.word : [],
    ),
  ];
}

/** Returns the measure of a word in a view; measures of the given tool come first. */
export function findMeasure(word: string, view: MeasureView, tool?: MeasuredTool): Measure | undefined {
  const own = tool === undefined ? [] : measuresOfTool(tool);
  for (const among of [own, MEASURES]) {
    const found =
      among.find(({ id }) => id === word) ??
      among.find((candidate) => wordsOf(candidate, view).includes(word));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns true if a word requests the smallest amounts first in a view. */
export function isReversed({ aliases = [] }: Measure, word: string, view: MeasureView): boolean {
  return aliases.some(
    (alias) =>
      typeof alias !== "string" &&
      alias.word === word &&
      alias.in.includes(view) &&
      alias.isReversed === true,
  );
}

export function nearestMeasures(word: string, among: readonly Measure[], view: MeasureView): string[] {
  const names = among.flatMap((candidate) => wordsOf(candidate, view).map((name) => ({ word: name, name })));
  return nearest(word, names).slice(0, 3);
}

const COMMANDS: Partial<Record<MeasureView, string>> = { trend: "store trend" };

/** Returns the measure of a value of `--by`. @throws UserError for unknown words, with the most similar ones */
export function measureOfWord(
  word: string,
  view: MeasureView,
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
    `--by takes one of ${someMeasures(ids, COMMANDS[view] ?? view)}, not "${word}"${likeIt(near)}`,
  );
}

/** Returns the call paths that a tool recorded; undefined if the run has no profile of it. */
export function stacksOf(tool: MeasuredTool, profiles: MeasuredProfiles): MeasuredStacks | undefined {
  return TOOLS[tool].stacks(profiles);
}

/** Returns the recording tool that provides a tool's stacks. */
export function recordedWith(tool: MeasuredTool): RecordingTool {
  return TOOLS[tool].recordedWith;
}

export function gapsOfTool(tool: MeasuredTool, profiles: MeasuredProfiles): readonly string[] {
  return TOOLS[tool].gaps(profiles);
}

export function knownMeasures(tool: MeasuredTool, profiles: MeasuredProfiles): Measure[] {
  return measuresOfTool(tool).filter((candidate) => isKnown(candidate, profiles));
}

/** Returns the additive measures that the run has by place. */
export function placedMeasures(tool: MeasuredTool, profiles: MeasuredProfiles): Measure[] {
  return knownMeasures(tool, profiles).filter(
    (candidate) => isAdditive(candidate) && candidate.column(profiles)?.isUnplaced !== true,
  );
}

export function isKnown({ combine, column }: Measure, profiles: MeasuredProfiles): boolean {
  if (typeof combine === "string") return column(profiles) !== undefined;
  return isKnown(measure(combine.of), profiles) && isKnown(measure(combine.by), profiles);
}
