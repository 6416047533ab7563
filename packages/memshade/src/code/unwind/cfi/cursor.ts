import { getU64, viewOf } from "../../../ground/bytes/numbers.ts";
import { DW_EH_PE } from "./constants.ts";
import type { CfiSection } from "./section.ts";

const MAX_LEB_BYTES = 10;

/**
 * Read position in a section. No method throws. A value that does not end before `end`, or that a number cannot
 * hold exactly, is NaN, and NaN fails every later range check. After a failure the position is behind `end`, so
 * that further reads fail too.
 */
export class CfiCursor {
  readonly section: CfiSection;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  position = 0;
  end = 0;

  constructor(section: CfiSection) {
    this.section = section;
    this.bytes = section.bytes;
    this.view = viewOf(section.bytes);
  }

  /** Reads an unsigned little-endian integer of 1, 2, 4 or 8 bytes. */
  unsigned(size: number): number {
    const at = this.position;
    this.position += size;
    if (this.position > this.end) return Number.NaN;
    switch (size) {
      case 1:
        return this.bytes[at];
      case 2:
        return this.view.getUint16(at, true);
      case 4:
        return this.view.getUint32(at, true);
      default:
        return getU64(this.view, at);
    }
  }

  signed(size: number): number {
    const at = this.position;
    this.position += size;
    if (this.position > this.end) return Number.NaN;
    switch (size) {
      case 1:
        return this.view.getInt8(at);
      case 2:
        return this.view.getInt16(at, true);
      case 4:
        return this.view.getInt32(at, true);
      default:
        return this.view.getInt32(at + 4, true) * 2 ** 32 + this.view.getUint32(at, true);
    }
  }

  uleb(): number {
    const { bytes, end } = this;
    let at = this.position;
    let value = 0;
    let scale = 1;
    for (const limit = Math.min(end, at + MAX_LEB_BYTES); at < limit; scale *= 128) {
      const byte = bytes[at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        this.position = at;
        return value;
      }
    }
    this.position = end + 1;
    return Number.NaN;
  }

  sleb(): number {
    const { bytes, end } = this;
    let at = this.position;
    let value = 0;
    let scale = 1;
    for (const limit = Math.min(end, at + MAX_LEB_BYTES); at < limit; ) {
      const byte = bytes[at++];
      value += (byte & 0x7f) * scale;
      scale *= 128;
      if (byte < 0x80) {
        this.position = at;
        return byte & 0x40 ? value - scale : value;
      }
    }
    this.position = end + 1;
    return Number.NaN;
  }

  /** Skips `count` bytes and returns their start; NaN if there are fewer. */
  skip(count: number): number {
    const at = this.position;
    // The condition also fails for a NaN count.
    if (!(count <= this.end - at)) {
      this.position = this.end + 1;
      return Number.NaN;
    }
    this.position = at + count;
    return at;
  }

  /** Reads an encoded pointer in the format of its low four bits, without a base. */
  encodedValue(encoding: number): number {
    switch (encoding & 0x0f) {
      case DW_EH_PE.absptr:
        return this.unsigned(this.section.addressSize);
      case DW_EH_PE.signed:
        return this.signed(this.section.addressSize);
      case DW_EH_PE.uleb128:
        return this.uleb();
      case DW_EH_PE.sleb128:
        return this.sleb();
      case DW_EH_PE.udata2:
        return this.unsigned(2);
      case DW_EH_PE.udata4:
        return this.unsigned(4);
      case DW_EH_PE.udata8:
        return this.unsigned(8);
      case DW_EH_PE.sdata2:
        return this.signed(2);
      case DW_EH_PE.sdata4:
        return this.signed(4);
      case DW_EH_PE.sdata8:
        return this.signed(8);
      default:
        return Number.NaN;
    }
  }

  /**
   * Reads an encoded pointer: an address (SVMA), or NaN if it is unknown, as function-relative pointers are.
   */
  encodedPointer(encoding: number): number {
    if (encoding === DW_EH_PE.omit) return Number.NaN;
    const { section } = this;
    if ((encoding & 0x70) === DW_EH_PE.aligned) {
      const misaligned = (section.address + this.position) % section.addressSize;
      if (misaligned !== 0) this.position += section.addressSize - misaligned;
      return this.unsigned(section.addressSize);
    }
    const place = section.address + this.position;
    const isWide = (encoding & 0x0f) === DW_EH_PE.udata8 || (encoding & 0x0f) === DW_EH_PE.absptr;
    // Sums wrap, so a relative unsigned word equals a signed one, and the signed one stays exact.
    const relative = (encoding & 0x70) !== 0;
    const format = relative && isWide && section.addressSize === 8 ? DW_EH_PE.sdata8 : encoding;
    const value = this.encodedValue(format) + this.#baseOf(encoding, place);
    const address = section.addressSize === 4 && !Number.isNaN(value) ? value >>> 0 : value;
    if ((encoding & DW_EH_PE.indirect) === 0) return address;
    return section.readPointer?.(address) ?? Number.NaN;
  }

  #baseOf(encoding: number, place: number): number {
    switch (encoding & 0x70) {
      case 0:
        return 0;
      case DW_EH_PE.pcrel:
        return place;
      case DW_EH_PE.textrel:
        return this.section.textAddress ?? Number.NaN;
      case DW_EH_PE.datarel:
        return this.section.dataAddress ?? Number.NaN;
      default:
        return Number.NaN;
    }
  }
}
