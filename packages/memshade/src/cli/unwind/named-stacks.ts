import { gzipSync } from "node:zlib";
import { FrameRules } from "../../analyses/frames/frame-rules.ts";
import { writeFirefoxProfiler } from "../../formats/firefox-profiler/write.ts";
import { writeFolded } from "../../formats/folded/write.ts";
import { writePprof } from "../../formats/pprof/write.ts";
import { writeSpeedscope } from "../../formats/speedscope/write.ts";
import { counted } from "../../model/counted.ts";
import type { SampleProfile } from "../../model/sample-profile.ts";
import { MEMSHADE_VERSION } from "../../model/version.ts";
import { nativeStacksJson } from "../../report/json/native-stacks.ts";
import { perfProfileJson } from "../../report/json/perf-profile.ts";
import { sampleJson } from "../../report/json/perf-samples.ts";
import type { PageData } from "../../report/page/data/page-data.ts";
import { pageOfSamples } from "../../report/page/data/sample-page.ts";
import { missingLines, nativeStacksText } from "../../report/terminal/stacks/native-stacks.ts";
import { perfProfileText } from "../../report/terminal/stacks/perf-profile.ts";
import { perfSampleText } from "../../report/terminal/stacks/perf-samples.ts";
import { profileOfImage } from "../../stacks/image-profile.ts";
import { unwindImage } from "../../stacks/image-stacks.ts";
import type { Dump } from "../../stacks/load-dump.ts";
import { nameImageStacks } from "../../stacks/named-image.ts";
import { loadFrameNamer } from "../../stacks/names/load-namer.ts";
import { preferAsGdb, preferAsPerf } from "../../stacks/names/name-frames.ts";
import { KernelNamer } from "../../stacks/recordings/kernel-symbols.ts";
import { nodeZstd } from "../../stacks/recordings/load-decompressor.ts";
import { loadKernelSymbols } from "../../stacks/recordings/load-kernel-symbols.ts";
import { describeRecording, SampleNamer } from "../../stacks/recordings/named-samples.ts";
import { PerfProfileBuilder } from "../../stacks/recordings/perf-profile.ts";
import { unwindPerfData } from "../../stacks/recordings/perf-stacks.ts";
import type { Output } from "../output.ts";
import { sourceFiles } from "../report/source-files.ts";
import type { UnwindFormat, UnwindOptions } from "./options.ts";
import { finderOf, walkOptions } from "./walk-options.ts";

const USUAL_ROWS = 20;
const TERMINAL_COLUMNS = 80;

/** The threads of a dump, with names. */
export function unwindThreads(dump: Dump & { kind: "image" }, options: UnwindOptions, output: Output): void {
  const { stacks, namer } = threadStacks(dump, options);
  if (options.format === "text" || options.format === "json") {
    const named = nameImageStacks(stacks, namer, { registers: options.regs === true });
    writeAll(output, options.format === "text" ? nativeStacksText(named) : nativeStacksJson(named));
  } else writeProfile(output, options.format, profileOfImage(stacks, namer), 0);
}

/** The threads of a dump as a page, and as text. */
export function threadsPage(
  dump: Dump & { kind: "image" },
  options: UnwindOptions,
): { page: PageData; text: string } {
  const { stacks, namer } = threadStacks(dump, options);
  const named = nameImageStacks(stacks, namer, { registers: false });
  const text = [...nativeStacksText(named)].join("");
  return {
    page: samplePage(profileOfImage(stacks, namer), missingFiles(named.missing), { command: [] }),
    text,
  };
}

function samplePage(
  profile: SampleProfile,
  gaps: readonly string[],
  { command }: { readonly command: readonly string[] },
): PageData {
  const read = sourceFiles([], undefined);
  return pageOfSamples(profile, { rules: new FrameRules(), sources: "lines", read, gaps, command });
}

function missingFiles(missing: Parameters<typeof missingLines>[0]): string[] {
  return missing.length === 0
    ? []
    : [
        missingLines(missing)
          .map((line) => line.trim())
          .join(" "),
      ];
}

