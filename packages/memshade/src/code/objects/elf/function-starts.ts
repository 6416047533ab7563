import { partitionPoint } from "../../../ground/bytes/columns.ts";
import { viewOf } from "../../../ground/bytes/numbers.ts";
import type { ObjectFile } from "../types.ts";

const PT_GNU_EH_FRAME = 0x6474e550;
/**
 * Version, and encodings as all linkers write them: 4 bytes relative to the field, a count, a table relative to the
 * header.
 */
const USUAL = [1, 0x1b, 0x03, 0x3b];
const TABLE_AT = 12;
const ROW_BYTES = 8;

/**
 * Starts of functions, with or without names, from the search table of `.eh_frame_hdr`. Addresses are the object's
 * own.
 */
export class FunctionStarts {
  readonly #view: DataView;
  readonly #address: number;
  readonly #count: number;

  private constructor(view: DataView, address: number, count: number) {
    this.#view = view;
    this.#address = address;
    this.#count = count;
  }

  static fromObject(object: ObjectFile): FunctionStarts | undefined {
    const header = object.programHeaders.find(({ type }) => type === PT_GNU_EH_FRAME);
    if (header === undefined) return undefined;
    const bytes = object.bytesAt(header.address, header.fileSize);
    if (bytes.length < TABLE_AT || USUAL.some((byte, i) => bytes[i] !== byte)) return undefined;
    const view = viewOf(bytes);
    const room = Math.floor((bytes.length - TABLE_AT) / ROW_BYTES);
    return new FunctionStarts(view, header.address, Math.min(view.getUint32(8, true), room));
  }

  startOf(address: number): number | undefined {
    const startAt = (index: number): number =>
      this.#address + this.#view.getInt32(TABLE_AT + ROW_BYTES * index, true);
    const found = partitionPoint(0, this.#count, (index) => startAt(index) <= address) - 1;
    return found < 0 ? undefined : startAt(found);
  }
}
