import { statSync } from "node:fs";
import type { Command } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import { quoteForShell } from "../../profile/model/shell-words.ts";
import { programEnvironment } from "../../record/host/run/inherited.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import type { NativeToolName } from "../../record/native/native-tool.ts";
import type { NativeRun } from "../../record/native/run-native.ts";
import type { ToolName } from "../../record/tools/options.ts";
import { endProcess, nameRuns, saySummary } from "../end-summary.ts";
import { isNativeProgram, verbFor } from "../kind-of-program.ts";
import { assertNode, runtimeInWords } from "../other-runtime.ts";
import {
  addLearnOption,
  addOutOption,
  addToolOptions,
  DEFAULT_INTERVAL_NS,
  parseBytes,
  parseSampleRate,
  type ToolFlags,
  toolOptionsOf,
} from "../tool-options.ts";
import { collect } from "./add-options.ts";
import { warnOfOptionsBehind } from "./options-behind.ts";

interface RunFlags extends ToolFlags {
  out?: string;
  quiet?: boolean;
  dir?: string[];
  env?: string[];
  invoke?: string;
  traceChildren?: boolean;
  mmap?: boolean;
  sample?: number;
  memoryLimit?: number;
  reach?: boolean;
}

const EXAMPLES = `
Examples:
  memshade run sqlite.wasm bench.sql
  memshade run --dir . --dir /data::/ --env LANG=C convert.wasm in.png out.png
  memshade run --out /tmp/profile --clock wall server.wasm --port 80
  memshade run --tool workingset --locality solver.wasm
  memshade run --tool heap,workingset --who --interval 200000acc solver.wasm
  memshade run --invoke resize library.wasm 640 480
  memshade run python3 script.py
  memshade run --trace-children make
  memshade run --mmap --clock wall ./server
  memshade run --sample 97hz python3 script.py
  memshade run --tool heap python3 script.py
  memshade run --tool waste --contexts ./server

For native programs, choose one of heap, waste, workingset and alloc
(docs/native-programs.md). They take these options of the tools: --clock (heap,
alloc), --include-stack (heap, waste), --contexts, --compat (waste), --who,
--interval, --max-intervals and --cpu-time (workingset).

Put the options of memshade before the program: all words after it are passed to
the program. If one of them is also an option of memshade, a warning is printed;
-- in front of the program turns that off. Standard input, output and the exit
code are the program's own, with two exceptions: 134 after a trap, 74 if the
profile could not be written. SIGINT and SIGTERM end the program and write the
profile; a second signal ends memshade without it. SIGUSR2 writes a dump while
the program goes on.`;

export function addRunCommand(program: Command): void {
  const command = program
    .command("run")
    .summary("run a program and write its profile")
    .description(
      "Runs a WebAssembly program (WASI preview 1) or a native x86-64 Linux program, and writes a profile of its memory. Native programs need no rebuild: their allocations are recorded; with --tool heap, waste or workingset also their accesses to memory.",
    )
    .argument("<program>", "WebAssembly module, native program, or its name in PATH")
    .argument("[args...]", "its arguments")
    .passThroughOptions();
  addLearnOption(addOutOption(addToolOptions(command)))
    .option("--dir <host[::guest]>", "folder that the program may use; can be repeated", collect)
    .option("--env <name[=value]>", "environment variable of the program; can be repeated", collect)
    .option("--invoke <name>", "call this exported function with the arguments as numbers")
    .optionsGroup("Options for native programs:")
    .option("--trace-children", "also record the processes that the program starts, each as a run of its own")
    .option("--mmap", "also count memory that the program maps (mmap) as blocks")
    .option(
      "--sample <rate>",
      "also sample call paths by CPU time: samples per second of CPU time, such as 97hz",
      parseSampleRate,
    )
    .option(
      "--memory-limit <size>",
      "most memory that the recording may take, such as 2G; then the recording ends and the program goes on (default: half of the free memory)",
      parseBytes,
    )
    .option("--no-reach", "do not search the memory for pointers at the end, which finds the lost blocks")
    .optionsGroup("Options:")
    .addHelpText("after", EXAMPLES)
    .action(async (path: string, args: string[], flags: RunFlags, own: Command) => {
      if (verbFor(path) === "node")
        throw new UserError(
          `${path} is a script, not a WebAssembly module: memshade node ${quoteForShell(path)}`,
        );
      warnOfOptionsBehind(own, path, args);
      if (isNativeProgram(path)) {
        refuseForNative(own);
        const runtime = runtimeInWords(path);
        if (runtime !== undefined && flags.quiet !== true) say(runtime);
        const { runNative } = await import("../../record/native/run-native.ts");
        const onWritten = flags.quiet === true ? (folder: string) => nameRuns([folder]) : saySummary;
        const code = await runNative({
          path,
          args,
          onWritten,
          onOthersWritten: nameRuns,
          out: flags.out,
          isQuiet: flags.quiet,
          clock: flags.clock,
          blocks: areBlocksRecorded(flags),
          mappings: flags.mmap,
          traceChildren: flags.traceChildren,
          sampleHz: flags.sample,
          memoryLimit: flags.memoryLimit,
          noReach: flags.reach === false,
          tool: nativeToolOf(flags),
          intervals: nativeIntervalsOf(flags),
        });
        endProcess(code);
        return;
      }
      refuseForWasm(flags);
      assertNode("memshade run for a WASI program", ["bun"]);
      const { runWasi } = await import("../../record/host/wasi/run-wasi.ts");
      const code = await runWasi({
        path,
        args,
        env: environmentOf(flags.env ?? []),
        preopens: preopensOf(flags.dir ?? []),
        invoke: flags.invoke,
        out: flags.out,
        isQuiet: flags.quiet,
        tools: await toolOptionsOf(flags),
        onWritten: flags.quiet === true ? undefined : saySummary,
      });
      endProcess(code);
    });
}