function threadStacks({ image }: Dump & { kind: "image" }, options: UnwindOptions) {
  const finder = finderOf(options);
  const stacks = unwindImage(
    image,
    {
      find: (wanted) => finder.find({ ...wanted, architecture: image.architecture }),
      findDebugFile: (found) => finder.findDebugFile(found),
    },
    { ...walkOptions(options), registers: options.regs === true },
  );
  return { stacks, namer: loadFrameNamer(preferAsGdb, finder) };
}

/** The samples of perf.data, with names: their sum, or each. */
export async function unwindSamples(
  dump: Dump & { kind: "perf" },
  options: UnwindOptions,
  output: Output,
): Promise<void> {
  const { format } = options;
  const each = options.samples && (format === "text" || format === "json") ? format : undefined;
  if (each !== undefined) {
    await writeEach(dump, options, each, output);
    return;
  }
  const { profile, recording } = await sumOfSamples(dump, options);
  if (format === "text") {
    const width = options.wide ? undefined : TERMINAL_COLUMNS;
    output.write(perfProfileText(profile, recording, { rows: options.rows ?? USUAL_ROWS, width }));
  } else if (format === "json") {
    writeAll(output, perfProfileJson(profile, recording));
  } else {
    writeProfile(output, format, profile, profile.valueTypes.length > 1 ? 1 : 0);
  }
}

/** The samples of perf.data as a page, and as text. */
export async function samplesPage(
  dump: Dump & { kind: "perf" },
  options: UnwindOptions,
): Promise<{ page: PageData; text: string }> {
  const { profile, recording } = await sumOfSamples(dump, options);
  const text = perfProfileText(profile, recording, { rows: USUAL_ROWS, width: TERMINAL_COLUMNS });
  const lost =
    recording.lost === 0
      ? []
      : [`${counted(recording.lost, "sample was", "samples were")} lost while recording.`];
  const gaps = [...recording.notes, ...lost, ...missingFiles(recording.missing)];
  return { page: samplePage(profile, gaps, recording), text };
}

async function writeEach(
  dump: Dump & { kind: "perf" },
  options: UnwindOptions,
  format: "text" | "json",
  output: Output,
): Promise<void> {
  const naming = sampleNaming(options);
  const samples = new SampleNamer(naming.namer, naming.kernel);
  let count = 0;
  if (format === "json") output.write("[");
  await unwindAll(dump, options, naming, (stack, header) => {
    if (format === "text") output.write(perfSampleText(samples.name(stack), header));
    else output.write(`${count++ === 0 ? "" : ","}\n${sampleJson(samples.name(stack), header)}`);
  });
  if (format === "json") output.write("]\n");
}

/** All samples of perf.data, those of equal stacks together. */
async function sumOfSamples(dump: Dump & { kind: "perf" }, options: UnwindOptions) {
  const naming = sampleNaming(options);
  let builder: PerfProfileBuilder | undefined;
  const stacks = await unwindAll(dump, options, naming, (stack, header) => {
    builder ??= new PerfProfileBuilder(header, naming.namer, naming.kernel);
    builder.add(stack);
  });
  const profile = (builder ?? new PerfProfileBuilder(stacks.header, naming.namer)).finish();
  return { profile, recording: describeRecording({ ...stacks, gaps: [...dump.gaps, ...stacks.gaps] }) };
}

/** Who names the frames of samples. `buildIds` are known with the first sample. */
function sampleNaming(options: UnwindOptions) {
  const finder = finderOf(options);
  const known: { buildIds: ReadonlyMap<string, string> } = { buildIds: new Map() };
  const kernel = new KernelNamer((reference) =>
    loadKernelSymbols(known.buildIds.get("[kernel.kallsyms]"), reference),
  );
  return { finder, namer: loadFrameNamer(preferAsPerf, finder), kernel, known };
}

function unwindAll(
  { source }: Dump & { kind: "perf" },
  options: UnwindOptions,
  { finder, known }: ReturnType<typeof sampleNaming>,
  onSample: NonNullable<Parameters<typeof unwindPerfData>[2]["onSample"]>,
) {
  return unwindPerfData(source, finder, {
    zstd: nodeZstd,
    options: walkOptions(options),
    onSample: (stack, header) => {
      known.buildIds = header.buildIds;
      onSample(stack, header);
    },
  });
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
