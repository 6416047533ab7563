import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import type { RecordedTools } from "../../explain/analyses/recorded-tools.ts";
import { findsFrom } from "../../explain/findings/index.ts";
import {
  type CheckedLimit,
  type CheckedRun,
  checkLimits,
  type PlaceSuppression,
} from "../../explain/limits/check-limits.ts";
import { type Limit, limitOfPair, parseLimit } from "../../explain/limits/limit.ts";
import { limitMeasure, type RunFacts } from "../../explain/limits/limit-measures.ts";
import type { FilterKey } from "../../explain/limits/place-filter.ts";
import { gapsOfTool, MEASURED_TOOLS, recordedWith } from "../../explain/measures/index.ts";
import { entryOf } from "../../ground/bytes/entries.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import { readInput } from "../../names/load/file.ts";
import { mapPath, type PathMap } from "../../names/symbolize/path-map.ts";
import { readSuppressions } from "../../profile/formats/suppressions.ts";
import type { Budget, BudgetSuppression } from "../../profile/model/budget.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { Suppression } from "../../profile/model/suppression.ts";
import type { CheckedRunReport, ReportedLimit } from "../../show/report/limits/checked.ts";
import { endInWords } from "../../show/report/terminal/common/header.ts";
import { assertProfile, loadTools, REPORTED_TOOLS, recordedTools } from "../recorded-tools.ts";
import { modulePathsOf, runAround } from "../run-of-folder.ts";
import type { ReportedTool } from "../shelves.ts";
import { moduleFolders } from "../source.ts";
import { loadSuppressions } from "../suppressions.ts";

export interface ReadRuns {
  readonly rules?: FrameRules | undefined;
  readonly binaryPaths?: readonly string[] | undefined;
  /** Mappings of folders of recorded source paths to folders of this machine. */
  readonly pathMaps?: readonly PathMap[] | undefined;
}

/**
 * Compares a run with limits.
 *
 * @throws UserError if a run cannot be read, or a limit cannot be decided
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
    limits: checked.map((checkedLimit, index): ReportedLimit => {
      const { reason, written } = given.limits[index]!;
      return { ...checkedLimit, reason, written };
    }),
    notes: [...notesOf(run.tools), ...suppressionsOfNothing(given, checked)],
    locate: repositoryPaths(
      process.cwd(),
      pathMaps,
      moduleFolders({ modules: modulePathsOf(input), binaryPaths: places.binaryPaths }),
    ),
  };
}

/** Returns facts about a run from its `run.json`. A profile of another tool has none. */
function factsOf(input: string): RunFacts {
  const run = runAround(input);
  return { end: run?.end, bounds: run?.bounds };
}

/** Returns the tools that the limits need, so that other tools' files are not read. */
function neededTools({ limits }: GivenLimits): ReportedTool[] {
  const needed = limits.map(({ limit }): ReportedTool | "findings" => {
    const { tool } = limitMeasure(limit.measure);
    return tool === "findings" ? tool : recordedWith(tool);
  });
  return REPORTED_TOOLS.filter(
    (tool) => needed.includes(tool) || (needed.includes("findings") && findsFrom(tool)),
  );
}

