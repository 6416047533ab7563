import { statSync } from "node:fs";
import { type Command, Option } from "commander";
import { classifySites } from "../../analyses/hot-cold.ts";
import { UserError } from "../../bytes/errors.ts";
import { heapProfileFromMemprof } from "../../formats/memprof/index.ts";
import {
  type ContainerVersion,
  type MemprofVersion,
  writeIndexed,
  writeMerged,
} from "../../formats/memprof-indexed/index.ts";
import { indexedProfileText, profileText } from "../../formats/memprof-text/index.ts";
import {
  memshadeProfilePieces,
  type ProfileOrigin,
  spilledProfilePieces,
} from "../../formats/memshade-profile/index.ts";
import { say } from "../../host/run/terminal-line.ts";
import { loadDemangler } from "../../load/demangler.ts";
import { convertProfile } from "../../memprof/convert.ts";
import type { InputMerger, MergeFields } from "../../memprof/input-merger.ts";
import { expandInputs, type MergeInput } from "../../memprof/inputs.ts";
import { mergeInputs } from "../../memprof/merge-profiles.ts";
import { nodeDeflate } from "../../memprof/node-deflate.ts";
import { Progress } from "../../memprof/progress.ts";
import { TemporaryFile } from "../../memprof/temporary-file.ts";
import { writePieces } from "../../memprof/write-pieces.ts";
import {
  type CreateSpillFile,
  HOT_COLD_FIELDS,
  type MemprofProfile,
  type SpilledProfile,
  summarize,
  viewMerged,
} from "../../model/memprof/index.ts";
import { MIB_FIELDS, type MibField } from "../../model/mib-fields.ts";
import { groupDigits } from "../../report/format.ts";
import { Screen } from "../../report/terminal/common/screen.ts";
import { printHotCold } from "../../report/terminal/heap/hot-cold.ts";
import { collect } from "../collect.ts";
import { addHotColdOptions, type HotColdFlags, thresholdsOf } from "../hot-cold-options.ts";
import { keepHeapSmall } from "../small-heap.ts";
import { parseChoice, screenOptions, standardOutput } from "./report-options.ts";

type Format = "indexed" | "yaml" | "memshade";
const FORMATS: readonly Format[] = ["indexed", "yaml", "memshade"];
const CONTAINERS = ["8", "9", "10", "11", "12", "13"] as const;
const MOST_NAMED = 20;

interface MergeFlags extends HotColdFlags {
  output: string;
  binary: string[];
  search: string[];
  format?: Format;
  memprofVersion: MemprofVersion;
  container: ContainerVersion;
  fullSchema?: boolean;
  combine?: boolean;
  skipBad?: boolean;
  threads?: number;
  classify?: boolean;
}

const EXAMPLES = `
Examples:
  memshade merge -o app.memprofdata --binary ./app memprof.profraw.*
  memshade merge -o fleet.memprofdata --search ./build --skip-bad profiles/
  memshade merge -o all.memshade --binary app --binary libcodec.so @inputs.txt
  memshade merge -o app.memprofdata memshade.out/app.4711
  memshade merge -o app.memprofdata --classify --cold-lifetime 10 \\
    --binary ./app memprof.profraw.*
  clang++ -O2 -g -fdebug-info-for-profiling \\
    -fmemory-profile-use=app.memprofdata app.cpp

Inputs are raw profiles, indexed ones, YAML, memshade profiles, run folders,
folders with any of these, and @files with one input per line. Raw profiles need
their programs: modules are matched by build id. A single input is converted as
llvm-profdata does; of several, contexts with the same call stack become one.`;

export function addMergeCommand(program: Command): void {
  const command = program
    .command("merge")
    .summary("merge MemProf profiles of many runs into one")
    .description(
      "Merges heap profiles, native ones and those of WebAssembly runs, into one that can guide a compile.",
    )
    .argument("<input...>", "profiles, run folders, folders, @files")
    .requiredOption("-o, --output <file>", "file to write")
    .option("--binary <exe>", "program, library or wasm module; may be given several times", collect, [])
    .option(
      "--search <dir>",
      "folder with binaries, found by build id; may be given several times",
      collect,
      [],
    )
    .option(
      "--format <format>",
      `${FORMATS.join(", ")} (default: by the name of the output: .yaml, .memshade)`,
      (text) => parseChoice("--format", FORMATS, text),
    )
    .option(
      "--memprof-version <N>",
      "version of an indexed profile: 2, 3, 4",
      (text) => parseVersion(text),
      3,
    )
    .addOption(
      new Option("--container <N>", "version of the file around an indexed profile: 8 to 13")
        .argParser((text) => Number(parseChoice("--container", CONTAINERS, text)))
        .default(13),
    )
    .option("--full-schema", "keep all fields of the blocks, not only those that the compiler needs")
    .option("--combine", "combine equal contexts of a single input too")
    .option(
      "--skip-bad",
      "leave out inputs that cannot be read or symbolized, and name them, instead of stopping",
    )
    .option("--threads <N>", "threads to use (default: one per core, where that pays)", parseThreads)
    .option(
      "--classify",
      "print which allocation calls the compiler would take for hot, cold or ambiguous, and why",
    );
  addHotColdOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((inputs: string[], flags: MergeFlags) => runMerge(inputs, flags));
}

