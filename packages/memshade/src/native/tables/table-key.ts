import type { ObjectFile } from "../../objects/index.ts";
import { SUM_LETTER, SUM_WORDS } from "../layout.ts";

const PT_GNU_EH_FRAME = 0x6474e550;
const PF_W = 2;
const SUM_FACTOR = 0x9e3779b1;

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
  return keyOfSum(sumOf(object.bytesAt(segment.address, segment.fileSize)));
}

/** The name of tables that are kept by a sum, of which these are the bytes in hexadecimal. */
export function keyOfSum(sum: string): string {
  return String.fromCharCode(SUM_LETTER) + sum;
}

function sumOf(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const words = new Uint32Array(SUM_WORDS);
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const i = (at >>> 2) % SUM_WORDS;
    const mixed = words[i] ^ view.getUint32(at, true);
    words[i] = Math.imul((mixed << 13) | (mixed >>> 19), SUM_FACTOR) + 1;
  }
  return Buffer.from(words.buffer).toString("hex");
}
