import { gzipSync } from "node:zlib";
import { writeFirefoxProfiler } from "../../formats/firefox-profiler/write.ts";
import { writeFolded } from "../../formats/folded/write.ts";
import { writePprof } from "../../formats/pprof/write.ts";
import { writeSpeedscope } from "../../formats/speedscope/write.ts";
import { MEMSHADE_VERSION } from "../../host/version.ts";
import type { SampleProfile } from "../../model/sample-profile.ts";
import { nativeStacksJson } from "../../report/json/native-stacks.ts";
import { perfProfileJson } from "../../report/json/perf-profile.ts";
import { sampleJson } from "../../report/json/perf-samples.ts";
import { nodeZstd } from "../../report/load-decompressor.ts";
import type { Dump } from "../../report/load-dump.ts";
import { loadKernelSymbols } from "../../report/load-kernel-symbols.ts";
import { loadFrameNamer } from "../../report/load-namer.ts";
import { nativeStacksText } from "../../report/terminal/native-stacks.ts";
import { perfProfileText } from "../../report/terminal/perf-profile.ts";
import { perfSampleText } from "../../report/terminal/perf-samples.ts";
import { profileOfImage } from "../../stacks/image-profile.ts";
import { unwindImage } from "../../stacks/image-stacks.ts";
import { KernelNamer } from "../../stacks/kernel-symbols.ts";
import { preferAsGdb, preferAsPerf } from "../../stacks/name-frames.ts";
import { PerfProfileBuilder } from "../../stacks/perf-profile.ts";
import { unwindPerfData } from "../../stacks/perf-stacks.ts";
import type { Output } from "../output.ts";
import type { UnwindFormat, UnwindOptions } from "./options.ts";
import { finderOf, walkOptions } from "./walk-options.ts";

const USUAL_ROWS = 20;
const TERMINAL_COLUMNS = 80;

/** The threads of a dump, with names. */
export function unwindThreads(
  { image }: Dump & { kind: "image" },
  options: UnwindOptions,
  output: Output,
): void {
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

/** The samples of perf.data, with names: their sum, or each. */
export async function unwindSamples(
  { source, gaps }: Dump & { kind: "perf" },
  options: UnwindOptions,
  output: Output,
): Promise<void> {
  const finder = finderOf(options);
  const namer = loadFrameNamer(preferAsPerf, finder);
  const { format } = options;
  const each = options.samples && (format === "text" || format === "json") ? format : undefined;
  let buildIds: ReadonlyMap<string, string> = new Map();
  const kernel = new KernelNamer((reference) =>
    loadKernelSymbols(buildIds.get("[kernel.kallsyms]"), reference),
  );
  let builder: PerfProfileBuilder | undefined;
  let count = 0;
  if (each === "json") output.write("[");
  const stacks = await unwindPerfData(source, finder, {
    zstd: nodeZstd,
    options: walkOptions(options),
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
