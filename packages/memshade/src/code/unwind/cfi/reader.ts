import { type Cie, readCie } from "./cie.ts";
import { DW_EH_PE } from "./constants.ts";
import { Expressions } from "./expressions.ts";
import { FastFdes } from "./fast-fdes.ts";
import type { FastReader, FdeSink } from "./fde-sink.ts";
import { CfiProblems } from "./problems.ts";
import { CfiProgram } from "./program.ts";
import { OFFSET_BIAS } from "./rows.ts";
import { RuleSets } from "./rule-sets.ts";
import type { CfiSection } from "./section.ts";

/** What the sections of one object have in common: its rule sets, expressions and the tables of transitions. */
export class CfiDictionary {
  readonly rules: RuleSets;
  readonly expressions = new Expressions();
  readonly problems = new CfiProblems();
  #fast: FastFdes | undefined;

  /** @param inputBytes size of all sections; bounds what damaged ones can make of it */
  constructor(inputBytes: number) {
    this.rules = new RuleSets((1 << 18) + 4 * inputBytes);
  }

  /** What reads FDEs as nearly all are for sinks that have no such reader of their own; made when it is needed. */
  get fast(): FastFdes {
    this.#fast ??= new FastFdes(this.rules);
    return this.#fast;
  }
}

/** Offsets from the base of the rows that code can have. FDEs that start outside describe no code of this object. */
export interface CodeRange {
  readonly start: number;
  readonly end: number;
}

/** Where the code of an object lies. */
export interface CodeLayout {
  /** Lowest address of a loaded segment (SVMA). */
  readonly base: number;
  /** Offsets from the base between which its code lies. */
  readonly code: CodeRange;
}

/** Counts of what a walk over sections met. */
export interface CfiCounts {
  cies: number;
  /** FDEs that describe code. */
  fdes: number;
  /** FDEs without any code, which linkers leave behind. */
  emptyFdes: number;
  /** FDEs outside of the object's code: functions that the linker dropped. */
  outsideFdes: number;
}

/**
 * Reads one section of call frame information: walks over all its entries, or reads the FDE at an offset. Whatever the
 * bytes are, nothing is thrown, and the work is proportional to their number.
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
  /** Bytes of initial instructions that may still be run: damaged CIEs can overlap, so their sum is not bounded. */
  #cieBudget: number;

  // The header of the entry that `#readHeader` read.
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

  /** Reads all FDEs in the order of the section. */
  readAll(): void {
    const size = this.#section.bytes.length;
    const lastTerminator = this.#section.terminatedAfter ?? size;
    let position = 0;
    while (position < size) {
      position = this.#readFast(position, size);
      if (position >= size || !this.#readHeader(position)) break;
      const next = this.#entryEnd;
      // Length 0 ends a piece of the section, or pads it; others may follow.
      if (next > this.#contentStart) this.#readEntry(position);
      else if (position >= lastTerminator) break;
      position = next;
    }
  }

  /** Reads FDEs that are as nearly all are, and returns where the first entry stands that is something else. */
  #readFast(position: number, end: number): number {
    // Without a CIE there can be none.
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
   * @returns false if there is none that describes code
   */
  readFde(offset: number): boolean {
    const before = this.counts.fdes;
    if (offset >= 0 && offset < this.#section.bytes.length && this.#readHeader(offset)) {
      const end = this.#entryEnd;
      if (end > this.#contentStart && this.#readFast(offset, end) !== end) this.#readEntry(offset);
    }
    return this.counts.fdes > before;
  }

  /** What reads FDEs as nearly all are. */
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

  /** Reads the length in front of an entry; false where the rest of the section cannot be read. */
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
      length = view.getUint32(offset + 8, true) * 2 ** 32 + view.getUint32(offset + 4, true);
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
    // Written so that NaN fails too: an address that was cut off, or that cannot be known.
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
    // A damaged size must not make tables of gigabytes of code that is not there.
    const codeBytes = Math.min(size, this.#code.end - start);
    this.#sink.addFde(start - OFFSET_BIAS, codeBytes, this.#program.rows);
  }

  /** Position behind the augmentation data of an FDE; behind `end` if that is cut off. */
  #skipAugmentationData(position: number, end: number): number {
    const { cursor } = this.#program;
    cursor.position = position;
    cursor.end = end;
    cursor.skip(cursor.uleb());
    return cursor.position;
  }

  /** The CIE at an offset, read once; undefined if it cannot be used. */
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
