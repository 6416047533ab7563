import { FormatError } from "../../../ground/bytes/errors.ts";
import * as dw from "../constants.ts";
import { Cursor, readInitialLength, stringAt } from "../cursor.ts";
import { type Encoding, readForm } from "../forms.ts";

/** A file of a line table. */
export interface LineFile {
  readonly name: string;
  readonly directory: number;
}

/** The header of a line program (DWARF 5, section 6.2.4), of versions 2 to 5. */
export interface LineHeader extends Encoding {
  readonly minimumInstructionLength: number;
  readonly operationsPerInstruction: number;
  readonly lineBase: number;
  readonly lineRange: number;
  readonly opcodeBase: number;
  /** Number of LEB128 operands by opcode. */
  readonly operandCounts: readonly number[];
  readonly directories: readonly string[];
  /** In version 5 numbered from 0, before that from 1. The program may add further ones. */
  readonly files: LineFile[];
  readonly programStart: number;
  readonly programEnd: number;
}

export interface LineSections {
  readonly line: Uint8Array;
  /** Texts of `.debug_str` and `.debug_line_str`. */
  readonly stringAt: (offset: number) => string | undefined;
  readonly lineStringAt: (offset: number) => string | undefined;
  /** For paths given by an index. */
  readonly textAtIndex: (index: number) => string | undefined;
}

/** @throws FormatError if the header cannot be read */
export function readLineHeader(sections: LineSections, offset: number, unitAddressSize: number): LineHeader {
  const cursor = new Cursor(sections.line, offset, ".debug_line");
  const { length, dwarf64 } = readInitialLength(cursor);
  // What a truncated file still has of the program is read.
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

/** What stands behind a file's name up to version 4: directory, time of change, size. */
export function readOldFile(cursor: Cursor, name: string): LineFile {
  const directory = cursor.uleb();
  cursor.uleb();
  cursor.uleb();
  return { name, directory };
}

export function readText(cursor: Cursor): string {
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
  // Entries without any bytes would let a small table claim endless ones.
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
