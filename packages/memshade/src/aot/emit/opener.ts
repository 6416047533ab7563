import { type Assembler, GENERAL, type Label, place, R15, relative, RSP } from "../../x64/index.ts";
import { ARGUMENTS } from "../convention.ts";
import { MEMORY_SLOT, type StackRow, type WrittenFunction } from "./function.ts";

const SAVED_BYTES = 8 * ARGUMENTS.length + 16;

/**
 * What an exported function calls when linear memory is not mapped yet: it keeps the function's arguments, calls the one that maps it,
 * and leaves the address in r15.
 */
export function emitOpener(asm: Assembler, start: Label, opening: Label): WrittenFunction {
  asm.bind(start);
  const rows: StackRow[] = [{ at: asm.here(), cfa: 8 }];
  asm.put("push", 8, GENERAL[RBP_NUMBER]);
  rows.push({ at: asm.here(), cfa: 16, pushed: RBP_NUMBER });
  asm.put("mov", 8, GENERAL[RBP_NUMBER], RSP);
  rows.push({ at: asm.here(), cfa: 16 });
  asm.put("sub", 8, RSP, SAVED_BYTES);
  // The function that calls this may have no frame that is aligned.
  asm.put("and", 8, RSP, -16);
  ARGUMENTS.forEach((register, i) => {
    asm.put("mov", 8, place(RSP, 8 * i), GENERAL[register]);
  });
  asm.call(opening);
  ARGUMENTS.forEach((register, i) => {
    asm.put("mov", 8, GENERAL[register], place(RSP, 8 * i));
  });
  asm.put("mov", 8, R15, relative(MEMORY_SLOT));
  asm.put("mov", 8, RSP, GENERAL[RBP_NUMBER]);
  asm.put("pop", 8, GENERAL[RBP_NUMBER]);
  rows.push({ at: asm.here(), cfa: 8 });
  asm.put("ret", 8);
  return { start, end: asm.here(), rows };
}

const RBP_NUMBER = 5;

