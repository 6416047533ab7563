import * as Op from "../../../../../code/wasm/op.generated.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";

/** Bytes of a line, as a shift. */
export const LINE_SHIFT = 6;

const SELECT = 0x1b;

/**
 * Writes code for the line of the address in a local plus a constant, which may be negative. The result is `beyond` for
 * addresses above 4 GiB in a 64-bit memory.
 */
export function writeLine(
  sink: SnippetSink,
  memory64: boolean,
  local: number,
  displacement: number,
  beyond: number,
): void {
  if (!memory64) {
    sink.local(Op.LOCAL_GET, local);
    if (displacement !== 0) {
      sink.i32(displacement | 0);
      sink.plain(Op.I32_ADD);
    }
    sink.i32(LINE_SHIFT);
    sink.plain(Op.I32_SHR_U);
    return;
  }
  const shifted = (bits: number): void => {
    sink.local(Op.LOCAL_GET, local);
    if (displacement !== 0) {
      sink.i64(BigInt(displacement));
      sink.plain(Op.I64_ADD);
    }
    sink.i64(BigInt(bits));
    sink.plain(Op.I64_SHR_U);
  };
  shifted(LINE_SHIFT);
  sink.plain(Op.I32_WRAP_I64);
  sink.i32(beyond);
  shifted(32);
  sink.plain(Op.I64_EQZ);
  sink.plain(SELECT);
}
