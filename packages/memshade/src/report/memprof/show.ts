import { readFileSync, statSync } from "node:fs";
import { FormatError } from "../../bytes/errors.ts";
import { type FramesAtPc, symbolizeRaw } from "../../formats/memprof/index.ts";
import { isIndexedProfile, readContainer, readIndexed } from "../../formats/memprof-indexed/index.ts";
import {
  contextsOfScan,
  contextsOfTables,
  isMemprofRaw,
  mergeDumpTables,
  type RawContexts,
  type RawSegment,
  readRawDumps,
  scanRaw,
} from "../../formats/memprof-raw/index.ts";
import { indexedProfileText, rawProfileText } from "../../formats/memprof-text/index.ts";
import { isMemshadeProfile, MemshadeProfile } from "../../formats/memshade-profile/index.ts";
import { HOT_COLD_FIELDS, type MemprofProfile, ProfileMerger } from "../../model/memprof/index.ts";
import { openFile } from "../load-file.ts";
import { ProfiledBinaries } from "./binaries.ts";
import { assertMatches, missingBinaryError, openBinary } from "./checked-binary.ts";
import { MAGIC_BYTES } from "./input-reader.ts";
import { indexedError, inProfdataWords, ProfdataError, rawError } from "./profdata-error.ts";

/** Larger raw profiles are read in pieces. */
const LARGE_BYTES = 64 << 20;

/**
 * A profile as `llvm-profdata show --memory` prints it, in pieces: raw and indexed profiles byte for byte, memshade
 * profiles as indexed ones.
 *
 * @param binaries for raw profiles: the program, and libraries whose functions are to be named too
 * @throws ProfdataError in that tool's words
 */
export function showProfile(file: string, binaries: readonly string[]): Generator<string> {
  if (isLargeRaw(file)) return showLargeRaw(file, binaries);
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
  const framesAt = findFrames(raw[0]!.segments, binaries);
  const tables = inProfdataWords(file, rawError, () => mergeDumpTables(raw));
  return rawText(file, tables, contextsOfTables(tables), framesAt);
}

function isLargeRaw(file: string): boolean {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status?.isFile() !== true || status.size < LARGE_BYTES) return false;
  const source = openFile(file);
  try {
    return isMemprofRaw(source.read(0, MAGIC_BYTES));
  } finally {
    source.close();
  }
}

/** As `showRaw`, with pieces of the file in memory; of several faults another one may be told. */
function* showLargeRaw(file: string, binaries: readonly string[]): Generator<string> {
  const source = openFile(file);
  try {
    const scan = inProfdataWords(file, rawError, () => scanRaw(source));
    const framesAt = findFrames(scan.segments, binaries);
    const { lastVersion: version, segments } = scan;
    yield* rawText(file, { version, segments }, contextsOfScan(scan), framesAt);
  } finally {
    source.close();
  }
}

/** Frames at the PCs of a process with these segments. @throws ProfdataError if no binary belongs to it */
function findFrames(segments: readonly RawSegment[], binaries: readonly string[]): FramesAtPc {
  if (binaries.length === 0) throw missingBinaryError(segments);
  const opened = binaries.map(openBinary);
  // Of several binaries, those that do not belong to the profile are no mistake, as long as one does.
  const matching = opened.filter((loaded) => doesMatch(() => assertMatches(loaded, segments)));
  const [first] = opened;
  if (matching.length === 0) assertMatches(first!, segments);
  const known = new ProfiledBinaries({ binaries: matching.map(({ path }) => path), searchPaths: [] });
  const { modules } = known.match(segments);
  return (pc) => {
    const at = Number(pc);
    const module = modules.find(({ start, end }) => at > start && at <= end);
    return module?.framesAt(at + module.shift) ?? [];
  };
}

function rawText(
  file: string,
  { version, segments }: { version: number; segments: readonly RawSegment[] },
  contexts: RawContexts,
  framesAt: FramesAtPc,
): Generator<string> {
  const symbolize = () => symbolizeRaw(contexts, { framesAt });
  const { profile, stackCount } = inProfdataWords(file, rawError, symbolize);
  return rawProfileText({ version, segments, stackCount }, profile);
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
