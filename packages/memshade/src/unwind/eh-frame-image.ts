import { type Cie, readCie } from "./cfi/cie.ts";
import { CfiCursor } from "./cfi/cursor.ts";
import { isForFastPath } from "./cfi/fast-fdes.ts";
import type { FrameHeader } from "./cfi/frame-header.ts";
import { ROW_FLAG } from "./cfi/rule-sets.ts";
import type { CfiSection } from "./cfi/section.ts";
import type { ObjectCfi } from "./cfi/sections-of-object.ts";

const RETURN_ADDRESS = 16;

/** What the instructions of a CIE and its FDEs mean. */
export interface SimpleCie {
  readonly codeAlignment: number;
  readonly dataAlignment: number;
  readonly isSignalFrame: boolean;
  /** Range of the initial instructions in the section. */
  readonly programStart: number;
  readonly programEnd: number;
}

/** What `assembly/simple-rule.ts` needs of an x86-64 object. */
export class EhFrameImage {
  readonly #section: CfiSection;
  readonly #header: FrameHeader;
  /** Addresses (SVMA) between which code lies. */
  readonly codeStart: number;
  readonly codeEnd: number;

  private constructor(section: CfiSection, header: FrameHeader, { base, code }: ObjectCfi) {
    this.#section = section;
    this.#header = header;
    this.codeStart = base + code.start;
    this.codeEnd = base + code.end;
  }

  /** Undefined where it takes more than one section with a search table to find rules. */
  static of(cfi: ObjectCfi): EhFrameImage | undefined {
    const { sections, header } = cfi;
    const [section] = sections;
    if (section === undefined || header === undefined || header.count === 0) return undefined;
    if (sections.length > 1 || section.addressSize !== 8) return undefined;
    return new EhFrameImage(section, header, cfi);
  }

  get section(): Uint8Array {
    return this.#section.bytes;
  }

  /** Address (SVMA) of the section. */
  get sectionAddress(): number {
    return this.#section.address;
  }

  /** The search table: pairs of signed words from the header on, the start of a function and where its FDE is. */
  get pairs(): Uint8Array {
    return this.#header.pairs;
  }

  /** Address (SVMA) of the header. */
  get headerAddress(): number {
    return this.#header.address;
  }

  /** The CIE at an offset of the section; undefined if it is damaged or not simple. */
  cieAt(offset: number): SimpleCie | undefined {
    const { view } = this.#cursor;
    if (offset + 8 > view.byteLength || view.getUint32(offset + 4, true) !== 0) return undefined;
    const end = offset + 4 + view.getUint32(offset, true);
    if (end > view.byteLength) return undefined;
    this.#cursor.position = offset + 8;
    this.#cursor.end = end;
    const cie = readCie(this.#cursor);
    if (typeof cie === "string" || !isForFastPath(cie, "eh_frame") || cie.returnAddress !== RETURN_ADDRESS) {
      return undefined;
    }
    return simple(cie);
  }

  #openCursor: CfiCursor | undefined;

  get #cursor(): CfiCursor {
    this.#openCursor ??= new CfiCursor(this.#section);
    return this.#openCursor;
  }
}

function simple({ codeAlignment, dataAlignment, flags, programStart, programEnd }: Cie): SimpleCie {
  const isSignalFrame = (flags & ROW_FLAG.signalFrame) !== 0;
  return { codeAlignment, dataAlignment, isSignalFrame, programStart, programEnd };
}
