import type { ObjectFile } from "../../../code/objects/index.ts";
import { MARK_SEPARATOR, SUM_LETTER } from "../layout.ts";
import { PT_REWRITTEN } from "../rewrite/write-file.ts";
import { sumOf } from "./sum.ts";

const PT_GNU_EH_FRAME = 0x6474e550;
const PF_W = 2;
/** 48 bits. */
const MARK_DIGITS = 12;

/**
 * What the tables of an object are kept by: its build id; where it has none, a sum of the loaded segment with its call frame
 * information, which is what tables are made of. A process finds the same in its memory, so that it never gets tables of another file
 * that lies at the same path by now. A rewritten file has the build id of its original, and a mark of its own behind it. Undefined where
 * there is neither.
 */
export function tableKey(object: ObjectFile): string | undefined {
  const key = object.buildId ?? keyOfFrames(object);
  const mark = object.programHeaders.find(({ type }) => type === PT_REWRITTEN)?.address;
  return key && withMark(key, mark ?? 0);
}

/** The name of the tables of a rewritten file. `mark`: 0 for any other. */
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

/** The name of tables that are kept by a sum, of which these are the bytes in hexadecimal. */
export function keyOfSum(sum: string): string {
  return String.fromCharCode(SUM_LETTER) + sum;
}
