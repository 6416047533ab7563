import { statSync } from "node:fs";
import { dirname } from "node:path";
import { classifySites } from "../../explain/analyses/hot-cold.ts";
import { dataAccessProfile, type StaticsReport, staticsReport } from "../../explain/analyses/statics.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { loadDemangler } from "../../names/load/demangler.ts";
import { type ConvertedProfile, convertProfile } from "../../names/memprof/convert.ts";
import { type InputMerger, type MergeFields, nodeDeflate } from "../../names/memprof/input-merger.ts";
import { explained } from "../../names/memprof/input-reader.ts";
import { expandInputs, type MergeInput, withContentOfPipe } from "../../names/memprof/inputs.ts";
import { omittedData } from "../../names/memprof/left-out.ts";
import { mergeInputs } from "../../names/memprof/merge-profiles.ts";
import { TemporaryFile } from "../../names/memprof/temporary-file.ts";
import { writePieces } from "../../names/memprof/write-pieces.ts";
import { heapProfileFromMemprof } from "../../profile/formats/memprof/index.ts";
import {
  type ContainerVersion,
  type MemprofVersion,
  writeIndexed,
  writeMerged,
} from "../../profile/formats/memprof-indexed/index.ts";
import { indexedProfileText, profileText } from "../../profile/formats/memprof-text/index.ts";
import {
  memshadeProfilePieces,
  type ProfileOrigin,
  spilledProfilePieces,
} from "../../profile/formats/memshade-profile/index.ts";
import { counted } from "../../profile/model/counted.ts";
import {
  type CreateSpillFile,
  type DataAccessProfile,
  HOT_COLD_FIELDS,
  type MemprofProfile,
  type SpilledProfile,
  summarize,
  viewMerged,
} from "../../profile/model/memprof/index.ts";
import { MIB_FIELDS, type MibField } from "../../profile/model/mib-fields.ts";
import { Progress } from "../../record/host/run/progress.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import { loadNamedStatics } from "../../runs/statics.ts";
import { Screen } from "../../show/report/terminal/common/screen.ts";
import { printHotCold } from "../../show/report/terminal/heap/hot-cold.ts";
import { screenOptions, standardOutput } from "../commands/report-options.ts";
import { type HotColdFlags, thresholdsOf } from "../hot-cold-options.ts";
import { print } from "../line-input.ts";
import { keepHeapSmall } from "../small-heap.ts";
import {
  type Sizes,
  type Sources,
  sayDataAccess,
  sayDataAccessLeftOut,
  sayMissingFields,
  sayWritten,
} from "./say-written.ts";

type Format = "indexed" | "yaml" | "memshade";
export const FORMATS: readonly Format[] = ["indexed", "yaml", "memshade"];
export const CONTAINERS = ["8", "9", "10", "11", "12", "13"] as const;

export interface MergeFlags extends HotColdFlags {
  output: string;
  binary: string[];
  search: string[];
  format?: Format;
  memprofVersion: MemprofVersion;
  container: ContainerVersion;
  fullSchema?: boolean;
  combine?: boolean;
  skipBad?: boolean;
  force?: boolean;
  threads?: number;
  classify?: boolean;
}

export async function runMerge(args: readonly string[], givenFlags: MergeFlags): Promise<void> {
  keepHeapSmall();
  let isSomeSkipped = false;
  const skip = (message: string) => {
    isSomeSkipped = true;
    saySkipped(message);
  };
  const expanded = expandInputs(args, givenFlags.skipBad === true ? skip : undefined).filter(
    ({ path, isMissing }) => {
      if (isMissing !== true) return true;
      const message = `${dirname(path)} has no heap profile: it was recorded without the heap tool`;
      if (givenFlags.skipBad !== true) throw new UserError(message);
      skip(message);
      return false;
    },
  );
  const inputs = expanded.map((input) => explained(input.path, () => withContentOfPipe(input)));
  if (inputs.length === 0) throw new UserError(NOTHING_READ);
  refuseLosses(inputs, givenFlags);
  // The rest of several inputs is not treated like a single input.
  const flags = isSomeSkipped ? { ...givenFlags, combine: true } : givenFlags;
  const virtual = inputs.filter(({ hasVirtualClock }) => hasVirtualClock === true).length;
  if (virtual > 0)
    say(
      `${virtual} of the inputs measured lifetimes in allocations, not in milliseconds: ` +
        "for a compile, record them with --clock wall",
    );
  if (flags.classify === true) return classify(inputs, flags);
  await writeProfile(inputs, flags);
}

