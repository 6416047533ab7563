import type { ByteSource } from "../../ground/bytes/byte-source.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { symbolizeRaw } from "../../profile/formats/memprof/index.ts";
import { isIndexedProfile, readIndexed } from "../../profile/formats/memprof-indexed/index.ts";
import {
  contextsOfScan,
  isMemprofRaw,
  type RawContexts,
  scanRaw,
  stacksInLlvmOrder,
} from "../../profile/formats/memprof-raw/index.ts";
import { isMemprofYaml, readFastYaml } from "../../profile/formats/memprof-text/fast-yaml.ts";
import { type MemprofProfile, ProfileBuilder } from "../../profile/model/memprof/index.ts";
import type { MibField } from "../../profile/model/mib-fields.ts";
import { type BinaryPlaces, noBinary, noFrameNamed, ProfiledBinaries } from "./binaries.ts";
import { explained, InputReader, loadYamlReader, MAGIC_BYTES, wholeSource } from "./input-reader.ts";
import type { MergeInput } from "./inputs.ts";

/** Profile that is converted alone, with the order of its records in a table. */
export interface ConvertedProfile {
  readonly profile: MemprofProfile;
  readonly order: "inserted" | "stored";
  /** Order in which LLVM visits the stacks, if it differs from that of the records. */
  readonly stackOrder?: Iterable<number>;
  readonly unmatched: readonly string[];
}

/**
 * Reads one profile as LLVM does: its records keep their order, and contexts that only differ in their addresses
 * stay separate. Undefined for formats that LLVM does not support.
 *
 * @throws UserError naming the file
 */
export async function convertProfile(
  input: MergeInput,
  places: BinaryPlaces,
  fields: readonly MibField[],
): Promise<ConvertedProfile | undefined> {
  const { path, modules } = input;
  const read = explained(path, () =>
    new InputReader().open(input, (source): ConvertedProfile | Uint8Array | undefined => {
      const start = source.read(0, MAGIC_BYTES);
      if (isIndexedProfile(start))
        return { profile: readIndexed(source).profile, order: "stored", unmatched: [] };
      if (isMemprofRaw(start)) return convertRaw(source, modules, places, fields);
      if (!isMemprofYaml(start)) return undefined;
      const profile = readFastYaml(source);
      return profile === undefined ? wholeSource(source) : { profile, order: "inserted", unmatched: [] };
    }),
  );
  if (!(read instanceof Uint8Array)) return read;
  const readYaml = await loadYamlReader();
  return { profile: explained(path, () => readYaml(read)), order: "inserted", unmatched: [] };
}

function convertRaw(
  source: ByteSource,
  runModules: MergeInput["modules"],
  places: BinaryPlaces,
  fields: readonly MibField[],
): ConvertedProfile {
  const scan = scanRaw(source);
  const binaries = new ProfiledBinaries(places);
  for (const { path, buildId } of runModules) binaries.add(path, buildId);
  const { modules, matched, unmatched } = binaries.match(scan.segments);
  if (scan.length === 0)
    return { profile: new ProfileBuilder(fields, false).build(), order: "inserted", unmatched };
  if (modules.length === 0) throw new UserError(noBinary(unmatched, binaries));
  const framesAt = (pc: bigint) => {
    const at = Number(pc);
    const module = modules.find(({ start, end }) => at > start && at <= end);
    return module?.framesAt(at + module.shift) ?? [];
  };
  const contexts = { ...contextsOfScan(scan), stacks: () => stacksInLlvmOrder(source) };
  if (!hasFrames(contexts, framesAt)) throw new UserError(noFrameNamed(matched));
  const { profile, stackOrder } = symbolizeRaw(contexts, { fields, keepsSources: false, framesAt });
  return { profile, order: "inserted", stackOrder: stackOrder(), unmatched };
}

function hasFrames(contexts: RawContexts, framesAt: (pc: bigint) => readonly unknown[]): boolean {
  for (const pcs of contexts.stacks()) if (pcs.some((pc) => framesAt(pc).length > 0)) return true;
  return false;
}
