import { closeSync, fstatSync, statSync } from "node:fs";
import { type ByteSource, sourceOfBytes } from "../../ground/bytes/byte-source.ts";
import { attempt } from "../../ground/bytes/dispensable.ts";
import { FormatError, UserError } from "../../ground/bytes/errors.ts";
import { hexOf, viewOf } from "../../ground/bytes/numbers.ts";
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
  REST,
  scanRaw,
} from "../../profile/formats/memprof-raw/index.ts";
import { indexedProfileText, rawProfileText, sectionText } from "../../profile/formats/memprof-text/index.ts";
import { isMemshadeProfile, MemshadeProfile } from "../../profile/formats/memshade-profile/index.ts";
import { HOT_COLD_FIELDS, ProfileMerger } from "../../profile/model/memprof/index.ts";
import { descriptorSource, openInput, readPipe, readRegular } from "../load/file.ts";
import { type LoadedObject, loadObject } from "../load/objects.ts";
import { buildIdOf, ProfiledBinaries } from "./binaries.ts";
import { faultOf, MAGIC_BYTES, wholeSource } from "./input-reader.ts";

/**
 * Prints a profile like `llvm-profdata show --memory`, in pieces: raw and indexed profiles byte for byte, memshade
 * profiles as indexed ones.
 *
 * @param binaries for raw profiles: the program, and libraries whose functions should be named too
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

/**
 * Prints a raw profile with only pieces of the file in memory. Of several faults in a damaged file, LLVM may report
 * a different one.
 */
function showRaw(file: string, source: ByteSource, binaries: readonly string[]): Generator<string> {
  const scan = inProfdataWords(file, rawError, () => scanRaw(source));
  const framesAt = findFrames(scan.segments, binaries);
  const symbolize = () => symbolizeRaw(contextsOfScan(scan), { framesAt, fields: HOT_COLD_FIELDS });
  const { profile, stackCount, blockOf } = inProfdataWords(file, rawError, symbolize);
  const { lastVersion: version, segments } = scan;
  return rawProfileText({ version, segments, stackCount, blockOf }, profile);
}

/**
 * Returns the frames at the PCs of a process with these segments.
 *
 * @throws ProfdataError if no binary belongs to it
 */
function findFrames(segments: readonly RawSegment[], binaries: readonly string[]): FramesAtPc {
  if (binaries.length === 0) throw missingBinaryError(segments);
  const opened = binaries.map(openBinary);
  // Several binaries may be given if at least one belongs to the profile.
  const matching = opened.filter((loaded) => doesMatch(() => assertMatches(loaded, segments)));
  const [first] = opened;
  if (matching.length === 0) assertMatches(first!, segments);
  const matchingBinaries = new ProfiledBinaries({
    binaries: matching.map(({ path }) => path),
    searchPaths: [],
  });
  const { modules } = matchingBinaries.match(segments);
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

/**
 * Versions 0 and 1, which the reference tool refuses, are shown if they are readable; otherwise they are refused in
 * the same words.
 */
function showIndexed(file: string, source: ByteSource): Generator<string> {
  let version = 2n;
  try {
    const { memprofVersion, cursor, container } = openSection(source);
    if (memprofVersion >= 3) return sectionText(readLinear(cursor, memprofVersion));
    // Version 0 has no version field; the first field is an offset.
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
  return viewOf(bytes).getBigUint64(0, true);
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

/** Failure in the words of `llvm-profdata`, for a command whose output replaces that tool's. */
export class ProfdataError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ProfdataError";
  }
}

const INVALID = "invalid instrumentation profile data (bad magic)";
const VERSION = "unsupported instrumentation profile format version";
const MALFORMED = "malformed instrumentation profile data";

function rawError(file: string, error: FormatError): ProfdataError {
  switch (error.kind) {
    case "bad-magic":
      return error.offset === 0
        ? new ProfdataError(`${file}: ${INVALID}`)
        : new ProfdataError(`${file}\n${MALFORMED}`);
    case "truncated":
      return new ProfdataError(`${file}\ntruncated profile data`);
    case "unsupported-version":
      return new ProfdataError(`${file}\n${VERSION}`);
    default: {
      const { detail } = error;
      // The reference tool reads such a rest as a header, and finds no version in it.
      if (error.construct === REST) return new ProfdataError(`${file}\n${VERSION}`);
      return error.construct === "memprof raw header"
        ? new ProfdataError(`${file}\n${MALFORMED}`)
        : new ProfdataError(`${MALFORMED}: ${detail}`);
    }
  }
}

function indexedError(file: string, error: FormatError): ProfdataError {
  switch (error.kind) {
    case "bad-magic":
      return new ProfdataError(`${file}: ${INVALID}`);
    case "truncated":
      return new ProfdataError(`${file}: truncated profile data`);
    case "unsupported-version":
      return new ProfdataError(
        error.construct === "memprof section"
          ? `${file}: ${VERSION}: ${error.detail}`
          : `${file}: ${VERSION}`,
      );
    case "unsupported":
      return new ProfdataError(
        error.offset === 24
          ? `${file}: unsupported instrumentation profile hash type`
          : `${file}: no memprof profile in it`,
      );
    default: {
      const { detail } = error;
      const short = detail.startsWith("memprof schema invalid") ? "memprof schema invalid" : detail;
      return new ProfdataError(`${file}: ${MALFORMED}: ${short}`);
    }
  }
}

function inProfdataWords<T>(
  file: string,
  words: (file: string, error: FormatError) => ProfdataError,
  read: () => T,
): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof FormatError ? words(file, error) : error;
  }
}

