import { partitionPoint } from "../../../ground/bytes/columns.ts";
import { getU64 } from "../../../ground/bytes/numbers.ts";
import type { ObjectFile } from "../../objects/types.ts";
import { unwindTarget } from "../architecture.ts";
import { type Cie, readCie } from "./cie.ts";
import { DW_EH_PE } from "./constants.ts";
import { CfiCursor } from "./cursor.ts";
import { FastFdes } from "./fast-fdes.ts";
import { CfiProblems } from "./problems.ts";
import { CfiProgram, Expressions } from "./program.ts";
import { type FastReader, type FdeSink, OFFSET_BIAS } from "./rows.ts";
import { RuleSets } from "./rule-sets.ts";
import type { CfiSection } from "./section.ts";

/** Data shared by the sections of one object: rule sets, expressions and transition tables. */
export class CfiDictionary {
  readonly rules: RuleSets;
  readonly expressions = new Expressions();
  readonly problems = new CfiProblems();
  #fast: FastFdes | undefined;

  /** @param inputBytes size of all sections; limits the dictionary's size for damaged ones */
  constructor(inputBytes: number) {
    this.rules = new RuleSets((1 << 18) + 4 * inputBytes);
  }

  get fast(): FastFdes {
    this.#fast ??= new FastFdes(this.rules);
    return this.#fast;
  }
}

/** Offsets from the base that code can have. FDEs that start outside describe no code of this object. */
export interface CodeRange {
  readonly start: number;
  readonly end: number;
}

interface CodeLayout {
  /** Lowest address of a loaded segment (SVMA). */
  readonly base: number;
  readonly code: CodeRange;
}

export interface CfiCounts {
  cies: number;
  fdes: number;
  /** FDEs without any code, which linkers leave behind. */
  emptyFdes: number;
  /** FDEs outside of the object's code: functions that the linker dropped. */
  outsideFdes: number;
}

/**
 * Reads one section of call frame information: all its entries, or the FDE at an offset. No method throws, whatever
 * the bytes are, and the work is proportional to their number.
 */
export class CfiReader {
  readonly counts: CfiCounts = { cies: 0, fdes: 0, emptyFdes: 0, outsideFdes: 0 };
  readonly #section: CfiSection;
  readonly #dictionary: CfiDictionary;
  readonly #sink: FdeSink;
  readonly #base: number;
  readonly #code: CodeRange;
  readonly #program: CfiProgram;
  readonly #cies = new Map<number, Cie | undefined>();
  #lastCieOffset = -1;
  #lastCie: Cie | undefined;
  /**
   * Remaining bytes of initial instructions that may be run. Damaged CIEs can overlap, so their sum has no other
   * limit.
   */
  #cieBudget: number;

  #contentStart = 0;
  #entryEnd = 0;
  #is64Bit = false;

