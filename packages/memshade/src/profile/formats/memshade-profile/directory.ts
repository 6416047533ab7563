import { FormatError } from "../../../ground/bytes/errors.ts";
import { MAGIC, VERSION } from "./layout.ts";
import { VarintReader } from "./varint-reader.ts";

/** Whether the bytes begin like a memshade profile. */
export function isMemshadeProfile(bytes: Uint8Array): boolean {
  return bytes.length >= MAGIC.length && MAGIC.every((byte, index) => bytes[index] === byte);
}

/** A chunk as it stands in the file. */
export interface Chunk {
  readonly kind: number;
  readonly packing: number;
  readonly plainBytes: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** @throws FormatError of kind bad-magic, unsupported-version or malformed */
export function readDirectory(bytes: Uint8Array): Chunk[] {
  if (!isMemshadeProfile(bytes))
    throw new FormatError("bad-magic", 0, "memshade profile", "not a memshade profile (bad magic)");
  const reader = new VarintReader(bytes, 0, "memshade profile");
  reader.position = MAGIC.length;
  const version = reader.number("version");
  if (version !== VERSION)
    throw new FormatError(
      "unsupported-version",
      MAGIC.length,
      "memshade profile",
      `version ${version} is not supported (supported: ${VERSION})`,
    );
  const entries = Array.from({ length: reader.count(4, "chunks") }, () => ({
    kind: reader.number("kind"),
    packing: reader.number("packing"),
    storedBytes: reader.number("size"),
    plainBytes: reader.number("size"),
  }));
  return entries.map(({ storedBytes, ...entry }) => {
    const offset = reader.position;
    return { ...entry, offset, bytes: reader.take(storedBytes) };
  });
}
