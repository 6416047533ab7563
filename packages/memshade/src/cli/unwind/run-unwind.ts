import { existsSync } from "node:fs";
import { cfiStatistics } from "../../code/unwind/index.ts";
import { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { loadObject } from "../../names/load/objects.ts";
import { type Dump, openDump, profileOfImage } from "../../names/stacks/load-dump.ts";
import { nameImageStacks } from "../../names/stacks/named-image.ts";
import { loadFrameNamer, preferAsGdb, preferAsPerf } from "../../names/stacks/names.ts";
import { KernelNamer } from "../../names/stacks/recordings/kallsyms.ts";
import {
  CutStacks,
  loadKernelSymbols,
  nodeZstd,
  SampleNamer,
} from "../../names/stacks/recordings/named-samples.ts";
import { unwindPerfData } from "../../names/stacks/recordings/sample-walks.ts";
import { counted } from "../../profile/model/counted.ts";
import type { MissingFile } from "../../profile/model/native-stacks.ts";
import type { SampleProfile } from "../../profile/model/sample-profile.ts";
import { type Output, writeOutput } from "../../runs/output.ts";
import { pagePath } from "../../runs/page/page-file.ts";
import { sourceFiles } from "../../runs/page/source-files.ts";
import { SAMPLE_FORMATS } from "../../show/exports/sample-formats.ts";
import { nativeStacksJson } from "../../show/report/json/native-stacks.ts";
import { perfProfileJson } from "../../show/report/json/perf-profile.ts";
import { sampleJson } from "../../show/report/json/perf-samples.ts";
import type { PageData } from "../../show/report/page/data/page-data.ts";
import { pageOfSamples } from "../../show/report/page/data/sample-page.ts";
import { printable } from "../../show/report/terminal/common/text.ts";
import {
  cfiStatisticsText,
  missingLines,
  nativeStacksText,
  perfProfileText,
  perfSampleText,
} from "../../show/report/terminal/stacks.ts";
import { writePage } from "../report/write-page.ts";
import type { UnwindOptions } from "./options.ts";
import { EventChoice, finderOf, perfProfile, unwoundImage, walkOptions } from "./sample-profile.ts";

export async function runUnwind(input: string, options: UnwindOptions): Promise<void> {
  checkOptions(options);
  if (options.format === "pprof" && options.out === undefined && process.stdout.isTTY)
    throw new UserError("pprof files are binary: write them to a file with -o FILE");
  if (options.stats) {
    await writeOutput(options.out, (output) => output.write(statisticsOf(input, options)), [input]);
    return;
  }
  const dump = await openDump(input);
  try {
    if (options.addresses && dump.kind === "image") throw new UserError("--addresses is for perf.data");
    if (options.event !== undefined && dump.kind === "image") throw new UserError("--event is for perf.data");
    if (options.html !== undefined || options.open === true) {
      const { page, text } = await pageOfDump(dump, options);
      const isStream = input === "-" && (options.html ?? true) === true;
      if (isStream)
        throw new UserError("--html needs the name of a page if the input is standard input: --html FILE");
      await writePage(page, text, {
        file: pagePath(options.html ?? true, input),
        inputs: [input],
        open: options.open,
      });
      return;
    }
    await writeOutput(
      options.out,
      (output) =>
        options.addresses && dump.kind === "perf"
          ? printAddresses(dump, options, output)
          : printNamed(dump, options, output),
      [input],
    );
  } finally {
    dump.close();
  }
}

function checkOptions(options: UnwindOptions): void {
  const { sysroot, addresses, event, format, html, open, samples, out, stats } = options;
  if (
    (html !== undefined || open) &&
    (format !== "text" || samples || addresses || stats || out !== undefined)
  )
    throw new UserError(
      "--html writes a page of its own: leave out --format, --samples, --addresses, --stats and -o",
    );
  if (addresses && format !== "text")
    throw new UserError("--addresses prints text; --samples --format json has them too");
  if (event !== undefined && (addresses || stats))
    throw new UserError("--event chooses samples: leave out --addresses and --stats");
  if (sysroot !== undefined && !existsSync(sysroot))
    throw new UserError(`--sysroot ${sysroot}: there is no such folder`);
}

function statisticsOf(file: string, { format }: UnwindOptions): string {
  const { object } = loadObject(file);
  const statistics = cfiStatistics(object);
  if (statistics === undefined) {
    const reason =
      object.kind === "wasm"
        ? "WebAssembly has no call frame information"
        : "call frame information is read of x86 and AArch64 alone";
    throw new UserError(`${file}: ${reason}`);
  }
  if (format === "json") return `${JSON.stringify(statistics, null, 1)}\n`;
  if (format !== "text") throw new UserError(`--stats prints text or json, not ${format}`);
  return cfiStatisticsText(file, statistics);
}

async function printAddresses(
  { source }: Dump & { kind: "perf" },
  options: UnwindOptions,
  output: Output,
): Promise<void> {
  await unwindPerfData(source, finderOf(options), {
    zstd: nodeZstd,
    options: walkOptions(options),
    onText: (text) => output.write(text),
  });
}

async function printNamed(dump: Dump, options: UnwindOptions, output: Output): Promise<void> {
  if (dump.kind === "image") unwindThreads(dump, options, output);
  else await unwindSamples(dump, options, output);
}

const USUAL_ROWS = 20;
const TERMINAL_COLUMNS = 80;

function unwindThreads(dump: Dump & { kind: "image" }, options: UnwindOptions, output: Output): void {
  const stacks = unwoundImage(dump, options);
  const namer = loadFrameNamer(preferAsGdb, finderOf(options));
  if (options.format === "text" || options.format === "json") {
    const named = nameImageStacks(stacks, namer, { registers: options.regs === true });
    writeAll(output, options.format === "text" ? nativeStacksText(named) : nativeStacksJson(named));
  } else writeAll(output, SAMPLE_FORMATS[options.format].write(profileOfImage(stacks, namer), 0));
}

/** Prints the samples of perf.data with names: their sum, or each sample. */
async function unwindSamples(
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
    printNotes([...recording.notes, ...mixed]);
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
  printNotes([...gaps, ...stacks.gaps, ...cut.inWords()]);
}

/** Prints notes that have no place in the output. */
function printNotes(notes: readonly string[]): void {
  for (const note of notes) process.stderr.write(`memshade: ${printable(note)}\n`);
}

function writeAll(output: Output, pieces: Iterable<string | Uint8Array>): void {
  for (const piece of pieces) output.write(piece);
}

const ROWS = 20;
const COLUMNS = 80;

/** A page, and the same content as text for readers without scripts. */
interface PageAndText {
  readonly page: PageData;
  readonly text: string;
}

async function pageOfDump(dump: Dump, options: UnwindOptions): Promise<PageAndText> {
  return dump.kind === "image" ? pageOfThreads(dump, options) : pageOfRecording(dump, options);
}

function pageOfThreads(dump: Dump & { kind: "image" }, options: UnwindOptions): PageAndText {
  const stacks = unwoundImage(dump, options);
  const namer = loadFrameNamer(preferAsGdb, finderOf(options));
  const named = nameImageStacks(stacks, namer, { registers: false });
  const page = samplePage(profileOfImage(stacks, namer), {
    gaps: missingInWords(named.missing),
    command: [],
    binaryPath: options.binaryPath,
  });
  return { page, text: [...nativeStacksText(named)].join("") };
}

async function pageOfRecording(dump: Dump & { kind: "perf" }, options: UnwindOptions): Promise<PageAndText> {
  const { profile, events, recording } = await perfProfile(dump, options);
  const { lost, notes, missing, command } = recording;
  const lostInWords =
    lost === 0 ? [] : [`${counted(lost, "sample was", "samples were")} lost while recording.`];
  const gaps = [...notes, ...lostInWords, ...missingInWords(missing)];
  const page = samplePage(profile, { gaps, command, binaryPath: options.binaryPath });
  return { page, text: perfProfileText(profile, events, recording, { rows: ROWS, width: COLUMNS }) };
}

interface OfSamples {
  readonly binaryPath: readonly string[] | undefined;
  readonly gaps: readonly string[];
  readonly command: readonly string[];
}

function samplePage(profile: SampleProfile, { gaps, command, binaryPath }: OfSamples): PageData {
  const read = sourceFiles([], undefined, binaryPath);
  return pageOfSamples(profile, { rules: new FrameRules(), sources: "lines", read, gaps, command });
}

function missingInWords(missing: readonly MissingFile[]): string[] {
  return missingLines(missing).map((line) => line.trim());
}
