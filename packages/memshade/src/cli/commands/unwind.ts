import { existsSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { type Command, InvalidArgumentError } from "commander";
import { UserError } from "../../bytes/errors.ts";
import { writeFirefoxProfiler } from "../../formats/firefox-profiler/write.ts";
import { writeFolded } from "../../formats/folded/write.ts";
import { writePprof } from "../../formats/pprof/write.ts";
import { writeSpeedscope } from "../../formats/speedscope/write.ts";
import type { SampleProfile } from "../../model/sample-profile.ts";
import { nativeStacksJson } from "../../report/json/native-stacks.ts";
import { perfProfileJson } from "../../report/json/perf-profile.ts";
import { sampleJson } from "../../report/json/perf-samples.ts";
import { type Dump, nodeZstdStream, openDump } from "../../report/load-dump.ts";
import { loadKernelSymbols } from "../../report/load-kernel-symbols.ts";
import { loadFrameNamer } from "../../report/load-namer.ts";
import { loadObject, ObjectFinder } from "../../report/load-objects.ts";
import { profileOfImage } from "../../report/stacks/image-profile.ts";
import { unwindImage } from "../../report/stacks/image-stacks.ts";
import { KernelNamer } from "../../report/stacks/kernel-symbols.ts";
import { preferAsGdb, preferAsPerf } from "../../report/stacks/name-frames.ts";
import { PerfProfileBuilder } from "../../report/stacks/perf-profile.ts";
import { unwindPerfData } from "../../report/stacks/perf-stacks.ts";
import { cfiStatisticsText } from "../../report/terminal/cfi-statistics.ts";
import { nativeStacksText } from "../../report/terminal/native-stacks.ts";
import { perfProfileText } from "../../report/terminal/perf-profile.ts";
import { perfSampleText } from "../../report/terminal/perf-samples.ts";
import { MEMSHADE_VERSION } from "../../runtime/host/version.ts";
import { cfiStatistics, type UnwindOptions as WalkOptions } from "../../unwind/index.ts";
import { type Output, openOutput } from "../output.ts";
import { parseChoice, parseRows } from "./report-options.ts";

const FORMATS = ["text", "json", "folded", "pprof", "speedscope", "firefox"] as const;
export type UnwindFormat = (typeof FORMATS)[number];

const USUAL_ROWS = 20;
const TERMINAL_COLUMNS = 80;

export interface UnwindOptions {
  readonly binaryPath?: readonly string[];
  readonly sysroot?: string;
  readonly debugFileDirectory?: readonly string[];
  readonly format: UnwindFormat;
  readonly regs?: boolean;
  readonly samples?: boolean;
  readonly addresses?: boolean;
  readonly framePointers: boolean;
  readonly scan?: boolean;
  readonly maxFrames?: number;
  readonly rows?: number;
  readonly wide?: boolean;
  readonly out?: string;
  readonly stats?: boolean;
}

const EXAMPLES = `
Examples:
  memshade unwind core                          every thread's stack, as GDB shows them
  memshade unwind core.zst --sysroot /mnt/target
  memshade unwind core --regs --format json > stacks.json
  memshade unwind crash.dmp --binary-path symbols/
  memshade unwind perf.data                     what took the time
  memshade unwind perf.data --samples           each sample, as perf script prints them
  memshade unwind perf.data --format pprof -o cpu.pb.gz
  memshade unwind --stats /usr/lib/libfoo.so    the library's call frame information`;

/** Adds `memshade unwind` to the program. Its action throws UserError for mistakes of the user. */
export function addUnwindCommand(program: Command): void {
  const collect = (value: string, before: readonly string[] = []) => [...before, value];
  program
    .command("unwind")
    .summary("unwind the stacks of a core dump, perf.data or minidump")
    .description(
      "Unwinds native stacks by call frame information: of the threads in an ELF core dump (x86-64, AArch64; gzip and " +
        "zstd too) or a minidump, and of the samples in perf.data recorded with --call-graph dwarf. Programs need no " +
        "frame pointers. Objects are found by path and build id; missing ones are named.",
    )
    .argument("<input>", "core dump, perf.data or minidump; - for standard input; an object with --stats")
    .option("--binary-path <dir>", "where objects lie (a folder or a file); may be repeated", collect)
    .option("--sysroot <dir>", "root of the file system on which the program ran")
    .option(
      "--debug-file-directory <dir>",
      "root of separate debug files; may be repeated (default: /usr/lib/debug)",
      collect,
    )
    .option("--format <format>", FORMATS.join(", "), (text) => parseChoice("--format", FORMATS, text), "text")
    .option("--regs", "show the registers known in each frame (text and json of dumps)")
    .option("--samples", "show each sample of perf.data instead of their sum (text and json)")
    .option("--addresses", "show the addresses of each sample and name nothing, as perf script -F ip")
    .option("-n, --rows <N>", "functions to show (text of perf.data)", parseRows)
    .option("--wide", "full names, lines as long as they get")
    .option("--no-frame-pointers", "do not follow frame pointers where there is no call frame information")
    .option("--scan", "where nothing else leads on, guess return addresses from words on the stack (x86-64)")
    .option("--max-frames <N>", "frames of a stack at most", parseFrames)
    .option("-o, --out <file>", "write to a file instead of standard output")
    .option("--stats", "print statistics of the call frame information of an object file instead")
    .addHelpText("after", EXAMPLES)
    .action((input: string, options: UnwindOptions) => runUnwind(input, options));
}

function parseFrames(text: string): number {
  const frames = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(frames) || frames === 0) {
    throw new InvalidArgumentError("a number from 1 is needed.");
  }
  return frames;
}

