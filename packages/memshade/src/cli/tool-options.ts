import { type Command, InvalidArgumentError, Option } from "commander";
import { UserError } from "../bytes/errors.ts";
import { learnedFile } from "../host/learned-runs.ts";
import type { ToolOptions } from "../host/tool-options.ts";
import {
  type AttributionOptions,
  type LocalityOptions,
  TOOL_NAMES,
  type ToolName,
  type WorkingSetOptions,
} from "../tools/index.ts";

/** The options shared by all commands that record, as commander hands them over. */
export interface ToolFlags {
  tool?: ToolName[];
  clock: "virtual" | "wall";
  exactHistogram?: boolean;
  includeStack?: boolean;
  includeAllocator?: boolean;
  allocator?: string;
  rawVersion: "3" | "4" | "5";
  maxContexts?: number;
  maxBlocks?: number;
  interval?: Interval;
  cpuTime?: boolean;
  maxIntervals?: number;
  assumeAligned?: boolean;
  locality?: "exact" | "shards";
  localityRate?: number;
  localitySize?: number;
  cache?: number;
  who?: boolean;
  firstTouch?: boolean;
  owners?: boolean;
  fill?: boolean;
  pairs?: boolean;
  contexts?: boolean;
  objects?: boolean;
  copies?: boolean;
  compat?: "deadstores";
  host?: "opaque" | "exact";
  learn?: string;
}

/** `--interval`: a length in accesses, or in nanoseconds of time. */
interface Interval {
  unit: "accesses" | "time";
  length: number;
}

/** Adds the options that say what is recorded and how. */
export function addToolOptions(command: Command): Command {
  keepPositionals(command, "--locality", LOCALITY_METHODS);
  return command
    .option(
      "--tool <tools>",
      `what to record: ${TOOL_NAMES.join(", ")}; several with commas, or repeated (default: heap)`,
      collectTools,
    )
    .addOption(
      new Option("--clock <clock>", "unit of lifetimes: allocations made so far (repeatable) or milliseconds")
        .choices(["virtual", "wall"])
        .default("virtual"),
    )
    .option(
      "--exact-histogram",
      "count each access at its own 8-byte granule (slower; gives access histograms)",
    )
    .option("--include-stack", "count accesses to the program's stack too")
    .option("--include-allocator", "count the allocator's own accesses too")
    .option("--allocator <spec>", "the allocation functions: malloc=NAME|#INDEX,free=…")
    .addOption(
      new Option("--raw-version <n>", "version of the raw MemProf file")
        .choices(["4", "5", "3"])
        .default("4"),
    )
    .option("--max-contexts <n>", "calling contexts kept before they are handed out as a dump", parsePositive)
    .option("--max-blocks <n>", "live blocks followed at the same time", parsePositive)
    .option(
      "--interval <length>",
      "working set: shortest interval, as 1000000acc (accesses, repeatable; the default), 20ms or 1s",
      parseInterval,
    )
    .option("--cpu-time", "working set: measure intervals in processor time instead of real time")
    .option(
      "--max-intervals <n>",
      "working set: intervals kept (default 512); beyond them neighbours are merged",
      parsePositive,
    )
    .option(
      "--assume-aligned",
      "working set: take accesses to lie in one line where their alignment hint says so (faster; the default with intervals of time)",
    )
    .option("--no-assume-aligned", "working set: mark the lines of both ends of accesses")
    .option(
      "--first-touch",
      "working set: the calling contexts that touched the lines of each interval first (slower)",
    )
    .option(
      "--owners",
      "working set: the allocation sites whose blocks the lines of each interval hold (slower)",
    )
    .option("--fill", "working set: the bytes touched of the lines of each interval (slower)")
    .option("--who", "working set: --first-touch, --owners and --fill together")
    .addOption(
      new Option(
        "--locality [method]",
        "working set: reuse distances and miss ratios of caches, of a sample of the lines (shards) or exact (slow)",
      )
        .choices(["shards", "exact"])
        .preset("shards"),
    )
    .option("--locality-rate <part>", "locality: part of the lines to sample (default 0.01)", parseRate)
    .option(
      "--locality-size <lines>",
      "locality: sample at most so many lines; the part falls as more are seen",
      parsePositive,
    )
    .option(
      "--cache <size>",
      "locality: cache whose misses are counted per instruction, as 32KiB or 1MiB (default 32KiB)",
      parseSize,
    )
    .option("--pairs", "waste: who overwrote, repeated and re-read what (several times slower)")
    .option("--contexts", "waste: tell accesses apart by calling context")
    .option(
      "--objects",
      "waste: count per allocation site and offset inside its blocks (several times slower)",
    )
    .option(
      "--copies",
      "waste: find bytes that nothing but copies reads which are dead themselves (several times slower)",
    )
    .addOption(
      new Option("--compat <tool>", "waste: count as the Valgrind tool does where it differs").choices([
        "deadstores",
      ]),
    )
    .addOption(
      new Option(
        "--host <rule>",
        "waste: whether the host reports what it reads (default: as it is)",
      ).choices(["opaque", "exact"]),
    );
}