/**
 * Rejects profiles with counters besides those of the heap, because these are not merged.
 *
 * @throws UserError unless `--force` is given
 */
function refuseLosses(inputs: readonly MergeInput[], { force, skipBad }: MergeFlags): void {
  const losses = inputs.flatMap((input) => {
    const names = lossesOf(input, skipBad === true);
    return names.length === 0 ? [] : [`${input.path} has ${names.join(", ")} too`];
  });
  const [first, ...otherLosses] = losses;
  if (first === undefined) return;
  const more =
    otherLosses.length === 0
      ? ""
      : `, and so do ${counted(otherLosses.length, "other input", "other inputs")}`;
  if (force === true) say(`left out, as only memory profiles are merged: ${first}${more}`);
  else
    throw new UserError(
      `${first}${more}; only memory profiles are merged, and the others would be lost: ` +
        "llvm-profdata merge keeps them, --force leaves them out",
    );
}

function lossesOf(input: MergeInput, isSkipped: boolean): string[] {
  try {
    return omittedData(input);
  } catch (error) {
    // The reader of the file reports the error.
    if (isSkipped && error instanceof UserError) return [];
    throw error;
  }
}

/** Writes the profile and prints the classification with names, from the same inputs. */
async function classify(inputs: readonly MergeInput[], flags: MergeFlags): Promise<void> {
  const named = (await merge(inputs, { fields: MIB_FIELDS, keepsSources: true }, flags)).take();
  await writeProfile(inputs, flags);
  const thresholds = thresholdsOf(flags);
  const demangle = loadDemangler();
  const profile = heapProfileFromMemprof(named.profile, { version: 0, notTracked: [], demangle });
  const screen = new Screen(screenOptions({ color: "auto" }, standardOutput()));
  const sites = classifySites(profile, thresholds);
  printHotCold(screen, profile, sites, thresholds, Number.POSITIVE_INFINITY);
  print(screen.text());
}

const NOTHING_READ = "no input could be read: nothing was written";

function saySkipped(message: string): void {
  say(`skipped: ${message}`);
}

