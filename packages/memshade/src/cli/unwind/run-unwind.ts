import { existsSync } from "node:fs";
import { UserError } from "../../bytes/errors.ts";
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
import type { UnwindFormat, UnwindOptions } from "./options.ts";

const USUAL_ROWS = 20;
const TERMINAL_COLUMNS = 80;

/**
 * What `memshade unwind` does.
 *
 * @param standard what stands for standard output, if not the stream
 */
export async function runUnwind(input: string, options: UnwindOptions, standard?: Output): Promise<void> {
  checkOptions(options);
  if (options.format === "pprof" && options.out === undefined && process.stdout.isTTY) {
    throw new UserError("pprof files are binary: write them to a file with -o FILE");
  }
  if (options.stats) {
    write(openOutput(options.out, standard), (output) => output.write(statisticsOf(input, options)));
    return;
  }
  const dump = await openDump(input);
  try {
    if (options.addresses && dump.kind === "image") throw new UserError("--addresses is for perf.data");
    const output = openOutput(options.out, standard);
    try {
      if (dump.kind === "image") await unwindThreads(dump, options, output);
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

function write(output: Output, action: (output: Output) => void): void {
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

async function unwindThreads(
  { image }: Dump & { kind: "image" },
  options: UnwindOptions,
  output: Output,
): Promise<void> {
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
  else await writeProfile(output, options.format, profileOfImage(stacks, namer), 0);
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
    await writeProfile(output, format, profile, profile.valueTypes.length > 1 ? 1 : 0);
  }
}

/** The writers are loaded when they are needed: each start would wait for all of them. */
async function writeProfile(
  output: Output,
  format: Exclude<UnwindFormat, "text" | "json">,
  profile: SampleProfile,
  shown: number,
): Promise<void> {
  switch (format) {
    case "folded": {
      const { writeFolded } = await import("../../formats/folded/write.ts");
      writeAll(output, writeFolded(profile));
      break;
    }
    case "pprof": {
      const { writePprof } = await import("../../formats/pprof/write.ts");
      const { gzipSync } = process.getBuiltinModule("node:zlib");
      output.write(gzipSync(writePprof(profile, { shown })));
      break;
    }
    case "speedscope": {
      const { writeSpeedscope } = await import("../../formats/speedscope/write.ts");
      writeAll(output, writeSpeedscope(profile, `memshade@${MEMSHADE_VERSION}`));
      break;
    }
    case "firefox": {
      const { writeFirefoxProfiler } = await import("../../formats/firefox-profiler/write.ts");
      writeAll(output, writeFirefoxProfiler(profile, MEMSHADE_VERSION));
      break;
    }
  }
}

function writeAll(output: Output, pieces: Iterable<string>): void {
  for (const piece of pieces) output.write(piece);
}
