import { CV_ELF, CV_PDB70 } from "./layout.ts";

/**
 * The build id in a module's CodeView record, in hexadecimal: whole in Breakpad's records for ELF; its first 16 bytes in
 * those that hold it as a GUID, whose first three fields are stored with their bytes swapped.
 */
export function buildIdOfCodeView(record: Uint8Array): string | undefined {
  if (record.length < 5) return undefined;
  const signature = new DataView(record.buffer, record.byteOffset).getUint32(0, true);
  if (signature === CV_ELF) return toHex(record.subarray(4));
  if (signature !== CV_PDB70 || record.length < 20) return undefined;
  const guid = record.subarray(4, 20);
  const order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
  return toHex(order.map((index) => guid[index]!));
}

function toHex(bytes: ArrayLike<number>): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
