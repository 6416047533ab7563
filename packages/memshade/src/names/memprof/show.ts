import { closeSync, fstatSync } from "node:fs";
import { type ByteSource, sourceOfBytes } from "../../ground/bytes/byte-source.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import { type FramesAtPc, symbolizeRaw } from "../../profile/formats/memprof/index.ts";
import {
  isIndexedProfile,
  openSection,
  readIndexed,
  readLinear,
} from "../../profile/formats/memprof-indexed/index.ts";
import {
  contextsOfScan,
  isMemprofRaw,
  type RawSegment,
  scanRaw,
} from "../../profile/formats/memprof-raw/index.ts";
import { indexedProfileText, rawProfileText, sectionText } from "../../profile/formats/memprof-text/index.ts";
import { isMemshadeProfile, MemshadeProfile } from "../../profile/formats/memshade-profile/index.ts";
import { HOT_COLD_FIELDS, ProfileMerger } from "../../profile/model/memprof/index.ts";
import { descriptorSource, openInput, readPipe } from "../load/file.ts";
import { ProfiledBinaries } from "./binaries.ts";
import { assertMatches, missingBinaryError, openBinary } from "./checked-binary.ts";
import { faultOf, MAGIC_BYTES, wholeSource } from "./input-reader.ts";
import { indexedError, inProfdataWords, ProfdataError, rawError } from "./profdata-error.ts";

/**
 * A profile as `llvm-profdata show --memory` prints it, in pieces: raw and indexed profiles byte for byte, memshade
 * profiles as indexed ones.
 *
 * @param binaries for raw profiles: the program, and libraries whose functions are to be named too
 * @throws ProfdataError in that tool's words
 */
export function* showProfile(file: string, binaries: readonly string[]): Generator<string> {
  const descriptor = inSystemWords(file, () => openInput(file));
  try {
    const source = inSystemWords(file, () => sourceOf(file, descriptor));
    yield* textOf(file, source, binaries);
  } finally {
    closeSync(descriptor);
  }
}

function sourceOf(file: string, descriptor: number): ByteSource {
  const status = fstatSync(descriptor);
  return status.isFile()
    ? descriptorSource(file, descriptor, status.size)
    : sourceOfBytes(readPipe(descriptor));
}

function inSystemWords<T>(file: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: "No such file or directory",
      EISDIR: "Is a directory",
      EACCES: "Permission denied",
      ELOOP: "Too many levels of symbolic links",
      ENAMETOOLONG: "File name too long",
    };
    throw new ProfdataError(`${file}: ${reasons[code ?? ""] ?? (error as Error).message}`);
  }
}

function textOf(file: string, source: ByteSource, binaries: readonly string[]): Generator<string> {
  const start = source.read(0, MAGIC_BYTES);
  if (isMemprofRaw(start)) return showRaw(file, source, binaries);
  if (isMemshadeProfile(start)) return showMemshade(file, wholeSource(source));
  if (isIndexedProfile(start)) return showIndexed(file, source);
  throw new ProfdataError(`${file}: invalid instrumentation profile data (bad magic)`);
}

/** With pieces of the file in memory. Of several faults in a damaged file another one may be told than LLVM tells. */
function showRaw(file: string, source: ByteSource, binaries: readonly string[]): Generator<string> {
  const scan = inProfdataWords(file, rawError, () => scanRaw(source));
  const framesAt = findFrames(scan.segments, binaries);
  const symbolize = () => symbolizeRaw(contextsOfScan(scan), { framesAt, fields: HOT_COLD_FIELDS });
  const { profile, stackCount, blockOf } = inProfdataWords(file, rawError, symbolize);
  const { lastVersion: version, segments } = scan;
  return rawProfileText({ version, segments, stackCount, blockOf }, profile);
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
function showIndexed(file: string, source: ByteSource): Generator<string> {
  let version = 2n;
  try {
    const { memprofVersion, cursor, container } = openSection(source);
    if (memprofVersion >= 3) return sectionText(readLinear(cursor, memprofVersion));
    // Version 0 has none: what stands there is an offset.
    if (memprofVersion === 0) version = firstField(source, container.memprofOffset!);
    else version = BigInt(memprofVersion);
    return indexedProfileText(readIndexed(source).profile);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    if (error.kind !== "malformed" || (version >= 2n && version <= 4n)) throw indexedError(file, error);
    throw new ProfdataError(
      `${file}: unsupported instrumentation profile format version: ` +
        `MemProf version ${version} not supported; requires version between 2 and 4, inclusive`,
    );
  }
}

function firstField(source: ByteSource, offset: number): bigint {
  const bytes = source.read(offset, 8);
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0, true);
}

function showMemshade(file: string, bytes: Uint8Array): Generator<string> {
  try {
    const merger = new ProfileMerger(HOT_COLD_FIELDS, false);
    merger.addProfile(new MemshadeProfile(bytes).whole(), 0);
    return indexedProfileText(merger.build().profile);
  } catch (error) {
    if (error instanceof FormatError) throw new ProfdataError(`${file} ${faultOf(error)}`);
    throw error;
  }
}
