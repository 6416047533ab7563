import { DW_CFA, DW_EH_PE } from "../../../../code/unwind/index.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import type { NewText } from "../emit.ts";
import { walkStack } from "../insertion/stack-walk.ts";
import { writeAdvance } from "./frame-rows.ts";

/** By the numbers of DWARF. */
const [RSP, RETURN_ADDRESS] = [7, 16];
/** What stands above a routine's stack pointer as it begins. */
const RETURN_BYTES = 8;

/** The CIE of routines: version, augmentation, units of 1 and -8 bytes, and the CFA as it is behind a call. */
const content = [
  0,
  0,
  0,
  0,
  1,
  0x7a,
  0x52,
  0,
  1,
  0x78,
  RETURN_ADDRESS,
  1,
  DW_EH_PE.pcrel | DW_EH_PE.sdata4,
  DW_CFA.def_cfa,
  RSP,
  RETURN_BYTES,
  DW_CFA.offset | RETURN_ADDRESS,
  1,
  0,
  0,
];
export const ROUTINE_CIE: Uint8Array = Uint8Array.from([content.length, 0, 0, 0, ...content]);

/** Call frame information of a routine that insertions call: places in the new text, and instructions. */
export interface RoutineFrame {
  start: number;
  end: number;
  instructions: Uint8Array;
}

/** Those of the tool's common code: each ends with its first `ret`. */
export function routineFrames({ common, commonAt, shifts }: NewText): RoutineFrame[] {
  return [...shifts.routines].map((routine) => {
    const out = new ByteWriter();
    let at = routine;
    let shown = 0;
    walkStack(common, [routine, common.length], (place, shift) => {
      if (shift !== shown) {
        writeAdvance(out, place - at);
        out.u8(DW_CFA.def_cfa_offset).u32Leb(RETURN_BYTES + shift);
        shown = shift;
      }
      at = place;
    });
    return { start: commonAt + routine, end: commonAt + at, instructions: out.view() };
  });
}