function parseVersion(text: string): MemprofVersion {
  return Number(parseChoice("--memprof-version", ["2", "3", "4"], text)) as MemprofVersion;
}

function parseThreads(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > 256) {
    throw new UserError(`--threads takes a number from 1 to 256, not "${text}"`);
  }
  return count;
}

async function runMerge(args: readonly string[], asked: MergeFlags): Promise<void> {
  keepHeapSmall();
  let isSomeSkipped = false;
  const skip = (message: string) => {
    isSomeSkipped = true;
    saySkipped(message);
  };
  const inputs = expandInputs(args, asked.skipBad === true ? skip : undefined);
  if (inputs.length === 0) throw new UserError(NOTHING_READ);
  // What is left of several is not one that was given alone.
  const flags = isSomeSkipped ? { ...asked, combine: true } : asked;
  const virtual = inputs.filter(({ hasVirtualClock }) => hasVirtualClock === true).length;
  if (virtual > 0) {
    say(
      `${virtual} of the inputs measured lifetimes in allocations, not in milliseconds: ` +
        "for a compile, record them with --clock wall",
    );
  }
  if (flags.classify === true) return classify(inputs, flags);
  await writeProfile(inputs, flags);
}

const NOTHING_READ = "none of the inputs could be read: nothing was written";

function saySkipped(message: string): void {
  say(`skipped: ${message}`);
}

/** Writes the profile and prints the classification, with names, from one and the same merge. */
async function classify(inputs: readonly MergeInput[], flags: MergeFlags): Promise<void> {
  const named = (await merge(inputs, { fields: MIB_FIELDS, keepsSources: true }, flags)).take();
  await writeProfile(inputs, flags);
  const thresholds = thresholdsOf(flags);
  const demangle = loadDemangler();
  const profile = heapProfileFromMemprof(named.profile, { version: 0, notTracked: [], demangle });
  const screen = new Screen(screenOptions("auto", false, standardOutput()));
  const sites = classifySites(profile, thresholds);
  printHotCold(screen, profile, sites, thresholds, Number.POSITIVE_INFINITY);
  process.stdout.write(screen.text());
}

async function writeProfile(inputs: readonly MergeInput[], flags: MergeFlags): Promise<void> {
  const format = flags.format ?? formatOf(flags.output);
  if (format === "memshade") refusePipe(flags.output);
  const places = { binaries: flags.binary, searchPaths: flags.search };
  const schema = flags.fullSchema === true ? MIB_FIELDS : HOT_COLD_FIELDS;
  const [only] = inputs;
  if (inputs.length === 1 && format !== "memshade" && flags.combine !== true) {
    const converted = await convertProfile(only!, places, schema);
    if (converted !== undefined) {
      const { profile, order, unmatched } = converted;
      writePieces(flags.output, pieces(profile, format, schema, order, flags));
      sayWritten(flags.output, sizesOf(profile), { inputs: 1, unmatched, dropped: 0 });
      return;
    }
  }
  const isWhole = format === "memshade";
  const spill = isWhole ? () => new TemporaryFile(flags.output) : undefined;
  const fields = isWhole ? MIB_FIELDS : schema;
  const kept = { fields, keepsSources: isWhole, keepsUnresolved: isWhole, spill };
  const merger = await merge(inputs, kept, flags);
  const { tables, runs, ...from } = described(merger);
  const known = tables.knownFields;
  if (format === "indexed") {
    const { memprofVersion: version, container } = flags;
    const { chunks, ...sizes } = writeMerged(tables, { version, container, schema, order: "stored" });
    writePieces(flags.output, chunks);
    sayWritten(flags.output, sizes, from);
  } else if (spill !== undefined && runs?.isEmpty === false) {
    writeSpilled(flags.output, runs.finish(tables), from, spill);
    runs.release();
  } else {
    const view = viewMerged(tables);
    const sizes = { contexts: view.blockCount, functions: view.records.length };
    const text = () => profileText(view);
    const whole = () => memshadeProfilePieces(view, from.origin, nodeDeflate);
    writePieces(flags.output, isWhole ? whole() : text());
    sayWritten(flags.output, sizes, from, isWhole);
  }
  sayMissingFields(known, kept.fields);
}

