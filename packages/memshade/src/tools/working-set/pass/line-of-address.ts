import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { opcodeId } from "../../../wasm/index.ts";

/** A line is 2 to the power of this many bytes. */
export const LINE_SHIFT = 6;

const LOCAL_GET = opcodeId("local.get");
const I32_ADD = opcodeId("i32.add");
const I32_SHR_U = opcodeId("i32.shr_u");
const I32_WRAP_I64 = opcodeId("i32.wrap_i64");
const I64_ADD = opcodeId("i64.add");
const I64_SHR_U = opcodeId("i64.shr_u");
const I64_EQZ = opcodeId("i64.eqz");
const SELECT = 0x1b;

/** Writes code for the line of the address in a local plus a constant: `beyond` for those above 4 GiB. */
export function writeLine(
  sink: SnippetSink,
  memory64: boolean,
  local: number,
  displacement: number,
  beyond: number,
): void {
  if (!memory64) {
    sink.local(LOCAL_GET, local);
    if (displacement !== 0) {
      sink.i32(displacement);
      sink.plain(I32_ADD);
    }
    sink.i32(LINE_SHIFT);
    sink.plain(I32_SHR_U);
    return;
  }
  const shifted = (bits: number): void => {
    sink.local(LOCAL_GET, local);
    if (displacement !== 0) {
      sink.i64(BigInt(displacement >>> 0));
      sink.plain(I64_ADD);
    }
    sink.i64(BigInt(bits));
    sink.plain(I64_SHR_U);
  };
  shifted(LINE_SHIFT);
  sink.plain(I32_WRAP_I64);
  sink.i32(beyond);
  shifted(32);
  sink.plain(I64_EQZ);
  sink.plain(SELECT);
}
