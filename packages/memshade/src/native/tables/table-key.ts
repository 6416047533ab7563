import type { ObjectFile } from "../../objects/index.ts";
import { SUM_LETTER } from "../layout.ts";
import { sumOf } from "./sum.ts";

const PT_GNU_EH_FRAME = 0x6474e550;
const PF_W = 2;

/**
 * What the tables of an object are kept by: its build id; where it has none, a sum of the loaded segment with its call frame
 * information, which is what tables are made of. A process finds the same in its memory, so that it never gets tables of another file
 * that lies at the same path by now. Undefined where there is neither.
 */
export function tableKey(object: ObjectFile): string | undefined {
  if (object.buildId !== undefined) return object.buildId;
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