/** What `memshade unwind` does. */
export async function runUnwind(input: string, options: UnwindOptions): Promise<void> {
  checkOptions(options);
  if (options.format === "pprof" && options.out === undefined && process.stdout.isTTY) {
    throw new UserError("pprof files are binary: write them to a file with -o FILE");
  }
  if (options.stats) {
    write(options, (output) => output.write(statisticsOf(input, options)));
    return;
  }
  const dump = await openDump(input);
  try {
    if (options.addresses && dump.kind === "image") throw new UserError("--addresses is for perf.data");
    const output = openOutput(options.out);
    try {
      if (dump.kind === "image") unwindThreads(dump, options, output);
      else await unwindSamples(dump, options, output);
    } catch (error) {
      output.abandon();
      throw error;
    }
    output.finish();
  } finally {
    dump.close();
  }
}

function checkOptions({ binaryPath = [], sysroot, addresses, format }: UnwindOptions): void {
  if (addresses && format !== "text")
    throw new UserError("--addresses prints text; --samples --format json has them too");
  for (const place of binaryPath) {
    if (!existsSync(place)) throw new UserError(`--binary-path ${place}: there is no such file or folder`);
  }
  if (sysroot !== undefined && !existsSync(sysroot)) {
    throw new UserError(`--sysroot ${sysroot}: there is no such folder`);
  }
}

function write({ out }: UnwindOptions, action: (output: Output) => void): void {
  const output = openOutput(out);
  try {
    action(output);
  } catch (error) {
    output.abandon();
    throw error;
  }
  output.finish();
}

function statisticsOf(file: string, { format }: UnwindOptions): string {
  const statistics = cfiStatistics(loadObject(file).object);
  if (statistics === undefined) throw new UserError(`${file}: WebAssembly has no call frame information`);
  if (format === "json") return `${JSON.stringify(statistics, null, 1)}\n`;
  if (format !== "text") throw new UserError(`--stats prints text or json, not ${format}`);
  return cfiStatisticsText(file, statistics);
}

function finderOf({ binaryPath = [], sysroot, debugFileDirectory }: UnwindOptions): ObjectFinder {
  return new ObjectFinder({
    binaryPaths: binaryPath,
    ...(sysroot === undefined ? {} : { sysroot }),
    ...(debugFileDirectory === undefined ? {} : { debugDirectories: debugFileDirectory }),
  });
}

