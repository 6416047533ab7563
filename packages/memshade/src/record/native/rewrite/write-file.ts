import type { ObjectFile } from "../../../code/objects/types.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { viewOf } from "../../../ground/bytes/numbers.ts";
import { REWRITTEN_HEADER } from "../layout.ts";
import type { SectionHeaders } from "./section-headers.ts";

const PAGE = 0x1000;
const PROGRAM_HEADER_BYTES = 56;
export const FILE_HEADER_BYTES = 64;
/** Two segments and a mark. */
const ADDED = 3;
const [PT_LOAD, PT_PHDR, PT_GNU_EH_FRAME, PT_GNU_STACK] = [1, 6, 0x6474e550, 0x6474e551];
/** Type of memshade's program header, which the kernel and the dynamic linker ignore. */
export const PT_REWRITTEN = REWRITTEN_HEADER;
/**
 * Offsets in that program header. p_flags: number of old program headers if they follow the file header, else
 * 0. Then p_vaddr, p_paddr, p_memsz.
 */
export const OLD_COUNT_AT = 4;
const MARK_AT = 16;
export const HEAP_START_AT = 24;
export const ADDED_END_AT = 40;
const [PF_X, PF_R] = [1, 4];
/** Offsets in the file header. */
const [E_PHOFF, E_SHOFF, E_PHNUM, E_SHNUM] = [32, 40, 56, 60];
const SECTION_HEADER_BYTES = 64;
const SHT_NOBITS = 8;
/** Fewer bytes at the end of a file are padding. */
const LEAST_PAYLOAD = 16;

export interface Additions {
  readonly text: Uint8Array;
  /** Search table and call frame information; undefined if the old ones stay. */
  readonly frames?: Uint8Array;
  /** 48 bits that identify the rewriting */
  readonly mark?: number;
  readonly sections?: SectionHeaders | undefined;
}

/**
 * Layout of a rewritten file: the old file, a segment with the new code, a segment with program headers and
 * call frame information, and section headers. Data appended to the old file are repeated at the end, where
 * programs search for them. An added program header has the caller's mark, and the start of the old file's
 * heap.
 * Without room for a heap, added segments have the same distance between address and offset as the first one.
 * Kernels before 5.18 find the program headers in memory by this distance.
 */
export class FileLayout {
  /** Address (SVMA) of the new code. */
  readonly textAddress: number;
  readonly #file: Uint8Array;
  readonly #object: ObjectFile;
  readonly #delta: number;
  readonly #heapStart: number;
  readonly #heapRoom: number;
  readonly #added: number;

