import { md5 } from "@noble/hashes/legacy.js";

const MARKERS = [".llvm.", ".part."];

/**
 * Removes the suffixes that compilers add to copies of a function, `.llvm.<n>` and `.part.<n>`. Other suffixes stay
 * (memprof-format, section 8.1).
 */
export function canonicalName(name: string): string {
  let result = name;
  for (const marker of MARKERS) {
    const start = result.lastIndexOf(marker);
    if (start >= 0 && result.lastIndexOf(".") === start + marker.length - 1) result = result.slice(0, start);
  }
  return result;
}

/** Returns the 64-bit identifier of a function: the first eight bytes of the MD5 of its canonical linkage name. */
export function functionGuid(name: string): bigint {
  const digest = md5(new TextEncoder().encode(canonicalName(name)));
  return new DataView(digest.buffer, digest.byteOffset).getBigUint64(0, true);
}