/** Adds `--learn`, for commands that run a program here and now. */
export function addLearnOption(command: Command): Command {
  return command.option(
    "--learn <file>",
    "waste: follow inline what ran most in the run that this file tells of, and write this run to it",
  );
}

const LOCALITY_METHODS = ["shards", "exact"];

/**
 * Lets an option with an optional value take only the values that it knows: `--locality program.wasm` is the option
 * without one, and a program.
 */
function keepPositionals(command: Command, name: string, values: readonly string[]): void {
  const parse = command.parseOptions.bind(command);
  command.parseOptions = (args) => {
    const given = [...args];
    for (let i = 0; i < given.length && given[i] !== "--"; i++) {
      const option = command.options.find(({ long, short }) => given[i] === long || given[i] === short);
      if (given[i] === name && !values.includes(given[i + 1])) given[i] = `${name}=${values[0]}`;
      else if (option?.required || given[i] === name) i++;
      else if (!given[i].startsWith("-") && stopsAtPositionals(command)) break;
    }
    return parse(given);
  };
}

/** Whether everything behind the first argument belongs to the program. */
function stopsAtPositionals(command: Command): boolean {
  return (command as unknown as { _passThroughOptions?: boolean })._passThroughOptions === true;
}

/** Options that mean nothing without the waste tool. */
const WASTE_FLAGS = {
  pairs: "--pairs",
  contexts: "--contexts",
  objects: "--objects",
  copies: "--copies",
  compat: "--compat",
  host: "--host",
  learn: "--learn",
} as const;

/** Options that mean nothing without the working-set tool. */
const LOCALITY_FLAGS = {
  localityRate: "--locality-rate",
  localitySize: "--locality-size",
  cache: "--cache",
} as const;

export function toolOptionsOf(flags: ToolFlags): ToolOptions {
  for (const [flag, option] of Object.entries(WASTE_FLAGS))
    if (flags[flag as keyof typeof WASTE_FLAGS] !== undefined && !flags.tool?.includes("waste"))
      throw new UserError(`${option} is an option of the waste tool: add --tool waste`);
  return {
    tools: flags.tool,
    clock: flags.clock,
    exactHistogram: flags.exactHistogram,
    includeStack: flags.includeStack,
    includeAllocator: flags.includeAllocator,
    allocator: flags.allocator,
    rawVersion: Number(flags.rawVersion) as 3 | 4 | 5,
    maxContexts: flags.maxContexts,
    maxBlocks: flags.maxBlocks,
    workingset: workingSetOptionsOf(flags),
    learn: flags.learn === undefined ? undefined : learnedFile(flags.learn),
    waste: {
      pairs: flags.pairs,
      contexts: flags.contexts,
      objects: flags.objects,
      copies: flags.copies,
      compat: flags.compat,
      host: flags.host,
    },
  };
}

const DEFAULT_INTERVAL_NS = 20e6;

function workingSetOptionsOf(flags: ToolFlags): WorkingSetOptions {
  const { interval, cpuTime, maxIntervals, assumeAligned } = flags;
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
  if (assumeAligned !== undefined) options.assumeAligned = assumeAligned;
  return options;
}

