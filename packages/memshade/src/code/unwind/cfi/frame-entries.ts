import type { ObjectFile } from "../../objects/types.ts";
import { type Cie, readCie } from "./cie.ts";
import { DW_EH_PE } from "./constants.ts";
import { CfiCursor } from "./cursor.ts";
import { cfiOfObject } from "./reader.ts";
import { ROW_FLAG } from "./rule-sets.ts";

/** Function's entry in `.eh_frame`, with its call frame instructions as stored. */
export interface FrameEntry {
  readonly start: number;
  readonly size: number;
  readonly cie: Cie;
  readonly cieAddress: number;
  /** Address (SVMA) of the exception table, if there is one. */
  readonly lsda: number | undefined;
  readonly instructions: Uint8Array;
}

/** Length that marks entries of more than 32 bits. */
const LONG_LENGTH = 0xffff_ffff;

/** Functions of an object's `.eh_frame`, in its order. Damaged entries are left out. */
export function frameEntries(object: ObjectFile): FrameEntry[] {
  const section = cfiOfObject(object).sections.find(({ kind }) => kind === "eh_frame");
  if (section === undefined) return [];
  const cursor = new CfiCursor(section);
  const { view, bytes } = cursor;
  const cies = new Map<number, Cie | string>();
  const entries: FrameEntry[] = [];
  const cieAt = (offset: number): Cie | string => {
    const cachedCie = cies.get(offset);
    if (cachedCie !== undefined) return cachedCie;
    if (offset < 0 || offset + 8 > bytes.length) return "it lies outside of the section";
    cursor.position = offset + 8;
    cursor.end = Math.min(offset + 4 + view.getUint32(offset, true), bytes.length);
    const cie = view.getUint32(offset + 4, true) === 0 ? readCie(cursor) : "it is none";
    cies.set(offset, cie);
    return cie;
  };
  for (let at = 0; at + 8 <= bytes.length; ) {
    const length = view.getUint32(at, true);
    if (length === LONG_LENGTH || at + 4 + length > bytes.length) break;
    const next = at + 4 + length;
    const distance = view.getUint32(at + 4, true);
    // Length 0 ends or pads a piece of the section; distance 0 marks a CIE.
    if (length >= 4 && distance !== 0) {
      const cieOffset = at + 4 - distance;
      const cie = cieAt(cieOffset);
      cursor.position = at + 8;
      cursor.end = next;
      if (typeof cie !== "string") {
        const entry = readEntry(cursor, cie, section.address + cieOffset);
        if (entry !== undefined) entries.push(entry);
      }
    }
    at = next;
  }
  return entries;
}

function readEntry(cursor: CfiCursor, cie: Cie, cieAddress: number): FrameEntry | undefined {
  const start = cursor.encodedPointer(cie.pointerEncoding);
  const size = cursor.encodedValue(cie.pointerEncoding);
  let lsda: number | undefined;
  if (cie.hasAugmentationData) {
    const bytes = cursor.uleb();
    const end = cursor.position + bytes;
    if (cie.lsdaEncoding !== DW_EH_PE.omit && bytes > 0) {
      const at = cursor.position;
      // A pointer of 0 is null, whatever its base would be.
      const isNull = cursor.encodedValue(cie.lsdaEncoding) === 0;
      cursor.position = at;
      if (!isNull) lsda = cursor.encodedPointer(cie.lsdaEncoding);
    }
    cursor.position = end;
  }
  if (!(size > 0 && Number.isSafeInteger(start) && cursor.position <= cursor.end)) return undefined;
  if (lsda !== undefined && !Number.isSafeInteger(lsda)) return undefined;
  const instructions = cursor.bytes.subarray(cursor.position, cursor.end);
  return { start, size, cie, cieAddress, lsda, instructions };
}

/** True if a CIE describes code to which signal handlers return. */
export function isSignalFrame({ flags }: Cie): boolean {
  return (flags & ROW_FLAG.signalFrame) !== 0;
}
