import { type ByteSource, sourceOfBytes } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { viewOf } from "../../../ground/bytes/numbers.ts";
import { containerHeaderBytes, HAS_MEMPROF, MAGIC, NEWEST_CONTAINER, OLDEST_CONTAINER } from "./layout.ts";

const LONGEST_HEADER_BYTES = 72;
const CONSTRUCT = "indexed profile header";

export interface Container {
  readonly version: number;
  /** Offset of the memprof section; undefined if the file has no memory profile. */
  readonly memprofOffset: number | undefined;
}

export function isIndexedProfile(bytes: Uint8Array): boolean {
  return bytes.length >= MAGIC.length && MAGIC.every((byte, index) => bytes[index] === byte);
}

/** Reads the header. @throws FormatError of kind bad-magic, truncated, unsupported-version, unsupported or malformed */
export function readContainer(profile: Uint8Array | ByteSource): Container {
  const source = profile instanceof Uint8Array ? sourceOfBytes(profile) : profile;
  const bytes = source.read(0, LONGEST_HEADER_BYTES);
  if (!isIndexedProfile(bytes))
    throw new FormatError("bad-magic", 0, CONSTRUCT, "not an indexed profile (bad magic)");
  const view = viewOf(bytes);
  if (bytes.length < 16)
    throw new FormatError("truncated", 0, CONSTRUCT, `only ${bytes.length} bytes are there`);
  const flags = view.getBigUint64(8, true);
  const version = Number(flags & 0xffffffffn);
  if (version > NEWEST_CONTAINER)
    throw new FormatError(
      "unsupported-version",
      8,
      CONSTRUCT,
      `version ${version} is not supported (supported: ${OLDEST_CONTAINER} to ${NEWEST_CONTAINER})`,
    );
  const headerBytes = containerHeaderBytes(version);
  if (bytes.length < headerBytes)
    throw new FormatError(
      "truncated",
      0,
      CONSTRUCT,
      `only ${bytes.length} of ${headerBytes} bytes are there`,
    );
  const hashType = view.getBigUint64(24, true);
  if (hashType !== 0n)
    throw new FormatError("unsupported", 24, CONSTRUCT, `hash type ${hashType} is not supported (0: MD5)`);
  if (version < OLDEST_CONTAINER || (flags & HAS_MEMPROF) === 0n)
    return { version, memprofOffset: undefined };
  const memprofOffset = view.getBigUint64(40, true);
  if (memprofOffset > source.size - 8)
    throw new FormatError(
      "malformed",
      40,
      CONSTRUCT,
      `the memprof section begins behind the end of the file`,
    );
  return { version, memprofOffset: Number(memprofOffset) };
}

/** Bit 57 of the version: counters that depend on the caller. */
const CONTEXT_SENSITIVE = 1n << 57n;
const HASH_OFFSET_AT = 32;
const BINARY_IDS_AT = 48;
const TRACES_AT = 56;
const VTABLES_AT = 64;

/**
 * Lists in words the contents of an indexed profile besides its memory profile, which readers of the memory profile
 * ignore.
 *
 * @throws FormatError as {@link readContainer}
 */
export function besidesMemprof(source: ByteSource): string[] {
  const { version, memprofOffset } = readContainer(source);
  if (memprofOffset === undefined) return [];
  const wordAt = (offset: number): bigint => {
    const bytes = source.read(offset, 8);
    return bytes.length < 8 ? 0n : new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
  };
  /**
   * Returns the number at the file offset that the header stores at `at`, or 0 if that offset is absent or outside of
   * the file.
   */
  const numberBehind = (at: number, skipped = 0): bigint => {
    const offset = at + 8 > containerHeaderBytes(version) ? 0n : wordAt(at);
    return offset === 0n || offset > source.size ? 0n : wordAt(Number(offset) + skipped);
  };
  // The table of functions begins with the number of its buckets.
  const functions = numberBehind(HASH_OFFSET_AT, 8);
  const isSensitive = (wordAt(8) & CONTEXT_SENSITIVE) !== 0n;
  const parts: [string, boolean][] = [
    [`${isSensitive ? "context-sensitive " : ""}counters of ${functions} functions`, functions > 0n],
    ["binary ids", numberBehind(BINARY_IDS_AT) > 0n],
    ["temporal traces", numberBehind(TRACES_AT) > 0n],
    ["names of virtual tables", numberBehind(VTABLES_AT) > 0n],
  ];
  return parts.filter(([, isThere]) => isThere).map(([name]) => name);
}
