import { existsSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { UserError } from "../ground/bytes/errors.ts";
import { learnedFile } from "../record/host/learned-runs.ts";
import { moduleCacheFolder, turnCacheOff } from "../record/host/run/cache-folder.ts";
import { HOST_STACKS, type HostStacks } from "../record/tools/heap-options.ts";
import {
  type AttributionOptions,
  type LocalityOptions,
  type ObjectsOptions,
  TOOL_NAMES,
  type ToolName,
  type WorkingSetOptions,
} from "../record/tools/options.ts";
import type { ToolOptions } from "../record/tools/run-options.ts";

export interface ToolFlags {
  tool?: ToolName[];
  clock: "virtual" | "wall";
  exactHistogram?: boolean;
  includeStack?: boolean;
  includeAllocator?: boolean;
  allocator?: string;
  maxContexts?: number;
  maxBlocks?: number;
  interval?: Interval;
  cpuTime?: boolean;
  maxIntervals?: number;
  locality?: boolean;
  localityRate?: number;
  who?: boolean;
  pairs?: boolean;
  contexts?: boolean;
  objects?: boolean;
  compat?: "deadstores";
  learn?: string;
  hostStacks?: HostStacks;
  fields?: boolean;
  sampleBytes?: number;
  references?: 4 | 8;
  cache?: boolean;
}

export function addToolOptions(command: Command): Command {
  command
    .optionsGroup("Options:")
    .option(
      "--tool <tools>",
      `what to record: ${TOOL_NAMES.join(", ")}; several separated by commas, or repeated (default: heap; for native programs alloc; for modules with garbage-collected objects and no allocator objects)`,
      collectTools,
    );
  addHeapOptions(command);
  addWorkingSetOptions(command);
  addWasteOptions(command);
  addObjectsOptions(command);
  return command.hook("preAction", refuseMethod).optionsGroup("Options:");
}

function addHeapOptions(command: Command): void {
  command
    .optionsGroup("Options of the heap tool:")
    .addOption(
      new Option(
        "--clock <clock>",
        "unit of lifetimes: allocations (virtual, repeatable) or milliseconds (wall)",
      )
        .choices(["virtual", "wall"])
        .default("virtual"),
    )
    .option(
      "--exact-histogram",
      "count each access at its own 8-byte granule (slower; gives access histograms)",
    )
    .option("--include-stack", "count accesses to the program's stack too")
    .option("--allocator <spec>", "the allocation functions: malloc=NAME|#INDEX,free=…")
    .option("--include-allocator", "count the allocator's own accesses too")
    .option("--max-contexts <n>", "most call paths kept before a dump is written", parsePositive)
    .option("--max-blocks <n>", "most live blocks recorded at the same time", parsePositive);
}

function addWorkingSetOptions(command: Command): void {
  command
    .optionsGroup("Options of the working-set tool:")
    .option(
      "--who",
      "record for each interval which call paths touched its lines first, which sites allocated them, and how many of their bytes were touched (slower); native programs: only allocation sites",
    )
    .option("--locality", "record reuse distances and cache miss ratios, from a sample of the lines")
    .option(
      "--interval <length>",
      "shortest interval, such as 1000000acc (accesses, repeatable; default for WebAssembly), 20ms (default for native programs) or 1s",
      parseInterval,
    )
    .option(
      "--locality-rate <part>",
      "part of the lines to sample (default 0.01; 1 for all of them)",
      parseRate,
    )
    .option("--cpu-time", "measure intervals in processor time instead of real time")
    .option(
      "--max-intervals <n>",
      "most intervals kept (default 512); if there are more, neighbours are merged",
      parsePositive,
    );
}

function addWasteOptions(command: Command): void {
  command
    .optionsGroup("Options of the waste tool:")
    .option("--contexts", "count accesses by call path")
    .option(
      "--pairs",
      "record which instruction overwrote, repeated or re-read which (several times slower, ten times the program's memory)",
    )
    .option(
      "--objects",
      "count per allocation site and offset inside its blocks (several times slower, eleven times the program's memory)",
    )
    .addOption(new Option("--compat <tool>", "count as this Valgrind tool does").choices(["deadstores"]));
}

function addObjectsOptions(command: Command): void {
  command
    .optionsGroup("Options of the objects tool:")
    .option("--no-fields", "count only allocations, not reads and writes of fields (faster)")
    .option("--no-contexts", "count allocations without their call paths (faster)")
    .option(
      "--sample-bytes <n>",
      "track one object per so many allocated bytes until it is collected (default 524288); 0 tracks none",
      parseCount,
    )
    .addOption(
      new Option(
        "--references <bytes>",
        "bytes per reference, to compute object sizes: 4 as in Chromium (the default), 8 as in Node",
      )
        .choices(["4", "8"])
        .argParser(parseReferences),
    );
}

function parseReferences(text: string): 4 | 8 {
  if (text !== "4" && text !== "8") throw new InvalidArgumentError("It is 4 or 8.");
  return text === "4" ? 4 : 8;
}

/** Adds `--learn`, for commands that run a program in this process. */
export function addLearnOption(command: Command): Command {
  return command
    .optionsGroup("Options of the waste tool:")
    .option(
      "--learn <file>",
      "speed up the recording by what this file holds of earlier runs, and add this run to it",
    )
    .optionsGroup("Options:");
}

export function addHostStacksOption(command: Command): Command {
  return command
    .optionsGroup("Options of the heap tool:")
    .addOption(
      new Option(
        "--host-stacks <how>",
        "continue call paths into the calling JavaScript: for a sample of the frequent calls, for all calls (exact; up to 6 times slower), or not at all",
      )
        .choices(HOST_STACKS)
        .default("sampled"),
    )
    .optionsGroup("Options:");
}

/** The values that `--locality` had: each would now be the program. */
const LOCALITY_METHODS = ["exact", "shards"];

/** Refuses `--locality exact PROGRAM` unless a file `exact` exists. */
function refuseMethod(command: Command): void {
  const [first] = command.args;
  if (command.opts<ToolFlags>().locality !== true || !LOCALITY_METHODS.includes(first) || existsSync(first))
    return;
  throw new UserError(`--locality ${first}: --locality takes no method; --locality-rate 1 follows all lines`);
}

const FLAGS_OF_TOOLS: readonly [tool: ToolName, name: string, flags: readonly (keyof ToolFlags)[]][] = [
  ["waste", "waste tool", ["pairs", "objects", "compat", "learn"]],
  ["workingset", "working-set tool", ["interval", "cpuTime", "maxIntervals", "who", "locality"]],
];

function checkTools(flags: ToolFlags): void {
  for (const [tool, name, own] of FLAGS_OF_TOOLS) {
    const given = own.find((flag) => flags[flag] !== undefined);
    if (given === undefined || flags.tool?.includes(tool)) continue;
    const option = given.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new UserError(`--${option} is an option of the ${name}: add --tool ${tool}`);
  }
}

export async function toolOptionsOf(flags: ToolFlags): Promise<ToolOptions> {
  checkTools(flags);
  // Loaded on demand, because a program in another process does not need it here.
  if (flags.allocator !== undefined)
    (await import("../record/tools/index.ts")).checkAllocatorOption(flags.allocator);
  return {
    tools: flags.tool,
    clock: flags.clock,
    exactHistogram: flags.exactHistogram,
    includeStack: flags.includeStack,
    includeAllocator: flags.includeAllocator,
    allocator: flags.allocator,
    maxContexts: flags.maxContexts,
    hostStacks: flags.hostStacks,
    maxBlocks: flags.maxBlocks,
    workingset: workingSetOptionsOf(flags),
    objects: objectsOptionsOf(flags),
    learn: flags.learn === undefined ? undefined : learnedFile(flags.learn),
    // Commands that run no program have no such option.
    cache: flags.cache === true ? moduleCacheFolder() : undefined,
    waste: {
      pairs: flags.pairs,
      contexts: flags.contexts === true ? true : undefined,
      objects: flags.objects,
      compat: flags.compat,
    },
  };
}

const WITH_CONTEXTS: readonly ToolName[] = ["waste", "objects"];

function objectsOptionsOf({ fields, contexts, sampleBytes, references, tool }: ToolFlags): ObjectsOptions {
  const isGiven =
    fields === false || contexts === false || sampleBytes !== undefined || references !== undefined;
  // If no tool is named, objects is chosen for modules that need it.
  if (isGiven && tool !== undefined && !tool.includes("objects"))
    throw new UserError(
      "--no-fields, --no-contexts, --sample-bytes and --references are options of the objects tool: add --tool objects",
    );
  if (contexts === true && !tool?.some((name) => WITH_CONTEXTS.includes(name)))
    throw new UserError(
      "--contexts is an option of the waste tool, and the default of the objects tool: add --tool waste",
    );
  return { fields, contexts, sampleBytes, references };
}

/** Length of an interval of time, unless the user gives another. */
export const DEFAULT_INTERVAL_NS = 20e6;

function workingSetOptionsOf(flags: ToolFlags): WorkingSetOptions {
  const { interval, cpuTime, maxIntervals } = flags;
  const options: WorkingSetOptions = {};
  const locality = localityOptionsOf(flags);
  if (locality !== undefined) options.locality = locality;
  if (cpuTime === true && interval?.unit === "accesses")
    throw new UserError("--cpu-time needs an --interval of time, such as 20ms");
  if (cpuTime === true || interval?.unit === "time") {
    options.unit = cpuTime === true ? "cpu" : "wall";
    options.interval = interval?.length ?? DEFAULT_INTERVAL_NS;
  } else if (interval !== undefined) options.interval = interval.length;
  const attribution = attributionOptionsOf(flags);
  if (attribution !== undefined) options.attribution = attribution;
  if (maxIntervals !== undefined) options.maxIntervals = maxIntervals;
  return options;
}

function attributionOptionsOf({ who }: ToolFlags): AttributionOptions | undefined {
  if (who !== true) return undefined;
  return { firstTouch: true, owners: true, fill: true };
}

function localityOptionsOf({ locality, localityRate }: ToolFlags): LocalityOptions | undefined {
  if (locality !== undefined) return { rate: localityRate };
  if (localityRate !== undefined)
    throw new UserError("--locality-rate is an option of --locality: add --locality");
  return undefined;
}

const OUT_HELP =
  "folder for the run; %p process id, %n number of the profile, %q{VAR} environment variable, %% percent sign";

/** Adds `--out` with its placeholders, `--quiet` and `--no-cache`. */
export function addOutOption(command: Command): Command {
  return command
    .option("--out <dir>", `${OUT_HELP} (default: memshade.out/<program>.%p)`)
    .option("--quiet", "print only errors at the end, not the folder and the findings")
    .option("--no-cache", "rewrite the program anew, and cache nothing of it (see memshade cache)")
    .hook("preAction", (own) => {
      if (own.opts<ToolFlags>().cache === false) turnCacheOff();
    });
}

/** Parses `heap,waste`; repeated options add up. */
function collectTools(text: string, previous: readonly ToolName[] = []): ToolName[] {
  const tools = [...previous];
  for (const word of text.split(",")) {
    const tool = TOOL_NAMES.find((name) => name === word.trim());
    if (tool === undefined) throw new InvalidArgumentError(`Known tools are ${TOOL_NAMES.join(", ")}.`);
    if (!tools.includes(tool)) tools.push(tool);
  }
  return tools;
}

/** Value of `--interval`: a length in accesses, or in nanoseconds. */
interface Interval {
  unit: "accesses" | "time";
  length: number;
}

const NANOSECONDS: Readonly<Record<string, number>> = { us: 1e3, ms: 1e6, s: 1e9 };

function parseInterval(text: string): Interval {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(acc|us|ms|s)$/.exec(text) ?? [];
  const length = Number(digits) * (unit === "acc" ? 1 : NANOSECONDS[unit]);
  if (unit === undefined || !Number.isSafeInteger(length) || length < 1)
    throw new InvalidArgumentError("It must be a length such as 1000000acc, 20ms or 1s.");
  return { unit: unit === "acc" ? "accesses" : "time", length };
}

/** Parses `0.01` or `1%`, in (0, 1]. */
function parseRate(text: string): number {
  const [, digits, percent] = /^(\d*\.?\d+(?:e-\d+)?)(%?)$/.exec(text) ?? [];
  const rate = Number(digits) / (percent === "%" ? 100 : 1);
  if (!(rate >= 1e-6 && rate <= 1))
    throw new InvalidArgumentError("It must be a part of all lines from 0.000001 to 1, or of 100%.");
  return rate;
}

/** Highest rate: timers fire at most as often as the system's clock ticks, 1000 times a second. */
const MOST_HZ = 1000;

/** Parses `--sample`: samples per second, `97hz` or `97`. */
export function parseSampleRate(text: string): number {
  const [, digits] = /^(\d{1,6}(?:\.\d{1,6})?)(?:hz)?$/i.exec(text) ?? [];
  const rate = Number(digits);
  if (!(rate >= 0.1 && rate <= MOST_HZ))
    throw new InvalidArgumentError(`It must be a rate such as 97hz, from 0.1hz to ${MOST_HZ}hz.`);
  return rate;
}

function parseCount(text: string): number {
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError("It must be a whole number from 0.");
  return value;
}

const BYTES: Readonly<Record<string, number>> = { "": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

/** Parses `--memory-limit`: `2G`, `500MiB` or a number of bytes. */
export function parseBytes(text: string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(|[KMG])(?:i?B)?$/.exec(text) ?? [];
  const value = Math.floor(Number(digits) * BYTES[unit]);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError("It must be a size such as 500M or 2G.");
  return value;
}

function parsePositive(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError("It must be a positive integer.");
  return value;
}

/** Returns a check that each path of an option exists. A missing path would have no effect without notice. */
export function assertPlaces(option: string): (places: readonly string[] | undefined) => void {
  return (places = []) => {
    const missing = places.find((place) => !existsSync(place));
    if (missing !== undefined) throw new UserError(`${option} ${missing}: there is no such file or folder`);
  };
}
