import { type ByteSource, sourceOfBytes } from "../../bytes/byte-source.ts";
import { FormatError } from "../../bytes/errors.ts";
import { containerHeaderBytes, HAS_MEMPROF, MAGIC, NEWEST_CONTAINER, OLDEST_CONTAINER } from "./layout.ts";

const LONGEST_HEADER_BYTES = 72;
const CONSTRUCT = "indexed profile header";

/** The head of an indexed instrumentation profile. */
export interface Container {
  readonly version: number;
  /** Offset of the memprof section; undefined if the file has no memory profile. */
  readonly memprofOffset: number | undefined;
}

/** Whether the bytes begin like an indexed profile. */
export function isIndexedProfile(bytes: Uint8Array): boolean {
  return bytes.length >= MAGIC.length && MAGIC.every((byte, index) => bytes[index] === byte);
}

/** @throws FormatError of kind bad-magic, truncated, unsupported-version, unsupported or malformed */
export function readContainer(profile: Uint8Array | ByteSource): Container {
  const source = profile instanceof Uint8Array ? sourceOfBytes(profile) : profile;
  const bytes = source.read(0, LONGEST_HEADER_BYTES);
  if (!isIndexedProfile(bytes)) {
    throw new FormatError("bad-magic", 0, CONSTRUCT, "not an indexed profile (bad magic)");
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 16) {
    throw new FormatError("truncated", 0, CONSTRUCT, `only ${bytes.length} bytes are there`);
  }
  const flags = view.getBigUint64(8, true);
  const version = Number(flags & 0xffffffffn);
  if (version > NEWEST_CONTAINER) {
    throw new FormatError(
      "unsupported-version",
      8,
      CONSTRUCT,
      `version ${version} is not supported (supported: ${OLDEST_CONTAINER} to ${NEWEST_CONTAINER})`,
    );
  }
  const headerBytes = containerHeaderBytes(version);
  if (bytes.length < headerBytes) {
    throw new FormatError(
      "truncated",
      0,
      CONSTRUCT,
      `only ${bytes.length} of ${headerBytes} bytes are there`,
    );
  }
  const hashType = view.getBigUint64(24, true);
  if (hashType !== 0n) {
    throw new FormatError("unsupported", 24, CONSTRUCT, `hash type ${hashType} is not supported (0: MD5)`);
  }
  if (version < OLDEST_CONTAINER || (flags & HAS_MEMPROF) === 0n) {
    return { version, memprofOffset: undefined };
  }
  const memprofOffset = view.getBigUint64(40, true);
  if (memprofOffset > source.size - 8) {
    throw new FormatError(
      "malformed",
      40,
      CONSTRUCT,
      `the memprof section begins behind the end of the file`,
    );
  }
  return { version, memprofOffset: Number(memprofOffset) };
}
