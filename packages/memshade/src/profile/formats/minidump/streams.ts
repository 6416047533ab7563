import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { DIRECTORY_ENTRY_BYTES, HEADER_BYTES, SIGNATURE } from "./layout.ts";

/** A piece of the file. */
export interface Location {
  readonly size: number;
  readonly offset: number;
}

/** The streams of a minidump by type, and its pieces. */
export class MinidumpFile {
  readonly source: ByteSource;
  readonly #streams = new Map<number, Location>();

  /** @throws FormatError if the file is no minidump */
  constructor(source: ByteSource) {
    this.source = source;
    const header = this.view({ offset: 0, size: HEADER_BYTES });
    if (header.byteLength < HEADER_BYTES || header.getUint32(0, true) !== SIGNATURE)
      throw new FormatError("bad-magic", 0, "minidump header", "the file is not a minidump");
    const count = header.getUint32(8, true);
    const directory = { offset: header.getUint32(12, true), size: count * DIRECTORY_ENTRY_BYTES };
    const entries = this.view(directory);
    for (let at = 0; at + DIRECTORY_ENTRY_BYTES <= entries.byteLength; at += DIRECTORY_ENTRY_BYTES) {
      const type = entries.getUint32(at, true);
      if (!this.#streams.has(type)) this.#streams.set(type, locationAt(entries, at + 4));
    }
  }

  /** The content of a stream; empty if there is none. Cut at the end of the file. */
  stream(type: number): DataView {
    return this.view(this.#streams.get(type) ?? { offset: 0, size: 0 });
  }

  bytes({ offset, size }: Location): Uint8Array {
    return offset >= this.source.size ? new Uint8Array(0) : this.source.read(offset, size);
  }

  view(location: Location): DataView {
    const bytes = this.bytes(location);
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /**
   * Views of the entries of a list: a count of 32 bits, in some files four bytes of padding, entries of a fixed size.
   */
  *list(type: number, entryBytes: number): Generator<DataView> {
    const stream = this.stream(type);
    if (stream.byteLength < 4) return;
    const count = stream.getUint32(0, true);
    const start = stream.byteLength === 8 + count * entryBytes ? 8 : 4;
    for (let at = start, index = 0; index < count && at + entryBytes <= stream.byteLength; index++) {
      yield new DataView(stream.buffer, stream.byteOffset + at, entryBytes);
      at += entryBytes;
    }
  }

  /** A UTF-16 string with its length in bytes in front. */
  string(offset: number): string {
    const header = this.view({ offset, size: 4 });
    if (header.byteLength < 4) return "";
    return new TextDecoder("utf-16le").decode(
      this.bytes({ offset: offset + 4, size: header.getUint32(0, true) }),
    );
  }
}

/** A size and an offset, 32 bits each. */
export function locationAt(view: DataView, at: number): Location {
  return { size: view.getUint32(at, true), offset: view.getUint32(at + 4, true) };
}

export function u64At(view: DataView, at: number): number {
  return view.getUint32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
}
