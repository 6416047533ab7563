import { statSync } from "node:fs";
import { UserError } from "../../ground/bytes/errors.ts";
import { type ConvertedProfile, convertProfile } from "../../names/memprof/convert.ts";
import type { InputMerger } from "../../names/memprof/input-merger.ts";
import type { MergeInput } from "../../names/memprof/inputs.ts";
import { nodeDeflate } from "../../names/memprof/node-deflate.ts";
import { TemporaryFile } from "../../names/memprof/temporary-file.ts";
import { writePieces } from "../../names/memprof/write-pieces.ts";
import { writeIndexed, writeMerged } from "../../profile/formats/memprof-indexed/index.ts";
import { indexedProfileText, profileText } from "../../profile/formats/memprof-text/index.ts";
import {
  memshadeProfilePieces,
  type ProfileOrigin,
  spilledProfilePieces,
} from "../../profile/formats/memshade-profile/index.ts";
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
import { dataAccessOf } from "./data-access.ts";
import type { Format, MergeFlags } from "./flags.ts";
import { merge } from "./merge-inputs.ts";
import { type Sizes, type Sources, sayDataAccess, sayMissingFields, sayWritten } from "./say-written.ts";

/** Merges inputs and writes the profile, or converts a single one as LLVM does. */
export async function writeProfile(inputs: readonly MergeInput[], flags: MergeFlags): Promise<void> {
  const format = flags.format ?? formatOf(flags.output);
  if (format === "memshade") refusePipe(flags.output);
  const schema = flags.fullSchema === true ? MIB_FIELDS : HOT_COLD_FIELDS;
  const dataAccess = dataAccessOf(inputs, { ...flags, format });
  const isSingle = inputs.length === 1 && format !== "memshade" && flags.combine !== true;
  if (!isSingle || !(await writeConverted(inputs[0]!, format, schema, flags, dataAccess)))
    await writeMergedInputs(inputs, format, schema, flags, dataAccess);
  sayDataAccess(dataAccess);
}

/** @returns false, and nothing is written, for an input of a format that LLVM does not know */
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
  const kept = { fields, keepsSources: isWhole, keepsUnresolved: isWhole, spill };
  const merger = await merge(inputs, kept, flags);
  const { tables, runs, ...from } = described(merger);
  tables.addDataAccess(dataAccess);
  const known = tables.knownFields;
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