  /** @param heapRoom bytes of address space behind the old file for the heap of a program */
  constructor(file: Uint8Array, object: ObjectFile, heapRoom = 0) {
    const { segments, programHeaders } = object;
    if (segments.length === 0) throw new FormatError("unsupported", 0, "ELF file", "it has no segments");
    this.#file = file;
    this.#object = object;
    this.#added = ADDED + (programHeaders.some(({ type }) => type === PT_GNU_EH_FRAME) ? 0 : 1);
    this.#delta = segments[0].address - segments[0].fileOffset;
    const memoryEnd = segments.reduce(
      (end, segment) => Math.max(end, segment.address + segment.memorySize),
      0,
    );
    const offset = Math.max(file.length, memoryEnd - this.#delta);
    this.textAddress = roundUp(offset) + this.#delta + heapRoom;
    this.#heapStart = roundUp(memoryEnd);
    this.#heapRoom = heapRoom;
    if (programHeaders.length + this.#added >= 0xffff)
      throw new FormatError("unsupported", E_PHNUM, "ELF header", "it has too many program headers");
  }

  /** Returns the address of the second segment. */
  dataAddress(textBytes: number): number {
    return roundUp(this.textAddress + textBytes);
  }

  /** Returns the address of the call frame information in the second segment. */
  framesAddress(dataAddress: number): number {
    return dataAddress + PROGRAM_HEADER_BYTES * (this.#object.programHeaders.length + this.#added);
  }

  /** Returns the file offset of an address (SVMA) in the old file, or -1. */
  fileOffset(address: number): number {
    const found = this.#object.segments.find(
      (segment) => address >= segment.address && address < segment.address + segment.fileSize,
    );
    return found === undefined ? -1 : found.fileOffset + address - found.address;
  }

  /** Returns the address (SVMA) of an offset in the old file; -1 if it is not loaded. */
  address(offset: number): number {
    const found = this.#object.segments.find(
      (segment) => offset >= segment.fileOffset && offset < segment.fileOffset + segment.fileSize,
    );
    return found === undefined ? -1 : found.address + offset - found.fileOffset;
  }

  /** Returns the file offset of an added address. */
  offsetOf(address: number): number {
    return address - this.#delta - this.#heapRoom;
  }

  sectionsOffset(textBytes: number, framesBytes: number): number {
    return Math.ceil(this.offsetOf(this.framesAddress(this.dataAddress(textBytes)) + framesBytes) / 8) * 8;
  }

  write({ text, frames: newFrames, mark = 0, sections }: Additions): Uint8Array {
    const frames = newFrames ?? new Uint8Array();
    const data = this.dataAddress(text.length);
    const framesAddress = this.framesAddress(data);
    const sectionsAt = this.sectionsOffset(text.length, frames.length);
    const payload = this.#payload();
    const end = sectionsAt + (sections?.bytes.length ?? 0);
    const bytes = new Uint8Array(end + payload.length);
    bytes.set(this.#file);
    bytes.set(text, this.offsetOf(this.textAddress));
    bytes.set(frames, this.offsetOf(framesAddress));
    bytes.set(payload, end);
    const view = new DataView(bytes.buffer);
    if (sections !== undefined) {
      bytes.set(sections.bytes, sectionsAt);
      view.setBigUint64(E_SHOFF, BigInt(sections.at), true);
      view.setUint16(E_SHNUM, sections.count, true);
    }
    if (newFrames !== undefined || !this.#writeHeadersInPlace(view, text.length))
      this.#writeHeaders(view, text.length, newFrames?.length, mark);
    return bytes;
  }

  /**
   * Keeps a dynamic linker's program headers at their offset, and replaces PT_GNU_STACK by one for the new
   * code. Programs packed by UPX load it themselves, and read only headers there.
   */
  #writeHeadersInPlace(view: DataView, textBytes: number): boolean {
    const { programHeaders } = this.#object;
    const unused = programHeaders.findIndex(({ type }) => type === PT_GNU_STACK);
    const behind = programHeaders.findLastIndex(({ type }) => type === PT_LOAD) + 1;
    if (unused < behind) return false;
    const at = Number(view.getBigUint64(E_PHOFF, true));
    const [from, to] = [behind, unused].map((i) => at + PROGRAM_HEADER_BYTES * i);
    new Uint8Array(view.buffer).copyWithin(from + PROGRAM_HEADER_BYTES, from, to);
    this.#load(view, from, PF_R | PF_X, this.textAddress, textBytes);
    return true;
  }

  #writeHeaders(view: DataView, textBytes: number, framesBytes: number | undefined, mark: number): void {
    const bytes = new Uint8Array(view.buffer);
    const { programHeaders } = this.#object;
    const data = this.dataAddress(textBytes);
    const framesAddress = this.framesAddress(data);
    const headerBytes = framesAddress - data;
    const addedBytes = this.#added * PROGRAM_HEADER_BYTES;
    const oldAt = Number(view.getBigUint64(E_PHOFF, true));
    const at = this.offsetOf(data);
    bytes.set(bytes.slice(oldAt, oldAt + headerBytes - addedBytes), at);
    view.setBigUint64(E_PHOFF, BigInt(at), true);
    view.setUint16(E_PHNUM, programHeaders.length + this.#added, true);

    programHeaders.forEach(({ type }, i) => {
      const header = at + PROGRAM_HEADER_BYTES * i;
      if (type === PT_PHDR) this.#place(view, header, data, headerBytes);
      if (type === PT_GNU_EH_FRAME && framesBytes !== undefined)
        this.#place(view, header, framesAddress, framesBytes);
    });
    // Segments must be sorted by address, and other headers may follow them, so the new ones are inserted
    // after the last segment.
    const lastLoad = programHeaders.findLastIndex(({ type }) => type === PT_LOAD) + 1;
    const from = at + PROGRAM_HEADER_BYTES * lastLoad;
    bytes.copyWithin(from + addedBytes, from, at + headerBytes - addedBytes);
    bytes.fill(0, from, from + addedBytes);
    this.#load(view, from, PF_R | PF_X, this.textAddress, textBytes);
    this.#load(view, from + PROGRAM_HEADER_BYTES, PF_R, data, headerBytes + (framesBytes ?? 0));
    const markAt = from + 2 * PROGRAM_HEADER_BYTES;
    view.setUint32(markAt, PT_REWRITTEN, true);
    view.setBigUint64(markAt + MARK_AT, BigInt(mark), true);
    view.setUint32(markAt + OLD_COUNT_AT, oldAt === FILE_HEADER_BYTES ? programHeaders.length : 0, true);
    if (this.#heapRoom > 0) {
      view.setBigUint64(markAt + HEAP_START_AT, BigInt(this.#heapStart), true);
      view.setBigUint64(markAt + ADDED_END_AT, BigInt(roundUp(framesAddress + (framesBytes ?? 0))), true);
    }
    if (this.#added === ADDED || framesBytes === undefined) return;
    const search = from + ADDED * PROGRAM_HEADER_BYTES;
    view.setUint32(search, PT_GNU_EH_FRAME, true);
    view.setUint32(search + 4, PF_R, true);
    this.#place(view, search, framesAddress, framesBytes);
    view.setBigUint64(search + 48, 4n, true);
  }

  /** Returns appended data, which no header refers to. */
  #payload(): Uint8Array {
    const { segments, sections } = this.#object;
    const view = viewOf(this.#file);
    const headersEnd =
      Number(view.getBigUint64(E_SHOFF, true)) + SECTION_HEADER_BYTES * view.getUint16(E_SHNUM, true);
    const end = Math.max(
      headersEnd,
      ...segments.map(({ fileOffset, fileSize }) => fileOffset + fileSize),
      ...sections.map(({ type, offset, size }) => (type === SHT_NOBITS ? 0 : offset + size)),
    );
    const payload = this.#file.subarray(end);
    return payload.length < LEAST_PAYLOAD ? payload.subarray(0, 0) : payload;
  }

  #load(view: DataView, header: number, flags: number, address: number, size: number): void {
    view.setUint32(header, PT_LOAD, true);
    view.setUint32(header + 4, flags, true);
    this.#place(view, header, address, size);
    view.setBigUint64(header + 48, BigInt(PAGE), true);
  }

  #place(view: DataView, header: number, address: number, size: number): void {
    view.setBigUint64(header + 8, BigInt(this.offsetOf(address)), true);
    for (const field of [16, 24]) view.setBigUint64(header + field, BigInt(address), true);
    for (const field of [32, 40]) view.setBigUint64(header + field, BigInt(size), true);
  }
}

function roundUp(value: number): number {
  return Math.ceil(value / PAGE) * PAGE;
}
