import { Form } from "./constants.ts";
import { Cursor, stringAt } from "./cursor.ts";
import type { DebugSections } from "./sections.ts";

/** A file of a line number program. */
export interface LineFile {
  readonly name: string;
  /** Index of its directory; how it counts depends on the version. */
  readonly directory: number;
}

/** The header of a line number program: what its opcodes mean, and its files. */
export interface LineHeader {
  readonly version: number;
  readonly offsetSize: 4 | 8;
  readonly minimumInstructionLength: number;
  readonly maximumOperations: number;
  readonly defaultIsStatement: boolean;
  readonly lineBase: number;
  readonly lineRange: number;
  readonly opcodeBase: number;
  /** Numbers of operands of the standard opcodes, from opcode 1. */
  readonly operandCounts: Uint8Array;
  readonly directories: readonly string[];
  readonly files: LineFile[];
  /** First opcode, and the end of the program. */
  readonly start: number;
  readonly end: number;
}

const Content = { path: 1, directory_index: 2 } as const;

/** @throws FormatError if the header is damaged */
export function readLineHeader(
  section: Uint8Array,
  offset: number,
  sections: DebugSections,
  addressSize: number,
): LineHeader {
  const cursor = new Cursor(section, ".debug_line", offset);
  const { length, offsetSize } = cursor.initialLength();
  const end = Math.min(cursor.pos + length, section.length);
  const version = cursor.u16();
  if (version < 2 || version > 5) cursor.fail(`version ${version}`);
  if (version >= 5) cursor.skip(2);
  const headerLength = cursor.unsigned(offsetSize);
  const start = Math.min(cursor.pos + headerLength, end);
  const minimumInstructionLength = cursor.u8();
  const maximumOperations = version >= 4 ? cursor.u8() : 1;
  const defaultIsStatement = cursor.u8() !== 0;
  const lineBase = (cursor.u8() << 24) >> 24;
  const lineRange = cursor.u8();
  const opcodeBase = cursor.u8();
  const operandCounts = section.slice(cursor.pos, cursor.pos + Math.max(opcodeBase - 1, 0));
  cursor.skip(Math.max(opcodeBase - 1, 0));
  const directories: string[] = [];
  const files: LineFile[] = [];
  cursor.end = Math.max(start, cursor.pos);
  try {
    if (version >= 5) {
      readEntries(cursor, sections, offsetSize, addressSize, (path) => void directories.push(path));
      readEntries(
        cursor,
        sections,
        offsetSize,
        addressSize,
        (name, directory) => void files.push({ name, directory }),
      );
    } else {
      for (let name = cursor.string(); name !== ""; name = cursor.string()) directories.push(name);
      for (let name = cursor.string(); name !== ""; name = cursor.string()) {
        files.push({ name, directory: cursor.uleb() });
        cursor.skipLeb();
        cursor.skipLeb();
      }
    }
  } catch {
    // Rows are of use without some of the names.
  }
  return {
    ...{
      version,
      offsetSize,
      minimumInstructionLength,
      maximumOperations,
      defaultIsStatement,
      lineBase,
      lineRange,
    },
    ...{ opcodeBase, operandCounts, directories, files, start, end },
  };
}

/** A table of version 5: the formats of its columns, then its rows. */
function readEntries(
  cursor: Cursor,
  sections: DebugSections,
  offsetSize: 4 | 8,
  addressSize: number,
  add: (path: string, directory: number) => void,
): void {
  const formats: [content: number, form: number][] = [];
  for (let i = cursor.u8(); i > 0; i--) formats.push([cursor.uleb(), cursor.uleb()]);
  const count = cursor.uleb();
  if (formats.length === 0) return;
  for (let row = 0; row < count; row++) {
    let path = "";
    let directory = 0;
    for (const [content, form] of formats) {
      if (content === Content.path) path = readPath(cursor, form, sections, offsetSize);
      else if (content === Content.directory_index) directory = readNumber(cursor, form);
      else skipContent(cursor, form, offsetSize, addressSize);
    }
    add(path, directory);
  }
}

function readPath(cursor: Cursor, form: number, sections: DebugSections, offsetSize: 4 | 8): string {
  switch (form) {
    case Form.string:
      return cursor.string();
    case Form.line_strp:
      return stringAt(sections.section(".debug_line_str"), cursor.unsigned(offsetSize)) ?? "";
    case Form.strp:
      return stringAt(sections.section(".debug_str"), cursor.unsigned(offsetSize)) ?? "";
    case Form.strx:
      return indexed(cursor.uleb());
    case Form.strx1:
      return indexed(cursor.u8());
    case Form.strx2:
      return indexed(cursor.u16());
    case Form.strx3:
      return indexed(cursor.u24());
    case Form.strx4:
      return indexed(cursor.u32());
    default:
      return cursor.fail(`a path of form 0x${form.toString(16)}`);
  }
  // A split unit's line table has its names behind the first header of the offsets' section.
  function indexed(index: number): string {
    const offsets = sections.section(".debug_str_offsets");
    const at = 2 * offsetSize + index * offsetSize;
    if (offsets === undefined || at + offsetSize > offsets.length) return "";
    const offset = new Cursor(offsets, ".debug_str_offsets", at).unsigned(offsetSize);
    return stringAt(sections.section(".debug_str"), offset) ?? "";
  }
}

function readNumber(cursor: Cursor, form: number): number {
  switch (form) {
    case Form.data1:
      return cursor.u8();
    case Form.data2:
      return cursor.u16();
    case Form.data4:
      return cursor.u32();
    case Form.udata:
      return cursor.uleb();
    default:
      return cursor.fail(`an index of form 0x${form.toString(16)}`);
  }
}

function skipContent(cursor: Cursor, form: number, offsetSize: 4 | 8, addressSize: number): void {
  switch (form) {
    case Form.data16:
      cursor.skip(16);
      return;
    case Form.block:
      cursor.skip(cursor.uleb());
      return;
    case Form.block1:
      cursor.skip(cursor.u8());
      return;
    case Form.string:
      cursor.skipString();
      return;
    case Form.udata:
    case Form.sdata:
    case Form.strx:
      cursor.skipLeb();
      return;
    case Form.strp:
    case Form.line_strp:
    case Form.sec_offset:
      cursor.skip(offsetSize);
      return;
    case Form.addr:
      cursor.skip(addressSize);
      return;
    case Form.data1:
    case Form.flag:
    case Form.strx1:
      cursor.skip(1);
      return;
    case Form.data2:
    case Form.strx2:
      cursor.skip(2);
      return;
    case Form.strx3:
      cursor.skip(3);
      return;
    case Form.data4:
    case Form.strx4:
      cursor.skip(4);
      return;
    case Form.data8:
      cursor.skip(8);
      return;
    default:
      cursor.fail(`unknown form 0x${form.toString(16)}`);
      return;
  }
}
