import { existsSync } from "node:fs";
import { cfiStatistics } from "../../code/unwind/index.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { loadObject } from "../../names/load/objects.ts";
import { type Dump, openDump } from "../../names/stacks/load-dump.ts";
import { nodeZstd } from "../../names/stacks/recordings/load-decompressor.ts";
import { unwindPerfData } from "../../names/stacks/recordings/perf-stacks.ts";
import { type Output, writeOutput } from "../../runs/output.ts";
import { pagePath } from "../../runs/page/page-file.ts";
import { cfiStatisticsText } from "../../show/report/terminal/stacks/cfi-statistics.ts";
import { writePage } from "../report/write-page.ts";
import { unwindSamples, unwindThreads } from "./named-stacks.ts";
import type { UnwindOptions } from "./options.ts";
import { pageOfDump } from "./sample-pages.ts";
import { finderOf, walkOptions } from "./walk-options.ts";

/** What `memshade unwind` does. */
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
        throw new UserError("--html needs a name for what comes from standard input: --html FILE");
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
    throw new UserError("--event goes with what names samples, not with --addresses or --stats");
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
