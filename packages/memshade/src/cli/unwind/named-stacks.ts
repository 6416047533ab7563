import { writeSamples } from "../../exports/sample-formats.ts";
import { nativeStacksJson } from "../../report/json/native-stacks.ts";
import { perfProfileJson } from "../../report/json/perf-profile.ts";
import { sampleJson } from "../../report/json/perf-samples.ts";
import { nativeStacksText } from "../../report/terminal/stacks/native-stacks.ts";
import { perfProfileText } from "../../report/terminal/stacks/perf-profile.ts";
import { perfSampleText } from "../../report/terminal/stacks/perf-samples.ts";
import type { Output } from "../../runs/output.ts";
import { profileOfImage } from "../../stacks/image-profile.ts";
import type { Dump } from "../../stacks/load-dump.ts";
import { nameImageStacks } from "../../stacks/named-image.ts";
import { loadFrameNamer } from "../../stacks/names/load-namer.ts";
import { preferAsGdb, preferAsPerf } from "../../stacks/names/name-frames.ts";
import { KernelNamer } from "../../stacks/recordings/kernel-symbols.ts";
import { nodeZstd } from "../../stacks/recordings/load-decompressor.ts";
import { loadKernelSymbols } from "../../stacks/recordings/load-kernel-symbols.ts";
import { SampleNamer } from "../../stacks/recordings/named-samples.ts";
import { unwindPerfData } from "../../stacks/recordings/perf-stacks.ts";
import type { UnwindOptions } from "./options.ts";
import { perfProfile, unwoundImage } from "./sample-profile.ts";
import { finderOf, walkOptions } from "./walk-options.ts";

const USUAL_ROWS = 20;
const TERMINAL_COLUMNS = 80;

/** The threads of a dump, with names. */
export function unwindThreads(dump: Dump & { kind: "image" }, options: UnwindOptions, output: Output): void {
  const stacks = unwoundImage(dump, options);
  const namer = loadFrameNamer(preferAsGdb, finderOf(options));
  if (options.format === "text" || options.format === "json") {
    const named = nameImageStacks(stacks, namer, { registers: options.regs === true });
    writeAll(output, options.format === "text" ? nativeStacksText(named) : nativeStacksJson(named));
  } else writeAll(output, writeSamples(options.format, profileOfImage(stacks, namer), 0));
}

/** The samples of perf.data, with names: their sum, or each. */
export async function unwindSamples(
  dump: Dump & { kind: "perf" },
  options: UnwindOptions,
  output: Output,
): Promise<void> {
  const { format } = options;
  if (options.samples && (format === "text" || format === "json")) {
    await writeEach(dump, options, format, output);
    return;
  }
  const { profile, recording } = await perfProfile(dump, options);
  if (format === "text") {
    const width = options.wide ? undefined : TERMINAL_COLUMNS;
    output.write(perfProfileText(profile, recording, { rows: options.rows ?? USUAL_ROWS, width }));
  } else if (format === "json") {
    writeAll(output, perfProfileJson(profile, recording));
  } else {
    const hasPeriods = format === "pprof" && profile.valueTypes.length > 1;
    writeAll(output, writeSamples(format, profile, hasPeriods ? 1 : 0));
  }
}

async function writeEach(
  { source }: Dump & { kind: "perf" },
  options: UnwindOptions,
  format: "text" | "json",
  output: Output,
): Promise<void> {
  const finder = finderOf(options);
  let buildIds: ReadonlyMap<string, string> = new Map();
  const kernel = new KernelNamer((reference) =>
    loadKernelSymbols(buildIds.get("[kernel.kallsyms]"), reference),
  );
  const samples = new SampleNamer(loadFrameNamer(preferAsPerf, finder), kernel);
  let count = 0;
  if (format === "json") output.write("[");
  await unwindPerfData(source, finder, {
    zstd: nodeZstd,
    options: walkOptions(options),
    onSample: (stack, header) => {
      buildIds = header.buildIds;
      const sample = samples.name(stack);
      if (format === "text") output.write(perfSampleText(sample, header));
      else output.write(`${count++ === 0 ? "" : ","}\n${sampleJson(sample, header)}`);
    },
  });
  if (format === "json") output.write("]\n");
}

function writeAll(output: Output, pieces: Iterable<string | Uint8Array>): void {
  for (const piece of pieces) output.write(piece);
}
