import * as dw from "../constants.ts";
import { Cursor } from "../cursor.ts";
import { type LineHeader, readOldFile, readText } from "./line-header.ts";
import { type LineRows, NO_SECTION } from "./line-rows.ts";

/**
 * Runs a line program (DWARF 5, section 6.2.5) and adds its rows. Damage ends the program; the rows up to there stay.
 *
 * @param sectionAt tells the section of an address that stands at an offset of the program
 * @throws FormatError never for what the header has checked; for operands that end too early
 */
export function runLineProgram(
  line: Uint8Array,
  header: LineHeader,
  rows: LineRows,
  sectionAt: (offset: number) => number | undefined,
): void {
  const { lineBase, opcodeBase, operandCounts, programStart, programEnd } = header;
  const { minimumInstructionLength: step, operationsPerInstruction: operations } = header;
  // A range of zero is malformed; every line then stays what it is.
  const lineRange = header.lineRange === 0 ? 256 : header.lineRange;
  const cursor = new Cursor(line, programStart, ".debug_line", programEnd);
  const constantAdvance = Math.trunc((255 - opcodeBase) / lineRange);
  let address = 0;
  let operation = 0;
  let file = 1;
  let lineNumber = 1;
  let column = 0;
  let discriminator = 0;

  const advance = (count: number): void => {
    if (operations <= 1) {
      address += step * count;
      return;
    }
    address += step * Math.trunc((operation + count) / operations);
    operation = (operation + count) % operations;
  };

  while (cursor.position < programEnd) {
    const opcode = line[cursor.position++];
    if (opcode >= opcodeBase) {
      const adjusted = opcode - opcodeBase;
      const count = (adjusted / lineRange) | 0;
      if (operations <= 1) address += step * count;
      else advance(count);
      lineNumber = (lineNumber + lineBase + (adjusted - count * lineRange)) >>> 0;
      rows.add(address, file, lineNumber, column, discriminator);
      discriminator = 0;
      continue;
    }
    switch (opcode) {
      case 0: {
        const length = cursor.uleb();
        const start = cursor.position;
        if (length === 0) break;
        const extended = cursor.u8();
        if (extended === dw.DW_LNE_end_sequence) {
          rows.add(address, file, lineNumber, column, discriminator);
          rows.endSequence();
          rows.section = NO_SECTION;
          address = 0;
          operation = 0;
          file = 1;
          lineNumber = 1;
          column = 0;
          discriminator = 0;
        } else if (extended === dw.DW_LNE_set_address) {
          const size = length - 1;
          if (size === 1 || size === 2 || size === 4 || size === 8) {
            rows.section = sectionAt(cursor.position) ?? NO_SECTION;
            address = cursor.unsigned(size);
          }
          operation = 0;
        } else if (extended === dw.DW_LNE_define_file) {
          header.files.push(readOldFile(cursor, readText(cursor)));
        } else if (extended === dw.DW_LNE_set_discriminator) discriminator = cursor.uleb();
        // Whatever an unknown one holds, its length says where the next starts.
        cursor.position = start;
        cursor.skip(length);
        break;
      }
      case dw.DW_LNS_copy:
        rows.add(address, file, lineNumber, column, discriminator);
        discriminator = 0;
        break;
      case dw.DW_LNS_advance_pc:
        advance(cursor.uleb());
        break;
      case dw.DW_LNS_advance_line:
        lineNumber = (lineNumber + cursor.sleb()) >>> 0;
        break;
      case dw.DW_LNS_set_file:
        file = cursor.uleb();
        break;
      case dw.DW_LNS_set_column:
        column = cursor.uleb();
        break;
      case dw.DW_LNS_negate_stmt:
      case dw.DW_LNS_set_basic_block:
      case dw.DW_LNS_set_prologue_end:
      case dw.DW_LNS_set_epilogue_begin:
        break;
      case dw.DW_LNS_const_add_pc:
        advance(constantAdvance);
        break;
      case dw.DW_LNS_fixed_advance_pc:
        address += cursor.u16();
        operation = 0;
        break;
      case dw.DW_LNS_set_isa:
        cursor.uleb();
        break;
      default:
        for (let i = 0; i < operandCounts[opcode]; i++) cursor.uleb();
    }
  }
}
