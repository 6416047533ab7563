import { FormatError } from "../../../ground/bytes/errors.ts";
import * as dw from "../constants.ts";
import { Cursor, readInitialLength, stringAt } from "../cursor.ts";
import { type Encoding, readForm } from "../forms.ts";
import { type LineRows, NO_SECTION } from "./line-rows.ts";

export interface LineFile {
  readonly name: string;
  readonly directory: number;
}

/** Header of a line program (DWARF 5, section 6.2.4), of versions 2 to 5. */
export interface LineHeader extends Encoding {
  readonly minimumInstructionLength: number;
  readonly operationsPerInstruction: number;
  readonly lineBase: number;
  readonly lineRange: number;
  readonly opcodeBase: number;
  readonly operandCounts: readonly number[];
  readonly directories: readonly string[];
  /** Numbered from 0 in version 5, from 1 before. The program may add further files. */
  readonly files: LineFile[];
  readonly programStart: number;
  readonly programEnd: number;
}

export interface LineSections {
  readonly line: Uint8Array;
  /** Strings of `.debug_str` and `.debug_line_str`. */
  readonly stringAt: (offset: number) => string | undefined;
  readonly lineStringAt: (offset: number) => string | undefined;
  readonly textAtIndex: (index: number) => string | undefined;
}

/** @throws FormatError if the header cannot be read */
export function readLineHeader(sections: LineSections, offset: number, unitAddressSize: number): LineHeader {
  const cursor = new Cursor(sections.line, offset, ".debug_line");
  const { length, dwarf64 } = readInitialLength(cursor);
  // The rest of a truncated program is still read.
  const programEnd = Math.min(cursor.position + length, sections.line.length);
  const offsetSize = dwarf64 ? 8 : 4;
  const version = cursor.u16();
  if (version < 2 || version > 5)
    throw new FormatError(
      "unsupported-version",
      offset,
      "line table",
      `version ${version} (2 to 5 are known)`,
    );
  let addressSize = unitAddressSize;
  if (version >= 5) {
    addressSize = cursor.u8();
    cursor.skip(1);
  }
  const headerLength = cursor.unsigned(offsetSize);
  const programStart = cursor.position + headerLength;
  const minimumInstructionLength = cursor.u8();
  const operationsPerInstruction = version >= 4 ? cursor.u8() : 1;
  cursor.skip(1);
  const lineBase = (cursor.u8() << 24) >> 24;
  const lineRange = cursor.u8();
  const opcodeBase = cursor.u8();
  const operandCounts = [0];
  for (let opcode = 1; opcode < opcodeBase; opcode++) operandCounts.push(cursor.u8());
  const encoding = { version, offsetSize, addressSize } as const;
  const { directories, files } =
    version >= 5 ? readTables(cursor, sections, encoding) : readOldTables(cursor);
  if (programStart > programEnd)
    throw new FormatError("truncated", offset, "line table", "its header is longer than the table");
  return {
    ...encoding,
    minimumInstructionLength,
    operationsPerInstruction,
    lineBase,
    lineRange,
    opcodeBase,
    operandCounts,
    directories,
    files,
    programStart,
    programEnd,
  };
}

function readOldTables(cursor: Cursor): { directories: string[]; files: LineFile[] } {
  const directories: string[] = [];
  const files: LineFile[] = [];
  for (let text = readText(cursor); text !== ""; text = readText(cursor)) directories.push(text);
  for (let name = readText(cursor); name !== ""; name = readText(cursor))
    files.push(readOldFile(cursor, name));
  return { directories, files };
}

/** Fields after a file's name up to version 4: directory, time of change, size. */
function readOldFile(cursor: Cursor, name: string): LineFile {
  const directory = cursor.uleb();
  cursor.uleb();
  cursor.uleb();
  return { name, directory };
}

function readText(cursor: Cursor): string {
  return stringAt(cursor.bytes, cursor.skipString()) ?? "";
}

function readTables(cursor: Cursor, sections: LineSections, encoding: Encoding) {
  const directories = readEntries(cursor, sections, encoding).map(({ name }) => name);
  const files = readEntries(cursor, sections, encoding);
  return { directories, files };
}

function readEntries(cursor: Cursor, sections: LineSections, encoding: Encoding): LineFile[] {
  const formats = Array.from({ length: cursor.u8() }, () => ({
    content: cursor.uleb(),
    form: cursor.uleb(),
  }));
  const count = cursor.uleb();
  const entries: LineFile[] = [];
  // Entries of zero bytes would let a small table claim any number of files.
  if (formats.length === 0 && count > 0) return entries;
  for (let i = 0; i < count; i++) {
    const start = cursor.position;
    let name = "";
    let directory = 0;
    for (const { content, form } of formats) {
      const { value } = readForm(cursor, form, 0, encoding);
      if (content === dw.DW_LNCT_path) name = pathOf(form, value, sections) ?? "";
      else if (content === dw.DW_LNCT_directory_index) directory = value;
    }
    if (cursor.position === start) break;
    entries.push({ name, directory });
  }
  return entries;
}

function pathOf(form: number, value: number, sections: LineSections): string | undefined {
  switch (form) {
    case dw.DW_FORM_string:
      return stringAt(sections.line, value);
    case dw.DW_FORM_line_strp:
      return sections.lineStringAt(value);
    case dw.DW_FORM_strp:
      return sections.stringAt(value);
    default:
      return sections.textAtIndex(value);
  }
}

/**
 * Runs a line program (DWARF 5, section 6.2.5) and adds its rows. Damage ends the program; the rows before it stay.
 *
 * @param sectionAt returns the section of an address stored at an offset of the program
 * @throws FormatError if operands end too early; the header has been checked before
 */
export function runLineProgram(
  line: Uint8Array,
  header: LineHeader,
  rows: LineRows,
  sectionAt: (offset: number) => number | undefined,
): void {
  const { lineBase, opcodeBase, operandCounts, programStart, programEnd } = header;
  const { minimumInstructionLength: step, operationsPerInstruction: operations } = header;
  // A range of zero is malformed; every line then stays as it is.
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
        // The length of an unknown opcode gives the start of the next one.
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
