import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import { DW_EH_PE } from "./constants.ts";
import { CfiCursor } from "./cursor.ts";
import type { CfiSection } from "./section.ts";

/** Encoding of the table that all linkers write: pairs of signed 32-bit numbers relative to the header. */
const TABLE_ENCODING = DW_EH_PE.datarel | DW_EH_PE.sdata4;

/**
 * `.eh_frame_hdr`: the search table that a linker makes for `.eh_frame` (Linux Standard Base Core 5.0, 10.6.2). It knows
 * where functions start, not where they end, and of two FDEs with the same start some linkers keep the empty one: what
 * a search finds must be checked against the FDE itself.
 */
export class FrameHeader {
  /** Address (SVMA) of `.eh_frame`. */
  readonly frameAddress: number;
  /** Number of entries of the table. */
  readonly count: number;
  readonly #view: DataView;
  /** Address (SVMA) of the header itself. */
  readonly #address: number;
  readonly #tableStart: number;

  private constructor(
    view: DataView,
    address: number,
    frameAddress: number,
    tableStart: number,
    count: number,
  ) {
    this.#view = view;
    this.#address = address;
    this.frameAddress = frameAddress;
    this.#tableStart = tableStart;
    this.count = count;
  }

  /** Reads the header; undefined if it is damaged or has no table in the usual form. */
  static open(
    bytes: Uint8Array,
    address: number,
    common: Pick<CfiSection, "addressSize" | "textAddress" | "readPointer">,
  ): FrameHeader | undefined {
    const cursor = new CfiCursor({ ...common, kind: "eh_frame", bytes, address, dataAddress: address });
    cursor.end = bytes.length;
    const version = cursor.unsigned(1);
    const frameEncoding = cursor.unsigned(1);
    const countEncoding = cursor.unsigned(1);
    const tableEncoding = cursor.unsigned(1);
    if (version !== 1) return undefined;
    const frameAddress = cursor.encodedPointer(frameEncoding);
    const announced = countEncoding === DW_EH_PE.omit ? 0 : cursor.encodedPointer(countEncoding);
    const searchable = tableEncoding === TABLE_ENCODING && cursor.position <= cursor.end;
    const room = Math.floor((cursor.end - cursor.position) / 8);
    const count = searchable && announced > 0 ? Math.min(announced, room) : 0;
    if (!Number.isFinite(frameAddress)) return undefined;
    return new FrameHeader(cursor.view, address, frameAddress, cursor.position, count);
  }

  /** Index of the last entry whose function starts at or before an address (SVMA); −1 if there is none. */
  search(address: number): number {
    return partitionPoint(0, this.count, (index) => this.startAt(index) <= address) - 1;
  }

  /** Start (SVMA) of the function of an entry. */
  startAt(index: number): number {
    return this.#address + this.#view.getInt32(this.#tableStart + 8 * index, true);
  }

  /** Offset in `.eh_frame` of the FDE of an entry. */
  fdeAt(index: number): number {
    return this.#address + this.#view.getInt32(this.#tableStart + 8 * index + 4, true) - this.frameAddress;
  }

  /** Highest address of an FDE in the table; that of the section where there is no table. */
  lastFdeAddress(): number {
    let last = 0;
    for (let index = 0; index < this.count; index++) last = Math.max(last, this.fdeAt(index));
    return this.frameAddress + last;
  }
}
