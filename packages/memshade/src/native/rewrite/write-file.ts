import { FormatError } from "../../bytes/errors.ts";
import type { ObjectFile } from "../../objects/types.ts";
import { REWRITTEN_HEADER } from "../layout.ts";

const PAGE = 0x1000;
const PROGRAM_HEADER_BYTES = 56;
const ADDED = 3;
const [PT_LOAD, PT_PHDR, PT_GNU_EH_FRAME] = [1, 6, 0x6474e550];
/** A program header of ours, which the system and the dynamic linker pass over. */
export const PT_REWRITTEN = REWRITTEN_HEADER;
/** Of a program header: p_vaddr. */
const MARK_AT = 16;
const [PF_X, PF_R] = [1, 4];
/** Fields of the file header. */
const E_PHOFF = 32;
const E_PHNUM = 56;

/**
 * Where everything lies in a rewritten file: the old file as it is, then a segment with the new code, then one with program headers and
 * call frame information. One header more has a mark of the caller's. Of all segments that are added, the distance between address and offset is that of the first one:
 * older kernels find the program headers in memory by it.
 */
export class FileLayout {
  /** Address (SVMA) of the new code. */
  readonly textAddress: number;
  readonly #file: Uint8Array;
  readonly #object: ObjectFile;
  readonly #delta: number;

  constructor(file: Uint8Array, object: ObjectFile) {
    const { segments, programHeaders } = object;
    if (segments.length === 0) throw new FormatError("unsupported", 0, "ELF file", "it has no segments");
    this.#file = file;
    this.#object = object;
    this.#delta = segments[0].address - segments[0].fileOffset;
    const memoryEnd = segments.reduce((end, one) => Math.max(end, one.address + one.memorySize), 0);
    const offset = Math.max(file.length, memoryEnd - this.#delta);
    this.textAddress = roundUp(offset) + this.#delta;
    if (programHeaders.length + ADDED >= 0xffff)
      throw new FormatError("unsupported", E_PHNUM, "ELF header", "it has too many program headers");
  }

  /** Where the second segment begins, behind that many bytes of code. */
  dataAddress(textBytes: number): number {
    return roundUp(this.textAddress + textBytes);
  }

  /** Where the call frame information begins, in a second segment at that address. */
  framesAddress(dataAddress: number): number {
    return dataAddress + PROGRAM_HEADER_BYTES * (this.#object.programHeaders.length + ADDED);
  }

  /** Where in the file the byte of an address (SVMA) of the old file lies. */
  fileOffset(address: number): number {
    const around = this.#object.segments.find(
      (one) => address >= one.address && address < one.address + one.fileSize,
    );
    return around === undefined ? -1 : around.fileOffset + address - around.address;
  }

  /** @param frames undefined: the old ones stay @param mark 48 bits, by which a process knows what was made of the file */
  write(text: Uint8Array, newFrames: Uint8Array | undefined, mark = 0): Uint8Array {
    const frames = newFrames ?? new Uint8Array();
    const data = this.dataAddress(text.length);
    const framesAddress = this.framesAddress(data);
    const headerBytes = framesAddress - data;
    const bytes = new Uint8Array(framesAddress + frames.length - this.#delta);
    bytes.set(this.#file);
    bytes.set(text, this.textAddress - this.#delta);
    bytes.set(frames, framesAddress - this.#delta);
    const view = new DataView(bytes.buffer);
    const oldAt = Number(view.getBigUint64(E_PHOFF, true));
    const at = data - this.#delta;
    bytes.set(bytes.slice(oldAt, oldAt + headerBytes - ADDED * PROGRAM_HEADER_BYTES), at);
    view.setBigUint64(E_PHOFF, BigInt(at), true);
    view.setUint16(E_PHNUM, this.#object.programHeaders.length + ADDED, true);

    this.#object.programHeaders.forEach(({ type }, i) => {
      const header = at + PROGRAM_HEADER_BYTES * i;
      if (type === PT_PHDR) this.#place(view, header, data, headerBytes);
      if (type === PT_GNU_EH_FRAME && newFrames !== undefined)
        this.#place(view, header, framesAddress, frames.length);
    });
    // Segments stand in the order of their addresses, and other headers may follow them: room is made behind the last one.
    const lastLoad = this.#object.programHeaders.findLastIndex(({ type }) => type === PT_LOAD) + 1;
    const from = at + PROGRAM_HEADER_BYTES * lastLoad;
    bytes.copyWithin(
      from + ADDED * PROGRAM_HEADER_BYTES,
      from,
      at + headerBytes - ADDED * PROGRAM_HEADER_BYTES,
    );
    bytes.fill(0, from, from + ADDED * PROGRAM_HEADER_BYTES);
    this.#load(view, from, PF_R | PF_X, this.textAddress, text.length);
    this.#load(view, from + PROGRAM_HEADER_BYTES, PF_R, data, headerBytes + frames.length);
    const markAt = from + 2 * PROGRAM_HEADER_BYTES;
    view.setUint32(markAt, PT_REWRITTEN, true);
    view.setBigUint64(markAt + MARK_AT, BigInt(mark), true);
    return bytes;
  }

  #load(view: DataView, header: number, flags: number, address: number, size: number): void {
    view.setUint32(header, PT_LOAD, true);
    view.setUint32(header + 4, flags, true);
    this.#place(view, header, address, size);
    view.setBigUint64(header + 48, BigInt(PAGE), true);
  }

  #place(view: DataView, header: number, address: number, size: number): void {
    view.setBigUint64(header + 8, BigInt(address - this.#delta), true);
    for (const field of [16, 24]) view.setBigUint64(header + field, BigInt(address), true);
    for (const field of [32, 40]) view.setBigUint64(header + field, BigInt(size), true);
  }
}

function roundUp(value: number): number {
  return Math.ceil(value / PAGE) * PAGE;
}