/** Returns the short name of a run's program. */
export function programOf({ name, tools }: Pick<CheckedRun, "name" | "tools">): string {
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

/** Returns a note for a run that did not end by itself: it might have freed blocks later. */
function endOf({ description: { end, importedFrom } }: HeapProfile): string[] {
  if (end === undefined || end.kind === "exit" || importedFrom !== undefined) return [];
  return [`The run did not come to its end (${endInWords(end)}): the figures lack the rest of it.`];
}

/** Returns a note for each suppression that has no effect and should be removed. */
function suppressionsOfNothing({ places }: GivenLimits, checked: readonly CheckedLimit[]): string[] {
  const used = new Set(checked.flatMap(({ suppressed }) => suppressed.map(({ suppression }) => suppression)));
  return places
    .filter((suppression) => !used.has(suppression))
    .map(({ place, reason }) => `The suppression at ${place} (${reason}) matches nothing in these limits.`);
}

/**
 * Returns a function that maps recorded paths to paths in the repository around `folder`, with slashes. A
 * file of the repository gets its path from the root, even if it was built in another folder. Other paths
 * stay as recorded.
 *
 * @param besides further folders that relative paths may start from, such as those of modules
 */
export function repositoryPaths(
  folder: string,
  maps: readonly PathMap[] = [],
  besides: readonly string[] = [],
): (file: string) => string {
  const root = repositoryAround(folder);
  const pathOfFile = new Map<string, string>();
  return (file) => {
    return entryOf(pathOfFile, file, () =>
      locate(mapPath(plainPath(file), maps), [folder, ...besides], root),
    );
  };
}

/**
 * Returns a function that maps recorded paths to whole paths of files on this machine. Paths of files that do not exist here stay as
 * recorded.
 */
export function pathsOnDisk(
  folder: string,
  maps: readonly PathMap[] = [],
  besides: readonly string[] = [],
): (file: string) => string {
  const toRepository = repositoryPaths(folder, maps, besides);
  const root = repositoryAround(folder);
  return (file) => {
    const plain = mapPath(plainPath(file), maps);
    const candidates = [
      ...[folder, ...besides].map((from) => path.resolve(from, plain)),
      path.join(root, toRepository(file)),
    ];
    return candidates.find((candidate) => fs.existsSync(candidate)) ?? plain;
  };
}

function plainPath(file: string): string {
  try {
    return file.startsWith("file://") ? fileURLToPath(file) : file;
  } catch {
    return file;
  }
}

function locate(file: string, folders: readonly string[], root: string): string {
  for (const folder of folders) {
    const here = inside(root, path.resolve(folder, file));
    if (here !== undefined) return here;
  }
  // Built elsewhere: takes the longest end of the path, with at least one folder, that exists in the
  // repository.
  const parts = file.split(/[\\/]/).filter((part) => part !== "" && part !== ".");
  for (let start = 0; start < parts.length - 1; start++) {
    const end = inside(root, path.join(root, ...parts.slice(start)));
    if (end !== undefined) return end;
  }
  return path.posix.normalize(file.replaceAll("\\", "/"));
}

/** Returns the path of an existing file from the root; undefined if it does not exist or is outside. */
function inside(root: string, file: string): string | undefined {
  try {
    const relative = path.relative(root, fs.realpathSync(file));
    const isOutside = relative.startsWith("..") || path.isAbsolute(relative);
    return isOutside || !fs.statSync(file).isFile() ? undefined : relative.split(path.sep).join("/");
  } catch {
    return undefined;
  }
}

/** Returns the closest folder with a repository, or the folder itself. */
function repositoryAround(folder: string): string {
  const start = fs.realpathSync(folder);
  for (let at = start; ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, ".git"))) return at;
    if (path.dirname(at) === at) return start;
  }
}

export interface GivenLimit {
  readonly limit: Limit;
  readonly reason?: string | undefined;
  readonly written?: { readonly file: string; readonly line: number } | undefined;
}

export interface GivenLimits {
  readonly limits: readonly GivenLimit[];
  readonly baseline?: string | undefined;
  readonly leaks: readonly Suppression[];
  readonly places: readonly PlaceSuppression[];
}

/**
 * Loads the limits of a budget file.
 *
 * @throws UserError with the file and line of the error
 */
export async function loadBudget(file: string): Promise<GivenLimits> {
  // Loaded on demand, because only budget files need YAML.
  const { readBudget } = await import("../../profile/formats/budget/read-budget.ts");
  const budget = readBudget(textOf(file), file);
  const besides = (name: string) => path.join(path.dirname(file), name);
  return {
    limits: budget.limits.map(givenLimit),
    baseline: budget.baseline === undefined ? undefined : path.resolve(path.dirname(file), budget.baseline),
    leaks: budget.suppressions.flatMap((suppression) => leaksOf(suppression, besides)),
    places: budget.suppressions.flatMap(placesOf),
  };
}

function textOf(file: string): string {
  try {
    return readInput(file).toString("utf8");
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${describeSystemError(error)}`);
  }
}

function givenLimit({ limit: written, reason, place }: Budget["limits"][number]): GivenLimit {
  return explained(place, () => {
    const limit = typeof written === "string" ? parseLimit(written) : limitOfPair(...written);
    limitMeasure(limit.measure);
    const colon = place.lastIndexOf(":");
    return { limit, reason, written: { file: place.slice(0, colon), line: Number(place.slice(colon + 1)) } };
  });
}

function leaksOf(
  { from, leak, reason, place }: BudgetSuppression,
  besides: (name: string) => string,
): Suppression[] {
  if (from !== undefined) return loadSuppressions([besides(from)]);
  if (leak === undefined) return [];
  return readSuppressions(`leak:${leak.replaceAll(/\r?\n/g, " ")}`, place).map((suppression) => ({
    ...suppression,
    reason,
    place,
  }));
}

function placesOf({ places, measures, reason, place }: BudgetSuppression): PlaceSuppression[] {
  if (places === undefined) return [];
  explained(place, () => measures?.forEach(limitMeasure));
  const filters = Object.entries(places).map(([key, glob]) => ({ key: key as FilterKey, glob }));
  return [{ measures, filters, reason: reason!, place }];
}

function explained<T>(place: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof UserError ? new UserError(`${place}: ${error.message}`) : error;
  }
}
