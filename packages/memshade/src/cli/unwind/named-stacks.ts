import { profileOfImage } from "../../names/stacks/image-profile.ts";
import type { Dump } from "../../names/stacks/load-dump.ts";
import { nameImageStacks } from "../../names/stacks/named-image.ts";
import { loadFrameNamer } from "../../names/stacks/names/load-namer.ts";
import { preferAsGdb, preferAsPerf } from "../../names/stacks/names/name-frames.ts";
import { CutStacks } from "../../names/stacks/recordings/cut-stacks.ts";
import { KernelNamer } from "../../names/stacks/recordings/kernel-symbols.ts";
import { nodeZstd } from "../../names/stacks/recordings/load-decompressor.ts";
import { loadKernelSymbols } from "../../names/stacks/recordings/load-kernel-symbols.ts";
import { SampleNamer } from "../../names/stacks/recordings/named-samples.ts";
import { unwindPerfData } from "../../names/stacks/recordings/perf-stacks.ts";
import { counted } from "../../profile/model/counted.ts";
import type { Output } from "../../runs/output.ts";
import { SAMPLE_FORMATS } from "../../show/exports/sample-formats.ts";
import { nativeStacksJson } from "../../show/report/json/native-stacks.ts";
import { perfProfileJson } from "../../show/report/json/perf-profile.ts";
import { sampleJson } from "../../show/report/json/perf-samples.ts";
import { printable } from "../../show/report/terminal/common/text.ts";
import { nativeStacksText } from "../../show/report/terminal/stacks/native-stacks.ts";
import { perfProfileText } from "../../show/report/terminal/stacks/perf-profile.ts";
import { perfSampleText } from "../../show/report/terminal/stacks/perf-samples.ts";
import { EventChoice } from "./event-choice.ts";
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
  } else writeAll(output, SAMPLE_FORMATS[options.format].write(profileOfImage(stacks, namer), 0));
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
  const { profile, events, recording } = await perfProfile(dump, options);
  if (format === "text") {
    const width = options.wide ? undefined : TERMINAL_COLUMNS;
    output.write(perfProfileText(profile, events, recording, { rows: options.rows ?? USUAL_ROWS, width }));
  } else if (format === "json") {
    writeAll(output, perfProfileJson(profile, events, recording));
  } else {
    const added = counted(events.length, "event");
    const mixed =
      format === "folded" && events.length > 1
        ? [`samples of ${added} are added up: --event NAME chooses one`]
        : [];
    tell([...recording.notes, ...mixed]);
    const hasPeriods = format === "pprof" && profile.valueTypes.length > 1;
    writeAll(output, SAMPLE_FORMATS[format].write(profile, hasPeriods ? 1 : 0));
  }
}

async function writeEach(
  { source, gaps }: Dump & { kind: "perf" },
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
  const choice = new EventChoice(options.event);
  const cut = new CutStacks();
  let count = 0;
  if (format === "json") output.write("[");
  const stacks = await unwindPerfData(source, finder, {
    zstd: nodeZstd,
    options: walkOptions(options),
    onSample: (stack, header) => {
      buildIds = header.buildIds;
      if (!choice.has(stack.sample.event, header)) return;
      cut.add(stack);
      const sample = samples.name(stack);
      if (format === "text") output.write(perfSampleText(sample, header));
      else output.write(`${count++ === 0 ? "" : ","}\n${sampleJson(sample, header)}`);
    },
  });
  choice.check(stacks.header);
  if (format === "json") output.write("]\n");
  tell([...gaps, ...stacks.gaps, ...cut.inWords()]);
}

/** Says what has no place in the output. */
function tell(notes: readonly string[]): void {
  for (const note of notes) process.stderr.write(`memshade: ${printable(note)}\n`);
}

function writeAll(output: Output, pieces: Iterable<string | Uint8Array>): void {
  for (const piece of pieces) output.write(piece);
}