/** Says at once, and not when everything has been merged, that the directory in front cannot be written last. */
function refusePipe(output: string): void {
  const status = statSync(output, { throwIfNoEntry: false });
  if (status?.isFIFO() || status?.isSocket())
    throw new UserError(`${output} is a pipe: a memshade profile can only be written to a file`);
}

/** Writes a memshade profile of what did not fit into memory. */
function writeSpilled(
  output: string,
  profile: SpilledProfile,
  from: Sources & { readonly origin: ProfileOrigin },
  spill: CreateSpillFile,
): void {
  let sizes: Sizes = { contexts: 0, functions: 0 };
  function* pieces() {
    sizes = yield* spilledProfilePieces(profile, from.origin, nodeDeflate, spill);
  }
  writePieces(output, pieces());
  sayWritten(output, sizes, from, true);
}

/** What was merged, and what is said of where it comes from. */
function described(merger: InputMerger) {
  const { merger: tables, runs, origin, dropped } = merger.drain();
  return { tables, runs, origin, inputs: origin.inputs, unmatched: origin.unmatched, dropped };
}

async function merge(
  inputs: readonly MergeInput[],
  kept: MergeFields,
  flags: MergeFlags,
): Promise<InputMerger> {
  const progress = new Progress("merging profiles");
  let skipped = 0;
  try {
    const merged = await mergeInputs(inputs, {
      places: { binaries: flags.binary, searchPaths: flags.search },
      ...kept,
      threads: flags.threads,
      progress: (done, total) => progress.show(done, total),
      ...(flags.skipBad === true
        ? {
            skip: (message: string) => {
              skipped++;
              progress.clear();
              saySkipped(message);
            },
          }
        : {}),
    });
    if (skipped === inputs.length) throw new UserError(NOTHING_READ);
    return merged;
  } finally {
    progress.clear();
  }
}

function* pieces(
  profile: MemprofProfile,
  format: Format,
  schema: readonly MibField[],
  order: "inserted" | "stored",
  { memprofVersion, container }: MergeFlags,
): Generator<Uint8Array | string> {
  if (format === "yaml") yield* indexedProfileText(profile);
  else yield* writeIndexed(profile, { version: memprofVersion, container, schema, order });
}

function formatOf(output: string): Format {
  if (/\.ya?ml$/.test(output)) return "yaml";
  return output.endsWith(".memshade") ? "memshade" : "indexed";
}

/** Numbers of what was written. */
interface Sizes {
  readonly contexts: number;
  readonly functions: number;
}

interface Sources {
  readonly inputs: number;
  readonly unmatched: readonly string[];
  readonly dropped: number;
}

function sizesOf(profile: MemprofProfile): Sizes {
  return { contexts: Number(summarize(profile).contexts), functions: profile.records.length };
}

function sayWritten(
  output: string,
  { contexts, functions }: Sizes,
  { inputs, unmatched, dropped }: Sources,
  keepsUnresolved = false,
): void {
  const count = (value: number, what: string) => `${groupDigits(value)} ${what}${value === 1 ? "" : "s"}`;
  say(
    `${output} written: ${count(inputs, "profile")}, ${count(contexts, "context")}, ` +
      `${count(functions, "function")}`,
  );
  if (unmatched.length > 0) {
    const fate = keepsUnresolved ? "kept as build id and offset" : "left out";
    say(`no binary was given for ${count(unmatched.length, "module")}, whose frames are ${fate}:`);
    for (const buildId of unmatched.slice(0, MOST_NAMED)) say(`  ${buildId}`);
    if (unmatched.length > MOST_NAMED) say(`  and ${unmatched.length - MOST_NAMED} more`);
  }
  if (dropped > 0) {
    const ofAll = inputs > 1 ? ", in all profiles together" : "";
    say(`left out: ${count(dropped, "context")} without a frame that could be named${ofAll}`);
  }
}

function sayMissingFields(known: readonly MibField[], wanted: readonly MibField[]): void {
  const missing = wanted.filter(
    (field) => !field.name.startsWith("accessHistogram") && !known.includes(field),
  );
  if (missing.length > 0) {
    say(
      `some inputs do not have all fields of the blocks; left out: ${missing.map(({ name }) => name).join(", ")}`,
    );
  }
}