const OF_NATIVE: readonly string[] = [
  "out",
  "quiet",
  "cache",
  "tool",
  "clock",
  "traceChildren",
  "mmap",
  "sample",
  "includeStack",
  "memoryLimit",
  "reach",
  "interval",
  "maxIntervals",
  "cpuTime",
  "who",
  "compat",
  "contexts",
];
/** A tool that inserts code into native programs. */
interface InsertedByName {
  readonly name: NativeToolName;
  /** Supported options that other tools do not have. */
  readonly takes: readonly string[];
  /** Options that are rejected with this tool. */
  readonly refuses: readonly string[];
  /** True if it cannot be combined with `alloc`. */
  readonly isAlone?: true;
  /** True if options of intervals are about it. */
  readonly hasIntervals?: true;
  /** True if it records blocks only together with `alloc`. */
  readonly isWithoutBlocks?: true;
}

/** Rules for `alloc`, which inserts no code. */
const ALLOC: Omit<InsertedByName, "name"> = { takes: [], refuses: [] };
const INSERTED: Readonly<Partial<Record<ToolName, InsertedByName>>> = {
  heap: { name: "heap", takes: ["includeStack"], refuses: [] },
  waste: {
    name: "waste",
    takes: ["includeStack", "compat", "contexts"],
    refuses: ["traceChildren", "mmap", "sample", "clock", "reach"],
    isAlone: true,
  },
  workingset: { name: "working-set", takes: [], refuses: [], hasIntervals: true, isWithoutBlocks: true },
};
const OF_NATIVE_TOOLS = [...Object.keys(INSERTED), "alloc"];

/** Options about blocks, which runs with `--tool workingset` alone do not record. */
const OF_BLOCKS: readonly string[] = ["mmap", "clock", "reach"];

function areBlocksRecorded({ tool = [] }: RunFlags): boolean {
  return tool.length === 0 || tool.some((name) => INSERTED[name]?.isWithoutBlocks !== true);
}

function nativeToolOf(flags: RunFlags): NativeRun["tool"] {
  const { tool = [], includeStack, compat, contexts, who: isOwned } = flags;
  const names = tool.flatMap((name) => INSERTED[name]?.name ?? []);
  return names.length === 0
    ? undefined
    : { name: names[0], options: { includeStack, compat, contexts, isOwned, isCounting: isCounting(flags) } };
}

function hasIntervals({ tool = [] }: RunFlags): boolean {
  return tool.some((name) => INSERTED[name]?.hasIntervals);
}

function isCounting(flags: RunFlags): boolean {
  return hasIntervals(flags) && flags.interval?.unit === "accesses";
}

const MOST_INTERVALS = 512;

/** @throws UserError for options of intervals that do not fit */
function nativeIntervalsOf(flags: RunFlags): NativeRun["intervals"] {
  const { interval, maxIntervals, cpuTime, who } = flags;
  const isAsked = interval !== undefined || maxIntervals !== undefined || cpuTime === true || who === true;
  if (!hasIntervals(flags)) {
    if (isAsked)
      throw new UserError(
        "--interval, --max-intervals, --cpu-time and --who are options of the working-set tool: add --tool workingset",
      );
    return undefined;
  }
  if (isCounting(flags) && cpuTime === true)
    throw new UserError("--cpu-time needs an --interval of time, such as 20ms");
  const most = maxIntervals ?? MOST_INTERVALS;
  if (most % 2 !== 0 || most < 8)
    throw new UserError("the number of intervals to keep must be even, and 8 at least");
  return {
    interval: interval?.length ?? DEFAULT_INTERVAL_NS,
    maxIntervals: most,
    unit: isCounting(flags) ? "accesses" : cpuTime === true ? "cpu" : "wall",
    adaptive: interval === undefined,
  };
}