/** Merges inputs and shows progress. @throws UserError if no input could be read */
async function merge(
  inputs: readonly MergeInput[],
  fields: MergeFields,
  flags: MergeFlags,
): Promise<InputMerger> {
  const progress = new Progress("merging profiles");
  let skipped = 0;
  try {
    const merged = await mergeInputs(inputs, {
      places: { binaries: flags.binary, searchPaths: flags.search },
      ...fields,
      threads: flags.threads,
      progress: (done, total) => total > 1 && progress.show(done, total),
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

/** Merges inputs and writes the profile. A single input is converted, as LLVM does. */
async function writeProfile(inputs: readonly MergeInput[], flags: MergeFlags): Promise<void> {
  const format = flags.format ?? formatOf(flags.output);
  if (format === "memshade") refusePipe(flags.output);
  const schema = flags.fullSchema === true ? MIB_FIELDS : HOT_COLD_FIELDS;
  const dataAccess = dataAccessOf(inputs, { ...flags, format });
  const isSingle = inputs.length === 1 && format !== "memshade" && flags.combine !== true;
  if (!isSingle || !(await writeConverted(inputs[0]!, format, schema, flags, dataAccess)))
    await writeMergedInputs(inputs, format, schema, flags, dataAccess);
  sayDataAccess(dataAccess);
}

/** @returns false, without output, for an input format that LLVM does not have */
async function writeConverted(
  input: MergeInput,
  format: Format,
  schema: readonly MibField[],
  flags: MergeFlags,
  dataAccess: DataAccessProfile | undefined,
): Promise<boolean> {
  const places = { binaries: flags.binary, searchPaths: flags.search };
  const converted = await convertProfile(input, places, schema);
  if (converted === undefined) return false;
  const { unmatched } = converted;
  const profile = dataAccess === undefined ? converted.profile : { ...converted.profile, dataAccess };
  writePieces(flags.output, pieces({ ...converted, profile }, format, schema, flags));
  sayWritten(flags.output, sizesOf(profile), { inputs: 1, unmatched, dropped: 0 });
  return true;
}

async function writeMergedInputs(
  inputs: readonly MergeInput[],
  format: Format,
  schema: readonly MibField[],
  flags: MergeFlags,
  dataAccess: DataAccessProfile | undefined,
): Promise<void> {
  const isWhole = format === "memshade";
  const spill = isWhole ? () => new TemporaryFile(flags.output) : undefined;
  const fields = isWhole ? MIB_FIELDS : schema;
  const keptFields = { fields, keepsSources: isWhole, keepsUnresolved: isWhole, spill };
  const merger = await merge(inputs, keptFields, flags);
  const { tables, runs, ...from } = described(merger);
  tables.addDataAccess(dataAccess);
  const knownFields = tables.knownFields;
  if (format === "indexed") {
    const { memprofVersion: version, container } = flags;
    const { chunks, ...sizes } = writeMerged(tables, { version, container, schema, order: "stored" });
    writePieces(flags.output, chunks);
    sayWritten(flags.output, sizes, from);
  } else if (spill !== undefined && runs?.isEmpty === false) {
    try {
      writeSpilled(flags.output, runs.finish(tables), from, spill);
    } finally {
      runs.release();
    }
  } else {
    const view = viewMerged(tables);
    const sizes = { contexts: view.blockCount, functions: view.records.length };
    const text = () => profileText(view);
    const whole = () => memshadeProfilePieces(view, from.origin, nodeDeflate);
    writePieces(flags.output, isWhole ? whole() : text());
    sayWritten(flags.output, sizes, from, isWhole);
  }
  sayMissingFields(knownFields, keptFields.fields);
}

/** Rejects a pipe before the merge, because the directory at the start of the file is written last. */
function refusePipe(output: string): void {
  const status = statSync(output, { throwIfNoEntry: false });
  if (status?.isFIFO() || status?.isSocket())
    throw new UserError(`${output} is a pipe: a memshade profile can only be written to a file`);
}

/** Writes a memshade profile from spilled data that did not fit into memory. */
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

function described(merger: InputMerger) {
  const { merger: tables, runs, origin, dropped } = merger.drain();
  return { tables, runs, origin, inputs: origin.inputs, unmatched: origin.unmatched, dropped };
}

function* pieces(
  { profile, order, stackOrder }: ConvertedProfile,
  format: Format,
  schema: readonly MibField[],
  { memprofVersion: version, container }: MergeFlags,
): Generator<Uint8Array | string> {
  if (format === "yaml") yield* indexedProfileText(profile);
  else yield* writeIndexed(profile, { version, container, schema, order, stackOrder });
}

function formatOf(output: string): Format {
  if (/\.ya?ml$/.test(output)) return "yaml";
  return output.endsWith(".memshade") ? "memshade" : "indexed";
}

function sizesOf(profile: MemprofProfile): Sizes {
  return { contexts: Number(summarize(profile).contexts), functions: profile.records.length };
}

/**
 * Builds LLVM's data access profile from the inputs' accesses to static data; undefined if there are none.
 * Only version 4 can hold it.
 *
 * @throws UserError if a file of an input is missing or damaged
 */
function dataAccessOf(
  inputs: readonly MergeInput[],
  { binary, search, format, memprofVersion }: MergeFlags,
): DataAccessProfile | undefined {
  const places = { binaryPaths: [...binary, ...search] };
  const reports = inputs.flatMap(({ path }): StaticsReport[] => {
    const named = loadNamedStatics(path, places);
    return named === undefined ? [] : [staticsReport(named)];
  });
  if (reports.length === 0) return undefined;
  const profile = dataAccessProfile(reports);
  if (format !== "indexed" || memprofVersion >= 4) return profile;
  sayDataAccessLeftOut(profile);
  return undefined;
}