const EXECUTABLE = 1;

/** Magic numbers of objects that the reference tool recognizes and refuses: Mach-O, fat Mach-O, COFF and archives. */
const OTHER_OBJECTS: readonly (readonly number[])[] = [
  [0xcf, 0xfa, 0xed, 0xfe],
  [0xce, 0xfa, 0xed, 0xfe],
  [0xfe, 0xed, 0xfa, 0xce],
  [0xfe, 0xed, 0xfa, 0xcf],
  [0xca, 0xfe, 0xba, 0xbe],
  [0x4d, 0x5a],
];

function missingBinaryError(segments: readonly RawSegment[]): ProfdataError {
  const buildIds = new Set(segments.map(({ buildId }) => hexOf(buildId)).filter((id) => id !== ""));
  const lines = Array.from(buildIds, (id) => `\n BuildId: ${id}`).join("");
  return new ProfdataError(
    `\nPath to profiled binary is empty, expected binary with one of the following build ids:\n${lines}`,
  );
}

/**
 * Opens a binary and checks that it can belong to a raw profile, in the reference tool's order and words. Wasm
 * modules are accepted too.
 *
 * @throws ProfdataError
 */
function openBinary(file: string): LoadedObject {
  const status = statSync(file, { throwIfNoEntry: false });
  if (status === undefined) throw new ProfdataError(`${file}\nNo such file or directory`);
  if (status.isDirectory()) throw new ProfdataError(`${file}\nIs a directory`);
  const loaded = tryOpen(file);
  if (loaded === undefined) {
    const start = startOf(file);
    const isOther = OTHER_OBJECTS.some((magic) => magic.every((byte, index) => start[index] === byte));
    throw new ProfdataError(
      isOther ? `${file}\nNot an ELF file: ` : `${file}\nThe file was not recognized as a valid object file`,
    );
  }
  const { kind, architecture, segments } = loaded.object;
  if (kind === "wasm") return loaded;
  if (segments.filter(({ flags }) => (flags & EXECUTABLE) !== 0).length > 1)
    throw new ProfdataError(`${file}\nExpect only one executable load segment in the binary`);
  if (architecture !== "x86_64" && architecture !== "i386")
    throw new ProfdataError(`${file}\nUnsupported target: ${architecture}`);
  return loaded;
}

/**
 * Checks that the binary's build id occurs in the profile, once.
 *
 * @throws ProfdataError
 */
function assertMatches(loaded: LoadedObject, segments: readonly RawSegment[]): void {
  const file = loaded.path;
  const buildId = buildIdOf(loaded);
  if (buildId === undefined) throw new ProfdataError(`No build id found in binary ${file}`);
  const matching = segments.filter((segment) => hexOf(segment.buildId) === buildId);
  if (matching.length === 0)
    throw new ProfdataError(`No matching executable segments found in binary ${file}`);
  if (matching.length > 1)
    throw new ProfdataError("We expect only one executable segment in the profiled binary");
}

function startOf(file: string): Uint8Array {
  return attempt(() => readRegular(file).subarray(0, 4), new Uint8Array());
}

function tryOpen(file: string): LoadedObject | undefined {
  try {
    return loadObject(file);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}