function refuseForWasm({ traceChildren, mmap, sample, memoryLimit, reach }: RunFlags): void {
  if (reach === false)
    throw new UserError(
      "--no-reach is only for native programs: in WebAssembly the search for pointers takes hardly any time",
    );
  const given = traceChildren === true ? "--trace-children" : mmap === true ? "--mmap" : undefined;
  if (given !== undefined)
    throw new UserError(`${given} is for native programs: a WebAssembly program starts and maps nothing`);
  if (memoryLimit !== undefined)
    throw new UserError(
      "--memory-limit is only for native programs: for WebAssembly, use --max-contexts and --max-blocks",
    );
  if (sample !== undefined)
    throw new UserError(
      "--sample is only for native programs: for WebAssembly, use the CPU profiler of the engine",
    );
}

function refuseForNative(command: Command): void {
  const given = command.options.filter(
    (option) => command.getOptionValueSource(option.attributeName()) === "cli",
  );
  const unknown = given.find((option) => !OF_NATIVE.includes(option.attributeName()));
  if (unknown !== undefined)
    throw new UserError(
      `${unknown.long} is for WebAssembly programs: recording native ones has no such option`,
    );
  const { tool: tools = [], includeStack } = command.opts<RunFlags>();
  const unfit = tools.filter((tool) => !OF_NATIVE_TOOLS.includes(tool));
  if (unfit.length > 0)
    throw new UserError(
      `--tool ${unfit.join()} records WebAssembly programs; native ones are recorded by ${Object.keys(INSERTED).join(", ")} or alloc`,
    );
  const named = tools.filter((tool) => INSERTED[tool] !== undefined);
  if (named.length > 1)
    throw new UserError(
      `--tool ${named.join()}: native programs are recorded by one tool at a time; run it once with each`,
    );
  const { takes, refuses, isAlone } = INSERTED[named[0]!] ?? ALLOC;
  if (includeStack === true && !takes.includes("includeStack"))
    throw new UserError("--include-stack needs a tool that counts accesses: add --tool heap or waste");
  const ofWaste = given.find((option) => ["compat", "contexts"].includes(option.attributeName()));
  if (ofWaste !== undefined && !takes.includes(ofWaste.attributeName()))
    throw new UserError(`${ofWaste.long} is an option of the waste tool: add --tool waste`);
  const unfollowed = given.find((option) => refuses.includes(option.attributeName()));
  if (unfollowed !== undefined)
    throw new UserError(
      `${unfollowed.long} is not available yet for native programs with --tool ${named[0]}: leave it out`,
    );
  if (isAlone === true && tools.length > 1)
    throw new UserError(
      `--tool alloc,${named[0]}: blocks of native programs are not recorded with --tool ${named[0]}`,
    );
  const { who } = command.opts<RunFlags>();
  const ofBlocks = given.find((option) => OF_BLOCKS.includes(option.attributeName()));
  const isOfOwners = ofBlocks?.attributeName() === "mmap" && who === true;
  if (ofBlocks !== undefined && !isOfOwners && !areBlocksRecorded(command.opts<RunFlags>()))
    throw new UserError(`${ofBlocks.long} needs the blocks too: use --tool alloc,workingset`);
}

/** Parses `NAME=VALUE`, or `NAME` for its value in memshade's own environment. */
function environmentOf(settings: readonly string[]): Record<string, string> {
  const environment: Record<string, string> = {};
  const inherited = programEnvironment();
  for (const setting of settings) {
    const equals = setting.indexOf("=");
    if (equals === 0 || setting === "") throw new UserError(`--env ${setting}: a name is missing`);
    if (equals > 0) environment[setting.slice(0, equals)] = setting.slice(equals + 1);
    else if (inherited[setting] !== undefined) environment[setting] = inherited[setting];
  }
  return environment;
}

function preopensOf(folders: readonly string[]): Record<string, string> {
  const preopens: Record<string, string> = {};
  for (const folder of folders) {
    const at = folder.indexOf("::");
    const host = at < 0 ? folder : folder.slice(0, at);
    const guest = at < 0 ? folder : folder.slice(at + 2);
    if (host === "" || guest === "") throw new UserError(`--dir ${folder}: expected HOST or HOST::GUEST`);
    try {
      if (!statSync(host).isDirectory()) throw new UserError(`--dir ${host}: not a folder`);
    } catch (error) {
      if (error instanceof UserError) throw error;
      throw new UserError(`--dir ${host}: ${describeSystemError(error)}`);
    }
    preopens[guest] = host;
  }
  return preopens;
}
