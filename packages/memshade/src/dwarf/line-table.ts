import { Cursor } from "./cursor.ts";
import { type LineHeader, readLineHeader } from "./line-header.ts";
import type { DebugSections } from "./sections.ts";

const Standard = {
  copy: 1,
  advance_pc: 2,
  advance_line: 3,
  set_file: 4,
  set_column: 5,
  negate_stmt: 6,
  set_basic_block: 7,
  const_add_pc: 8,
  fixed_advance_pc: 9,
  set_prologue_end: 10,
  set_epilogue_begin: 11,
  set_isa: 12,
} as const;

const Extended = { end_sequence: 1, set_address: 2, define_file: 3, set_discriminator: 4 } as const;

/** Rows of a line number program. Those of a sequence stand together, with ascending addresses. */
export interface LineRows {
  length: number;
  address: Float64Array;
  file: Uint32Array;
  line: Uint32Array;
  column: Uint16Array;
  discriminator: Uint32Array;
}

/** A contiguous piece of code: rows `[first, last)`, the last of them only marks its end. */
interface Sequence {
  low: number;
  high: number;
  first: number;
  last: number;
}

/** The lines of a unit's addresses. */
export class LineTable {
  readonly header: LineHeader;
  readonly rows: LineRows;
  /** By their end. */
  readonly #sequences: Sequence[];

  constructor(header: LineHeader, rows: LineRows, sequences: Sequence[]) {
    this.header = header;
    this.rows = rows;
    this.#sequences = sequences;
  }

  /** Row of the line that `address` belongs to, −1 if there is none. */
  rowAt(address: number): number {
    let low = 0;
    let high = this.#sequences.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#sequences[middle].high > address) high = middle;
      else low = middle + 1;
    }
    const sequence = this.#sequences[low];
    if (sequence === undefined || address < sequence.low) return -1;
    // The last row whose address is not above; the sequence's first row starts it, its last one ends it.
    let from = sequence.first + 1;
    let to = sequence.last - 1;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (this.rows.address[middle] > address) to = middle;
      else from = middle + 1;
    }
    return from - 1;
  }

  /**
   * Path of file `index` as the rows and call sites count them: absolute where the table or `directory`, the unit's
   * compilation directory, makes it so. Undefined for an index without a file.
   */
  path(index: number, directory: string): string | undefined {
    const { version, files, directories } = this.header;
    const file = files[version >= 5 ? index : index - 1];
    if (file === undefined) return undefined;
    if (isAbsolute(file.name)) return file.name;
    const folder = directories[version >= 5 ? file.directory : file.directory - 1] ?? "";
    const needsBase = (version < 5 || file.directory !== 0) && !isAbsolute(folder);
    return join(needsBase ? directory : "", folder, file.name);
  }
}

/** Absolute as a path of POSIX or of Windows. */
function isAbsolute(path: string): boolean {
  return path.startsWith("/") || /^(?:[a-zA-Z]:)?[\\/]/.test(path);
}

function join(...parts: string[]): string {
  return parts.reduce((path, part) => {
    if (part === "") return path;
    return path === "" || path.endsWith("/") ? path + part : `${path}/${part}`;
  }, "");
}

/** Collects rows; columns double when they are full. */
class RowBuilder {
  readonly rows: LineRows;

  constructor(capacity: number) {
    this.rows = {
      length: 0,
      address: new Float64Array(capacity),
      file: new Uint32Array(capacity),
      line: new Uint32Array(capacity),
      column: new Uint16Array(capacity),
      discriminator: new Uint32Array(capacity),
    };
  }

  add(address: number, file: number, line: number, column: number, discriminator: number): void {
    const { rows } = this;
    const row = rows.length++;
    if (row === rows.address.length) this.#grow();
    rows.address[row] = address;
    rows.file[row] = file;
    rows.line[row] = line;
    rows.column[row] = column;
    rows.discriminator[row] = discriminator;
  }

  #grow(): void {
    const { rows } = this;
    const capacity = rows.address.length * 2;
    rows.address = extended(new Float64Array(capacity), rows.address);
    rows.file = extended(new Uint32Array(capacity), rows.file);
    rows.line = extended(new Uint32Array(capacity), rows.line);
    rows.column = extended(new Uint16Array(capacity), rows.column);
    rows.discriminator = extended(new Uint32Array(capacity), rows.discriminator);
  }
}

