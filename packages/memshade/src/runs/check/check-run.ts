import path from "node:path";
import type { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import type { RecordedTools } from "../../explain/analyses/recorded-tools.ts";
import { findsFrom } from "../../explain/findings/index.ts";
import type { RunFacts } from "../../explain/limits/bounds.ts";
import { type CheckedLimit, type CheckedRun, checkLimits } from "../../explain/limits/check-limits.ts";
import { limitMeasure } from "../../explain/limits/measures.ts";
import { gapsOfTool, MEASURED_TOOLS, recordedWith } from "../../explain/measures/index.ts";
import type { PathMap } from "../../names/symbolize/path-map.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { CheckedRunReport, ReportedLimit } from "../../show/report/limits/checked.ts";
import { endInWords } from "../../show/report/terminal/common/header.ts";
import { assertProfile, loadTools, REPORTED_TOOLS, recordedTools } from "../recorded-tools.ts";
import { modulePathsOf, runAround } from "../run-of-folder.ts";
import type { ReportedTool } from "../shelves.ts";
import { moduleFolders } from "../source.ts";
import type { GivenLimits } from "./limits.ts";
import { repositoryPaths } from "./locate.ts";

/** How runs are read. */
export interface ReadRuns {
  readonly rules?: FrameRules | undefined;
  readonly binaryPaths?: readonly string[] | undefined;
  /** Where folders of recorded source paths lie here. */
  readonly pathMaps?: readonly PathMap[] | undefined;
}

/**
 * Compares a run with limits.
 *
 * @throws UserError where a run cannot be read, or a limit cannot be decided
 */
export async function checkRun(
  input: string,
  given: GivenLimits,
  { pathMaps, ...places }: ReadRuns,
): Promise<CheckedRunReport> {
  const limits = given.limits.map(({ limit }) => limit);
  const read = { ...places, suppressions: given.leaks };
  const tools = neededTools(given);
  const load = async (name: string): Promise<CheckedRun> => {
    const recorded = recordedTools(name).filter((tool) => tools.includes(tool));
    if (recorded.length === 0) await assertProfile(name);
    return { name, tools: await loadTools(name, recorded, read), facts: factsOf(name) };
  };
  const isCompared = limits.some(({ from }) => from !== undefined);
  const run = await load(input);
  const baseline = isCompared && given.baseline !== undefined ? await load(given.baseline) : undefined;
  const checked = checkLimits(run, limits, { baseline, suppressions: given.places });
  return {
    run: input,
    baseline: baseline?.name,
    program: programOf(run),
    clock: run.tools.heap?.description.clock,
    limits: checked.map((each, index): ReportedLimit => {
      const { reason, written } = given.limits[index]!;
      return { ...each, reason, written };
    }),
    notes: [...notesOf(run.tools), ...suppressionsOfNothing(given, checked)],
    locate: repositoryPaths(
      process.cwd(),
      pathMaps,
      moduleFolders({ modules: modulePathsOf(input), binaryPaths: places.binaryPaths }),
    ),
  };
}

/** What a run says of itself; a profile of another tool says nothing. */
function factsOf(input: string): RunFacts {
  const run = runAround(input);
  return { end: run?.end, bounds: run?.bounds };
}

/** What was recorded by other tools need not be read. */
function neededTools({ limits }: GivenLimits): ReportedTool[] {
  const needed = limits.map(({ limit }): ReportedTool | "findings" => {
    const { tool } = limitMeasure(limit.measure);
    return tool === "findings" ? tool : recordedWith(tool);
  });
  return REPORTED_TOOLS.filter(
    (tool) => needed.includes(tool) || (needed.includes("findings") && findsFrom(tool)),
  );
}

function programOf({ name, tools }: CheckedRun): string {
  return (
    tools.heap?.description.program ??
    tools.workingset?.program ??
    tools.objects?.program ??
    path.basename(name)
  );
}

function notesOf(tools: RecordedTools): string[] {
  const end = tools.heap === undefined ? [] : endOf(tools.heap);
  return [...new Set([...end, ...MEASURED_TOOLS.flatMap((tool) => gapsOfTool(tool, tools))])];
}

/** What was stopped might have gone on, and given back what it had. */
function endOf({ description: { end, importedFrom } }: HeapProfile): string[] {
  if (end === undefined || end.kind === "exit" || importedFrom !== undefined) return [];
  return [`The run was not at its end (${endInWords(end)}): what it would have done then is in no figure.`];
}

/** A suppression that has nothing to suppress any more should go. */
function suppressionsOfNothing({ places }: GivenLimits, checked: readonly CheckedLimit[]): string[] {
  const used = new Set(checked.flatMap(({ suppressed }) => suppressed.map(({ suppression }) => suppression)));
  return places
    .filter((suppression) => !used.has(suppression))
    .map(({ place, reason }) => `The suppression at ${place} (${reason}) takes nothing out of these limits.`);
}