/** Options of the working-set tool that tell whose its lines are. */
const WHO_FLAGS = {
  who: "--who",
  firstTouch: "--first-touch",
  owners: "--owners",
  fill: "--fill",
} as const;

function attributionOptionsOf(flags: ToolFlags): AttributionOptions | undefined {
  const given = Object.entries(WHO_FLAGS).filter(([flag]) => flags[flag as keyof typeof WHO_FLAGS] === true);
  if (given.length === 0) return undefined;
  if (!flags.tool?.includes("workingset"))
    throw new UserError(`${given[0][1]} is an option of the working-set tool: add --tool workingset`);
  const { who, firstTouch = who, owners = who, fill = who } = flags;
  return { firstTouch, owners, fill };
}

function localityOptionsOf(flags: ToolFlags): LocalityOptions | undefined {
  const { tool, locality, localityRate, localitySize, cache } = flags;
  for (const [flag, option] of Object.entries(LOCALITY_FLAGS))
    if (flags[flag as keyof typeof LOCALITY_FLAGS] !== undefined && locality === undefined)
      throw new UserError(`${option} says how to follow the locality: add --locality`);
  if (locality === undefined) return undefined;
  if (!tool?.includes("workingset"))
    throw new UserError("--locality is an option of the working-set tool: add --tool workingset");
  if (locality === "exact" && (localityRate !== undefined || localitySize !== undefined))
    throw new UserError(
      "--locality exact samples nothing: it goes without --locality-rate and --locality-size",
    );
  return { method: locality, rate: localityRate, mostLines: localitySize, cacheBytes: cache };
}

const NANOSECONDS: Readonly<Record<string, number>> = { us: 1e3, ms: 1e6, s: 1e9 };

function parseInterval(text: string): Interval {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(acc|us|ms|s)$/.exec(text) ?? [];
  const length = Number(digits) * (unit === "acc" ? 1 : NANOSECONDS[unit]);
  if (unit === undefined || !Number.isSafeInteger(length) || length < 1)
    throw new InvalidArgumentError("It must be a length such as 1000000acc, 20ms or 1s.");
  return { unit: unit === "acc" ? "accesses" : "time", length };
}

/** `0.01` or `1%`, in (0, 1]. */
function parseRate(text: string): number {
  const [, digits, percent] = /^(\d*\.?\d+(?:e-\d+)?)(%?)$/.exec(text) ?? [];
  const rate = Number(digits) / (percent === "%" ? 100 : 1);
  if (!(rate >= 1e-6 && rate <= 1))
    throw new InvalidArgumentError("It must be a part of all lines from 0.000001 to 1, or of 100%.");
  return rate;
}

const SIZE_UNITS: Readonly<Record<string, number>> = { "": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

/** `32KiB`, `32K`, `1MiB`, `49152`. */
function parseSize(text: string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?$/i.exec(text) ?? [];
  const bytes = Number(digits) * SIZE_UNITS[(unit ?? "").toUpperCase()];
  if (!(bytes >= 64 && bytes <= 2 ** 36))
    throw new InvalidArgumentError("It must be a size from 64 bytes to 64 GiB, such as 32KiB or 1MiB.");
  return bytes;
}

const OUT_HELP =
  "folder to write; %p process id, %n number of the profile, %q{VAR} environment variable, %% per cent";

/** Adds `--out` with its place holders. */
export function addOutOption(command: Command): Command {
  return command.option("--out <dir>", `${OUT_HELP} (default: memshade.out/<program>.%p)`);
}

/** `heap,waste` and repeated options add up. */
function collectTools(text: string, previous: readonly ToolName[] = []): ToolName[] {
  const tools = [...previous];
  for (const word of text.split(",")) {
    const tool = TOOL_NAMES.find((name) => name === word.trim());
    if (tool === undefined) throw new InvalidArgumentError(`Known tools are ${TOOL_NAMES.join(", ")}.`);
    if (!tools.includes(tool)) tools.push(tool);
  }
  return tools;
}

function parsePositive(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError("It must be a positive integer.");
  return value;
}

/** Collects the values of an option that may be given several times. */
export function collect(value: string, previous: string[] = []): string[] {
  return [...previous, value];
}