function extended<T extends { set(array: T): void }>(wide: T, narrow: T): T {
  wide.set(narrow);
  return wide;
}

/**
 * Runs the line number program at `offset`; rows up to the first damaged opcode.
 *
 * @throws FormatError if its header is damaged
 */
export function readLineTable(sections: DebugSections, offset: number, addressSize: number): LineTable {
  const section = sections.section(".debug_line") ?? new Uint8Array();
  const header = readLineHeader(section, offset, sections, addressSize);
  const builder = new RowBuilder(Math.max(16, (header.end - header.start) >> 2));
  const sequences: Sequence[] = [];
  try {
    run(new Cursor(section, ".debug_line", header.start, header.end), header, builder, sequences);
  } catch {
    // The sequences before the damage are of use.
  }
  // Sorting is stable, so that of sequences with the same end the first one in the program answers.
  sequences.sort((one, other) => one.high - other.high);
  return new LineTable(header, builder.rows, sequences);
}

function run(cursor: Cursor, header: LineHeader, builder: RowBuilder, sequences: Sequence[]): void {
  const { minimumInstructionLength, lineBase, lineRange, opcodeBase, operandCounts } = header;
  const { rows } = builder;
  const constantAdvance =
    lineRange === 0 ? 0 : Math.floor((255 - opcodeBase) / lineRange) * minimumInstructionLength;
  let [address, file, line, column, discriminator] = [0, 1, 1, 0, 0];
  let first = rows.length;
  const reset = (): void => {
    [address, file, line, column, discriminator] = [0, 1, 1, 0, 0];
    first = rows.length;
  };
  while (cursor.pos < cursor.end) {
    const opcode = cursor.bytes[cursor.pos++];
    if (opcode >= opcodeBase) {
      const adjusted = opcode - opcodeBase;
      const operations = lineRange === 0 ? 0 : (adjusted / lineRange) | 0;
      address += operations * minimumInstructionLength;
      line += lineBase + (lineRange === 0 ? 0 : adjusted - operations * lineRange);
      builder.add(address, file, line, column, discriminator);
      discriminator = 0;
      continue;
    }
    switch (opcode) {
      case 0: {
        const length = cursor.uleb();
        const start = cursor.pos;
        if (length === 0) break;
        const kind = cursor.u8();
        switch (kind) {
          case Extended.end_sequence: {
            builder.add(address, file, line, column, discriminator);
            const low = rows.address[first];
            if (low < address && first + 1 < rows.length)
              sequences.push({ low, high: address, first, last: rows.length });
            reset();
            break;
          }
          case Extended.set_address:
            address = [1, 2, 4, 8].includes(length - 1) ? cursor.unsigned(length - 1) : address;
            break;
          case Extended.define_file: {
            const name = cursor.string();
            header.files.push({ name, directory: cursor.uleb() });
            break;
          }
          case Extended.set_discriminator:
            discriminator = cursor.uleb();
            break;
        }
        cursor.pos = start;
        cursor.skip(length);
        break;
      }
      case Standard.copy:
        builder.add(address, file, line, column, discriminator);
        discriminator = 0;
        break;
      case Standard.advance_pc:
        address += cursor.uleb() * minimumInstructionLength;
        break;
      case Standard.advance_line:
        line += cursor.sleb();
        break;
      case Standard.set_file:
        file = cursor.uleb();
        break;
      case Standard.set_column:
        column = cursor.uleb();
        break;
      case Standard.negate_stmt:
      case Standard.set_basic_block:
      case Standard.set_prologue_end:
      case Standard.set_epilogue_begin:
        break;
      case Standard.const_add_pc:
        address += constantAdvance;
        break;
      case Standard.fixed_advance_pc:
        address += cursor.u16();
        break;
      case Standard.set_isa:
        cursor.skipLeb();
        break;
      default:
        for (let i = operandCounts[opcode - 1]; i > 0; i--) cursor.skipLeb();
    }
  }
}