function walkOptions({ framePointers, scan, maxFrames }: UnwindOptions): WalkOptions {
  return { framePointers, scan: scan === true, ...(maxFrames === undefined ? {} : { maxFrames }) };
}

function unwindThreads({ image }: Dump & { kind: "image" }, options: UnwindOptions, output: Output): void {
  const finder = finderOf(options);
  const stacks = unwindImage(
    image,
    {
      find: (wanted) => finder.find({ ...wanted, architecture: image.architecture }),
      findDebugFile: (found) => finder.findDebugFile(found),
    },
    { ...walkOptions(options), registers: options.regs === true },
  );
  const namer = loadFrameNamer(preferAsGdb, finder);
  const shown = { registers: options.regs === true };
  if (options.format === "text") writeAll(output, nativeStacksText(stacks, namer, shown));
  else if (options.format === "json") writeAll(output, nativeStacksJson(stacks, namer, shown));
  else writeProfile(output, options.format, profileOfImage(stacks, namer), 0);
}

async function unwindSamples(
  { source, gaps }: Dump & { kind: "perf" },
  options: UnwindOptions,
  output: Output,
): Promise<void> {
  const finder = finderOf(options);
  const namer = loadFrameNamer(preferAsPerf, finder);
  const { format } = options;
  const each = options.addresses
    ? "addresses"
    : options.samples && (format === "text" || format === "json")
      ? format
      : undefined;
  let buildIds: ReadonlyMap<string, string> = new Map();
  const kernel = new KernelNamer((reference) =>
    loadKernelSymbols(buildIds.get("[kernel.kallsyms]"), reference),
  );
  let builder: PerfProfileBuilder | undefined;
  let count = 0;
  if (each === "json") output.write("[");
  const stacks = await unwindPerfData(source, finder, {
    zstd: nodeZstdStream,
    options: walkOptions(options),
    onText: each === "addresses" ? (text) => output.write(text) : undefined,
    onSample: (stack, header) => {
      buildIds = header.buildIds;
      if (each === "text") {
        output.write(perfSampleText(stack, header, namer, kernel));
      } else if (each === "json") {
        output.write(`${count++ === 0 ? "" : ","}\n${sampleJson(stack, header, namer, kernel)}`);
      } else {
        builder ??= new PerfProfileBuilder(header, namer, kernel);
        builder.add(stack);
      }
    },
  });
  if (each === "json") output.write("]\n");
  if (each !== undefined) return;
  const found = { ...stacks, gaps: [...gaps, ...stacks.gaps] };
  const profile = (builder ?? new PerfProfileBuilder(stacks.header, namer)).finish();
  if (format === "text") {
    const width = options.wide ? undefined : TERMINAL_COLUMNS;
    output.write(perfProfileText(profile, found, { rows: options.rows ?? USUAL_ROWS, width }));
  } else if (format === "json") {
    writeAll(output, perfProfileJson(profile, found));
  } else {
    writeProfile(output, format, profile, profile.valueTypes.length > 1 ? 1 : 0);
  }
}

function writeProfile(
  output: Output,
  format: Exclude<UnwindFormat, "text" | "json">,
  profile: SampleProfile,
  shown: number,
): void {
  switch (format) {
    case "folded":
      writeAll(output, writeFolded(profile));
      break;
    case "pprof":
      output.write(gzipSync(writePprof(profile, { shown })));
      break;
    case "speedscope":
      writeAll(output, writeSpeedscope(profile, `memshade@${MEMSHADE_VERSION}`));
      break;
    case "firefox":
      writeAll(output, writeFirefoxProfiler(profile, MEMSHADE_VERSION));
      break;
  }
}

function writeAll(output: Output, pieces: Iterable<string>): void {
  for (const piece of pieces) output.write(piece);
}
