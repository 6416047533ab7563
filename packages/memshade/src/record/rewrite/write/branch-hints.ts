import { readU32Leb, skipLeb32 } from "../../../ground/bytes/leb128.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";

/** Custom section with branch hints for engines. It precedes the code section. */
export const BRANCH_HINT_SECTION = "metadata.code.branch_hint";

const UNLIKELY = 0;
const HINT_BYTES = 1;

/**
 * Returns the content of the section that marks branches as unlikely.
 *
 * @param code payload of the code section
 * @param branches their offsets in it, in any order
 * @param firstFunction index of the function with the first body
 */
export function branchHints(
  code: Uint8Array,
  branches: readonly number[],
  firstFunction: number,
): Uint8Array {
  const sorted = Float64Array.from(branches).sort();
  const functions = new ByteWriter(sorted.length * 5 + 16);
  let count = 0;
  let next = 0;
  const bodies = readU32Leb(code, 0);
  let at = skipLeb32(code, 0);
  for (let body = 0; body < bodies && next < sorted.length; body++) {
    const start = skipLeb32(code, at);
    at = start + readU32Leb(code, at);
    const first = next;
    while (next < sorted.length && sorted[next] < at) next++;
    if (next === first) continue;
    count++;
    functions.u32Leb(firstFunction + body).u32Leb(next - first);
    for (let i = first; i < next; i++)
      functions
        .u32Leb(sorted[i] - start)
        .u32Leb(HINT_BYTES)
        .u8(UNLIKELY);
  }
  return new ByteWriter(functions.length + 5).u32Leb(count).bytes(functions.view()).finish();
}
