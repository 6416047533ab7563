import { readFileSync } from "node:fs";
import { FormatError } from "../../bytes/errors.ts";
import { symbolizeRaw } from "../../formats/memprof/index.ts";
import { isIndexedProfile, readContainer, readIndexed } from "../../formats/memprof-indexed/index.ts";
import {
  isMemprofRaw,
  mergeDumpTables,
  type RawTables,
  readRawDumps,
} from "../../formats/memprof-raw/index.ts";
import { indexedProfileText, rawProfileText } from "../../formats/memprof-text/index.ts";
import { isMemshadeProfile, MemshadeProfile } from "../../formats/memshade-profile/index.ts";
import { HOT_COLD_FIELDS, type MemprofProfile, ProfileMerger } from "../../model/memprof/index.ts";
import { ProfiledBinaries } from "./binaries.ts";
import { assertMatches, missingBinaryError, openBinary } from "./checked-binary.ts";
import { indexedError, inProfdataWords, ProfdataError, rawError } from "./profdata-error.ts";

/**
 * A profile as `llvm-profdata show --memory` prints it, in pieces: raw and indexed profiles byte for byte, memshade
 * profiles as indexed ones.
 *
 * @param binaries for raw profiles: the program, and libraries whose functions are to be named too
 * @throws ProfdataError in that tool's words
 */
export function showProfile(file: string, binaries: readonly string[]): Generator<string> {
  const bytes = read(file);
  if (isMemprofRaw(bytes)) return showRaw(file, bytes, binaries);
  if (isMemshadeProfile(bytes)) return showMemshade(file, bytes);
  if (isIndexedProfile(bytes)) {
    return indexedProfileText(readShown(file, bytes));
  }
  throw new ProfdataError(`${file}: invalid instrumentation profile data (bad magic)`);
}

function read(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: "No such file or directory",
      EISDIR: "Is a directory",
      EACCES: "Permission denied",
    };
    throw new ProfdataError(`${file}: ${reasons[code ?? ""] ?? (error as Error).message}`);
  }
}

function showRaw(file: string, bytes: Uint8Array, binaries: readonly string[]): Generator<string> {
  const raw = inProfdataWords(file, rawError, () => readRawDumps(bytes));
  if (binaries.length === 0) throw missingBinaryError(raw[0]!.segments);
  const opened = binaries.map(openBinary);
  // Of several binaries, those that do not belong to the profile are no mistake, as long as one does.
  const matching = opened.filter((loaded) => doesMatch(() => assertMatches(loaded, raw[0]!.segments)));
  const [first] = opened;
  if (matching.length === 0) assertMatches(first!, raw[0]!.segments);
  const tables: RawTables = inProfdataWords(file, rawError, () => mergeDumpTables(raw));
  const known = new ProfiledBinaries({ binaries: matching.map(({ path }) => path), searchPaths: [] });
  const { modules } = known.match(tables.segments);
  const { profile, stackCount } = inProfdataWords(file, rawError, () =>
    symbolizeRaw(tables, {
      framesAt: (pc) => {
        const at = Number(pc);
        const module = modules.find(({ start, end }) => at > start && at <= end);
        return module?.framesAt(at + module.shift) ?? [];
      },
    }),
  );
  return rawProfileText({ version: tables.version, segments: tables.segments, stackCount }, profile);
}

function doesMatch(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof ProfdataError) return false;
    throw error;
  }
}

/** Versions 0 and 1, which the reference tool refuses, are shown if they can be read, else refused as it does. */
function readShown(file: string, bytes: Uint8Array): MemprofProfile {
  try {
    return readIndexed(bytes).profile;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const version = error.kind === "malformed" ? memprofVersionField(bytes) : 2n;
    if (version >= 2n && version <= 4n) throw indexedError(file, error);
    throw new ProfdataError(
      `${file}: unsupported instrumentation profile format version: ` +
        `MemProf version ${version} not supported; requires version between 2 and 4, inclusive`,
    );
  }
}

function memprofVersionField(bytes: Uint8Array): bigint {
  const { memprofOffset } = readContainer(bytes);
  if (memprofOffset === undefined) return 2n;
  return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(memprofOffset, true);
}

function showMemshade(file: string, bytes: Uint8Array): Generator<string> {
  try {
    const merger = new ProfileMerger(HOT_COLD_FIELDS, false);
    merger.addProfile(new MemshadeProfile(bytes).whole(), 0);
    return indexedProfileText(merger.build().profile);
  } catch (error) {
    if (error instanceof FormatError) throw new ProfdataError(`${file}: ${error.message}`);
    throw error;
  }
}