  constructor(section: CfiSection, dictionary: CfiDictionary, { base, code }: CodeLayout, sink: FdeSink) {
    this.#section = section;
    this.#dictionary = dictionary;
    this.#sink = sink;
    this.#base = base;
    this.#code = code;
    this.#program = new CfiProgram(
      section,
      base,
      dictionary.rules,
      dictionary.expressions,
      dictionary.problems,
    );
    this.#cieBudget = 2 * section.bytes.length + 4096;
  }

  readAll(): void {
    const size = this.#section.bytes.length;
    const lastTerminator = this.#section.terminatedAfter ?? size;
    let position = 0;
    while (position < size) {
      position = this.#readFast(position, size);
      if (position >= size || !this.#readHeader(position)) break;
      const next = this.#entryEnd;
      // Length 0 ends or pads a piece of the section; further entries may follow.
      if (next > this.#contentStart) this.#readEntry(position);
      else if (position >= lastTerminator) break;
      position = next;
    }
  }

  /** Reads FDEs on the fast path, and returns the position of the first entry of another kind. */
  #readFast(position: number, end: number): number {
    // An FDE needs a CIE before it.
    if (this.#lastCie === undefined) return position;
    const fast = this.#fast;
    if (fast.enter(this.#section, this.#base, this.#code))
      for (const [offset, cie] of this.#cies) if (cie !== undefined) fast.addCie(offset, cie);
    const before = fast.count;
    const next = fast.read(position, end, this.#sink);
    this.counts.fdes += fast.count - before;
    return next;
  }

  /**
   * Reads the FDE that starts at an offset of the section.
   *
   * @returns false if no FDE that describes code is there
   */
  readFde(offset: number): boolean {
    const before = this.counts.fdes;
    if (offset >= 0 && offset < this.#section.bytes.length && this.#readHeader(offset)) {
      const end = this.#entryEnd;
      if (end > this.#contentStart && this.#readFast(offset, end) !== end) this.#readEntry(offset);
    }
    return this.counts.fdes > before;
  }

  get #fast(): FastReader {
    return this.#sink.fast ?? this.#dictionary.fast;
  }

  #problem(
    kind: "truncated" | "malformed" | "unsupported",
    offset: number,
    construct: string,
    detail: string,
  ) {
    this.#dictionary.problems.add(kind, offset, `${this.#section.kind} ${construct}`, detail);
  }

  #readHeader(offset: number): boolean {
    const { view } = this.#program.cursor;
    const size = view.byteLength;
    let at = offset + 4;
    if (at > size) {
      this.#problem("truncated", offset, "entry", "its length is cut off");
      return false;
    }
    let length = view.getUint32(offset, true);
    this.#is64Bit = length === 0xffff_ffff;
    if (this.#is64Bit) {
      if (offset + 12 > size) {
        this.#problem("truncated", offset, "entry", "its length is cut off");
        return false;
      }
      length = getU64(view, offset + 4);
      at = offset + 12;
    }
    if (length > size - at) {
      const detail = `${length} bytes are announced, ${size - at} are left`;
      this.#problem("truncated", offset, "entry", detail);
      return false;
    }
    this.#contentStart = at;
    this.#entryEnd = at + length;
    return true;
  }

  #readEntry(offset: number): void {
    const { view } = this.#program.cursor;
    const idPosition = this.#contentStart;
    const end = this.#entryEnd;
    const idSize = this.#is64Bit ? 8 : 4;
    if (end - idPosition < idSize) {
      this.#problem("malformed", offset, "entry", "it is too short for an id");
      return;
    }
    const low = view.getUint32(idPosition, true);
    const high = this.#is64Bit ? view.getUint32(idPosition + 4, true) : 0;
    let cieOffset: number;
    if (this.#section.kind === "eh_frame") {
      if (low === 0 && high === 0) {
        this.counts.cies++;
        return;
      }
      cieOffset = idPosition - (high * 2 ** 32 + low);
    } else {
      if (low === 0xffff_ffff && (!this.#is64Bit || high === 0xffff_ffff)) {
        this.counts.cies++;
        return;
      }
      cieOffset = high * 2 ** 32 + low;
    }
    if (cieOffset !== this.#lastCieOffset) {
      this.#lastCie = this.#cieAt(cieOffset);
      this.#lastCieOffset = cieOffset;
    }
    if (this.#lastCie === undefined) {
      this.#problem("malformed", offset, "FDE", "its CIE cannot be used");
      return;
    }
    this.#fast.addCie(cieOffset, this.#lastCie);
    this.#readFdeContent(offset, this.#lastCie, idPosition + idSize, end);
  }

  #readFdeContent(offset: number, cie: Cie, position: number, end: number): void {
    const { cursor } = this.#program;
    const section = this.#section;
    let start: number;
    let size: number;
    cursor.position = position + cie.segmentSize;
    cursor.end = end;
    const format = section.kind === "eh_frame" ? cie.pointerEncoding : DW_EH_PE.absptr;
    if (format === DW_EH_PE.absptr) {
      start = cursor.unsigned(cie.addressSize);
      size = cursor.unsigned(cie.addressSize);
    } else {
      start = cursor.encodedPointer(format);
      size = cursor.encodedValue(format);
    }
    position = cursor.position;
    if (cie.hasAugmentationData) position = this.#skipAugmentationData(position, end);
    if (size === 0) {
      this.counts.emptyFdes++;
      return;
    }
    start -= this.#base;
    // The condition also fails for NaN: an address that is cut off or unknown.
    if (!(size > 0 && position <= end)) {
      this.#problem("malformed", offset, "FDE", "its addresses or its augmentation data cannot be read");
      return;
    }
    if (!(start >= this.#code.start && start < this.#code.end)) {
      this.counts.outsideFdes++;
      return;
    }
    this.counts.fdes++;
    this.#program.run(cie, position, end, start - OFFSET_BIAS);
    // The limit keeps a damaged size from making gigabytes of tables for code that does not exist.
    const codeBytes = Math.min(size, this.#code.end - start);
    this.#sink.addFde(start - OFFSET_BIAS, codeBytes, this.#program.rows);
  }

  /** Returns the position after the augmentation data of an FDE; behind `end` if the data is cut off. */
  #skipAugmentationData(position: number, end: number): number {
    const { cursor } = this.#program;
    cursor.position = position;
    cursor.end = end;
    cursor.skip(cursor.uleb());
    return cursor.position;
  }

  /** Returns the CIE at an offset, read once; undefined if it is unusable. */
  #cieAt(offset: number): Cie | undefined {
    if (this.#cies.has(offset)) return this.#cies.get(offset);
    const { contentStart, entryEnd, is64Bit } = {
      contentStart: this.#contentStart,
      entryEnd: this.#entryEnd,
      is64Bit: this.#is64Bit,
    };
    const cie = this.#loadCie(offset);
    this.#contentStart = contentStart;
    this.#entryEnd = entryEnd;
    this.#is64Bit = is64Bit;
    this.#cies.set(offset, cie);
    return cie;
  }

  #loadCie(offset: number): Cie | undefined {
    const { cursor } = this.#program;
    if (!(offset >= 0 && offset < cursor.bytes.length) || !this.#readHeader(offset)) return undefined;
    const isEhFrame = this.#section.kind === "eh_frame";
    cursor.position = this.#contentStart;
    cursor.end = this.#entryEnd;
    const idSize = this.#is64Bit ? 8 : 4;
    const id = isEhFrame ? cursor.unsigned(idSize) : cursor.signed(idSize);
    if (id !== (isEhFrame ? 0 : -1)) return undefined;
    const cie = readCie(cursor);
    if (typeof cie === "string") {
      this.#problem("unsupported", offset, "CIE", cie);
      return undefined;
    }
    const programBytes = cie.programEnd - cie.programStart;
    if (programBytes > this.#cieBudget) {
      this.#problem("malformed", offset, "CIE", "the initial instructions of all CIEs together are too long");
      return undefined;
    }
    this.#cieBudget -= programBytes;
    const { rules } = this.#dictionary;
    cie.initialSet = rules.ofCie(cie.flags, cie.returnAddress);
    cie.initialSet = this.#program.run(cie, cie.programStart, cie.programEnd, 0);
    return cie;
  }
}

/** Encoding of the search table, as all linkers write it: pairs of signed 32-bit numbers relative to the header. */
const TABLE_ENCODING = DW_EH_PE.datarel | DW_EH_PE.sdata4;

/**
 * `.eh_frame_hdr`: the linker's search table for `.eh_frame` (Linux Standard Base Core 5.0, 10.6.2). The table has
 * the starts of functions, but not their ends. Of two FDEs with the same start, some linkers keep the empty one.
 * The result of a search must therefore be checked against the FDE itself.
 */
export class FrameHeader {
  /** Address (SVMA) of `.eh_frame`. */
  readonly frameAddress: number;
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

  /** Reads the header; returns undefined if it is damaged or has no table in the usual form. */
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

  /**
   * Returns the index of the last entry whose function starts at or before an address (SVMA); −1 if there is
   * none.
   */
  search(address: number): number {
    return partitionPoint(0, this.count, (index) => this.startAt(index) <= address) - 1;
  }

  startAt(index: number): number {
    return this.#address + this.#view.getInt32(this.#tableStart + 8 * index, true);
  }

  fdeAt(index: number): number {
    return this.#address + this.#view.getInt32(this.#tableStart + 8 * index + 4, true) - this.frameAddress;
  }

  /** Returns the highest address of an FDE in the table; that of the section if there is no table. */
  lastFdeAddress(): number {
    let last = 0;
    for (let index = 0; index < this.count; index++) last = Math.max(last, this.fdeAt(index));
    return this.frameAddress + last;
  }
}

const SHT_PROGBITS = 1;
const SHT_X86_64_UNWIND = 0x7000_0001;
const PT_GNU_EH_FRAME = 0x6474_e550;
const PF_X = 1;

/** Call frame information of an object: its sections, in order of preference. */
export interface ObjectCfi extends CodeLayout {
  readonly sections: readonly CfiSection[];
  /** Search table `.eh_frame_hdr`, if it is readable. It covers `sections[0]`. */
  readonly header: FrameHeader | undefined;
}

/** Finds the sections with call frame information, even in files without section headers. */
export function cfiOfObject(object: ObjectFile): ObjectCfi {
  const layout = codeLayout(object);
  const addressSize = object.addressSize;
  const addressOf = (name: string) => object.sections.find((section) => section.name === name)?.address;
  const readPointer = (address: number): number | undefined => {
    const bytes = object.bytesAt(address, addressSize);
    if (bytes.length < addressSize) return undefined;
    const cursor = new CfiCursor({ kind: "eh_frame", bytes, address, addressSize });
    cursor.end = bytes.length;
    return cursor.unsigned(addressSize);
  };
  const common = {
    addressSize,
    textAddress: addressOf(".text"),
    dataAddress: addressOf(".got"),
    readPointer,
  };

  const sections: CfiSection[] = [];
  if (unwindTarget(object.architecture) === undefined) return { ...layout, sections, header: undefined };
  for (const kind of ["eh_frame", "debug_frame"] as const)
    for (const section of object.sections) {
      if (section.name !== `.${kind}` && !(kind === "debug_frame" && section.name === ".zdebug_frame"))
        continue;
      if (section.type !== SHT_PROGBITS && section.type !== SHT_X86_64_UNWIND) continue;
      const bytes = object.contentOf(section);
      if (bytes !== undefined && bytes.length > 0)
        sections.push({ ...common, kind, bytes, address: section.address });
    }
  const segment = object.programHeaders.find(({ type }) => type === PT_GNU_EH_FRAME);
  const header =
    segment && FrameHeader.open(object.bytesAt(segment.address, segment.memorySize), segment.address, common);
  const frames = sections.filter(({ kind }) => kind === "eh_frame");
  const isIn = ({ address, bytes }: CfiSection, at: number): boolean =>
    at >= address && at - address < bytes.length;
  // The file has no section headers, or more frames than its sections list.
  if (header !== undefined && !frames.some((section) => isIn(section, header.frameAddress))) {
    const found = sectionBehindHeader(object, header, common);
    if (found !== undefined) sections.unshift(found);
  }
  const isWhole = sections.filter(({ kind }) => kind === "eh_frame").length === Math.max(frames.length, 1);
  const covered = isWhole && sections[0]?.kind === "eh_frame" && sections[0].address === header?.frameAddress;
  return { ...layout, sections, header: covered ? header : undefined };
}

/** Returns `.eh_frame` of a file without section headers: the rest of its segment, up to the terminator. */
function sectionBehindHeader(
  object: ObjectFile,
  header: FrameHeader,
  common: Omit<CfiSection, "kind" | "bytes" | "address">,
): CfiSection | undefined {
  const address = header.frameAddress;
  const segment = object.segments.find(
    (candidate) => address >= candidate.address && address < candidate.address + candidate.fileSize,
  );
  if (segment === undefined) return undefined;
  const bytes = object.bytesAt(address, segment.address + segment.fileSize - address);
  // A terminator before an entry of the header's table ends only one linked piece.
  const lastKnown = header.lastFdeAddress() - address;
  return { ...common, kind: "eh_frame", bytes, address, terminatedAfter: lastKnown };
}

function codeLayout({ segments }: ObjectFile): CodeLayout {
  let base = Number.POSITIVE_INFINITY;
  for (const { address } of segments) base = Math.min(base, address);
  if (segments.length === 0) base = 0;
  let start = Number.POSITIVE_INFINITY;
  let end = 0;
  for (const { address, memorySize, flags } of segments) {
    if ((flags & PF_X) === 0) continue;
    start = Math.min(start, address - base);
    end = Math.max(end, address - base + memorySize);
  }
  if (segments.length === 0) return { base, code: { start: 0, end: 2 ** 32 } };
  return { base, code: { start, end: Math.min(end, 2 ** 32) } };
}
