import type { ObjectFile } from "../../../code/objects/index.ts";
import { MARK_SEPARATOR, SUM_LETTER } from "../layout.ts";
import { PT_REWRITTEN } from "../rewrite/write-file.ts";
import { sumOf } from "./sum.ts";

const PT_GNU_EH_FRAME = 0x6474e550;
const PF_W = 2;
/** Hexadecimal digits of the 48 bits. */
const MARK_DIGITS = 12;

/**
 * Returns the key of an object's tables: its build id, or a sum of the loaded segment with its call frame
 * information, from which tables are made. A process computes the same key from its memory, so it never gets
 * tables of another file at the same path. A rewritten file has the build id of its original and a mark.
 * Undefined if there is neither.
 */
export function tableKey(object: ObjectFile): string | undefined {
  const key = object.buildId ?? keyOfFrames(object);
  const mark = object.programHeaders.find(({ type }) => type === PT_REWRITTEN)?.address;
  return key && withMark(key, mark ?? 0);
}

/** Returns the name of a rewritten file's tables. `mark`: 0 for other files. */
export function withMark(key: string, mark: number): string {
  if (mark === 0) return key;
  return `${key}${String.fromCharCode(MARK_SEPARATOR)}${mark.toString(16).padStart(MARK_DIGITS, "0")}`;
}

function keyOfFrames(object: ObjectFile): string | undefined {
  const frames = object.programHeaders.find(({ type }) => type === PT_GNU_EH_FRAME);
  const segment =
    frames &&
    object.segments.find(
      ({ address, fileSize }) => frames.address >= address && frames.address - address < fileSize,
    );
  if (segment === undefined || (segment.flags & PF_W) !== 0) return undefined;
  return keyOfSum(Buffer.from(sumOf(object.bytesAt(segment.address, segment.fileSize))).toString("hex"));
}

/** Returns the name of tables with a sum as key. `sum`: hexadecimal. */
export function keyOfSum(sum: string): string {
  return String.fromCharCode(SUM_LETTER) + sum;
}
