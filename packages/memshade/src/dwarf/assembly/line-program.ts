// Line programs (DWARF 5, section 6.2.5): what ../line-program.ts runs.
import {
  DW_LNE_end_sequence,
  DW_LNE_set_address,
  DW_LNE_set_discriminator,
  DW_LNE_define_file,
  DW_LNS_advance_line,
  DW_LNS_advance_pc,
  DW_LNS_const_add_pc,
  DW_LNS_copy,
  DW_LNS_fixed_advance_pc,
  DW_LNS_negate_stmt,
  DW_LNS_set_basic_block,
  DW_LNS_set_column,
  DW_LNS_set_epilogue_begin,
  DW_LNS_set_file,
  DW_LNS_set_isa,
  DW_LNS_set_prologue_end,
} from "../constants";
import { enlarged, isUnusual, reserve, setUnusual } from "./memory";
import { at, end, enter, has, moveTo, sleb, uleb, unsignedAt } from "./values";

/** Columns of the rows: f64 addresses; u32 lines, files and discriminators; u16 columns. */
export let lineAddresses: u32 = 0;
export let lineNumbers: u32 = 0;
export let lineFiles: u32 = 0;
export let lineDiscriminators: u32 = 0;
export let lineColumns: u32 = 0;
export let lineCount: u32 = 0;
/** Whether any row has a discriminator. */
export let hasDiscriminators: bool = false;
export let highestFile: u32 = 0;
export let highestAddress: f64 = 0;
/** {u32 first row, u32 last row, u32 where in the program its last address stands, or 0} of sequences. */
export let sequences: u32 = 0;
export let sequenceCount: u32 = 0;
let sequenceRoom: u32 = 0;
const SEQUENCE: u32 = 12;

/** All rows. Numbers of operands by opcode are bytes at `operandCounts`. */
export function runLineProgram(
  program: u32,
  size: u32,
  operandCounts: u32,
  opcodeBase: u32,
  lineBase: i32,
  lineRange: u32,
  step: f64,
): void {
  // A row takes a byte at least.
  lineAddresses = reserve(size * 8);
  lineNumbers = reserve(size * 4);
  lineFiles = reserve(size * 4);
  lineDiscriminators = reserve(size * 4);
  lineColumns = reserve(size * 2);
  sequenceRoom = 64;
  sequences = reserve(sequenceRoom * SEQUENCE);
  sequenceCount = 0;
  lineCount = 0;
  hasDiscriminators = false;
  highestFile = 0;
  highestAddress = 0;
  if (!isUnusual) run<u32>(program, size, operandCounts, opcodeBase, lineBase, lineRange, step);
}

/** The row of one address alone, in columns of one row, and its sequence; none of both where no sequence is around it. */
export function findLine(
  address: f64,
  program: u32,
  size: u32,
  operandCounts: u32,
  opcodeBase: u32,
  lineBase: i32,
  lineRange: u32,
  step: f64,
): void {
  lineAddresses = reserve(8);
  lineNumbers = reserve(4);
  lineFiles = reserve(4);
  lineDiscriminators = reserve(4);
  lineColumns = reserve(2);
  sequences = reserve(SEQUENCE);
  sequenceCount = 0;
  lineCount = 0;
  beginSearch(address);
  if (!isUnusual) run<f64>(program, size, operandCounts, opcodeBase, lineBase, lineRange, step);
}

/** With rows of integers all are kept, else those that are looked for. */
function run<Rows>(
  program: u32,
  size: u32,
  operandCounts: u32,
  opcodeBase: u32,
  lineBase: i32,
  lineRange: u32,
  step: f64,
): void {
  const constantCount: u32 = (255 - opcodeBase) / lineRange;
  const constantAdvance = step * f64(constantCount);
  let sequenceStart: u32 = 0;
  let addressPlace: u32 = 0;
  let row: u32 = 0;
  let address: f64 = 0;
  let file: u32 = 1;
  let line: u32 = 1;
  let column: u32 = 0;
  let discriminator: u32 = 0;
  enter(program, program + size);
  const stop = end;
  while (at < stop) {
    const opcode = <u32>load<u8>(at);
    moveTo(at + 1);
    let isRow = false;
    if (opcode >= opcodeBase) {
      const adjusted = opcode - opcodeBase;
      const count = adjusted / lineRange;
      address += step * f64(count);
      line += lineBase + (adjusted - count * lineRange);
      isRow = true;
    } else {
      switch (opcode) {
        case 0: {
          const length = uleb();
          if (length === 0) break;
          if (!has(length)) return;
          const next = at + length;
          const extended = <u32>load<u8>(at);
          moveTo(at + 1);
          if (extended === DW_LNE_end_sequence) {
            if (isFloat<Rows>()) {
              endSearchedSequence(address, addressPlace);
            } else {
            store<f64>(lineAddresses + row * 8, address);
            store<u32>(lineNumbers + row * 4, line);
            store<u32>(lineFiles + row * 4, file);
            store<u32>(lineDiscriminators + row * 4, discriminator);
            store<u16>(lineColumns + row * 2, column);
            if (address > highestAddress) highestAddress = address;
            if (file > highestFile) highestFile = file;
            if (discriminator !== 0) hasDiscriminators = true;
            endSequence(sequenceStart, row, addressPlace);
            }
            if (isUnusual) return;
            sequenceStart = ++row;
            addressPlace = 0;
            address = 0;
            file = 1;
            line = 1;
            column = 0;
            discriminator = 0;
          } else if (extended === DW_LNE_set_address) {
            const bytes = length - 1;
            if (bytes === 1 || bytes === 2 || bytes === 4 || bytes === 8) {
              addressPlace = at - program;
              address = f64(unsignedAt(at, bytes));
            }
          } else if (extended === DW_LNE_define_file) {
            setUnusual();
            return;
          } else if (extended === DW_LNE_set_discriminator) discriminator = uleb();
          // Whatever an unknown one holds, its length says where the next starts.
          moveTo(next);
          break;
        }
        case DW_LNS_copy:
          isRow = true;
          break;
        case DW_LNS_advance_pc:
          address += step * f64(uleb());
          break;
        case DW_LNS_advance_line:
          line += sleb();
          break;
        case DW_LNS_set_file:
          file = uleb();
          break;
        case DW_LNS_set_column:
          column = uleb();
          break;
        case DW_LNS_negate_stmt:
        case DW_LNS_set_basic_block:
        case DW_LNS_set_prologue_end:
        case DW_LNS_set_epilogue_begin:
          break;
        case DW_LNS_const_add_pc:
          address += constantAdvance;
          break;
        case DW_LNS_fixed_advance_pc:
          address += <f64>load<u16>(at);
          moveTo(at + 2);
          break;
        case DW_LNS_set_isa:
          uleb();
          break;
        default:
          for (let left = <u32>load<u8>(operandCounts + opcode); left > 0 && at <= stop; left--) uleb();
      }
      // Values are checked here once: what was read too far is in the padding.
      if (isUnusual || at > stop) {
        setUnusual();
        return;
      }
    }
    if (!isRow) continue;
    if (isFloat<Rows>()) {
      searchRow(address, line, file, column, discriminator);
      discriminator = 0;
      continue;
    }
    store<f64>(lineAddresses + row * 8, address);
    store<u32>(lineNumbers + row * 4, line);
    store<u32>(lineFiles + row * 4, file);
    store<u32>(lineDiscriminators + row * 4, discriminator);
    store<u16>(lineColumns + row * 2, column);
    row++;
    if (address > highestAddress) highestAddress = address;
    if (file > highestFile) highestFile = file;
    if (discriminator !== 0) {
      hasDiscriminators = true;
      discriminator = 0;
    }
  }
  if (isInteger<Rows>()) lineCount = row;
}

function endSequence(first: u32, last: u32, addressPlace: u32): void {
  if (!(load<f64>(lineAddresses + first * 8) < load<f64>(lineAddresses + last * 8))) return;
  if (sequenceCount === sequenceRoom) {
    sequences = enlarged(sequences, sequenceRoom * SEQUENCE);
    sequenceRoom *= 2;
    if (isUnusual) return;
  }
  const sequence = sequences + sequenceCount++ * SEQUENCE;
  store<u32>(sequence, first);
  store<u32>(sequence, last, 4);
  store<u32>(sequence, addressPlace, 8);
}

let wanted: f64 = 0;
/** The end of the sequence that was found. */
let foundEnd: f64 = 0;
/** Of the present sequence: whether rows have come, whether in order, the first and last address. */
let isBegun: bool = false;
let isOrdered: bool = true;
let firstAddress: f64 = 0;
let lastAddress: f64 = 0;
/** Its last row at or before the address. */
let nearLine: u32 = 0;
let nearFile: u32 = 0;
let nearColumn: u32 = 0;
let nearDiscriminator: u32 = 0;

function beginSearch(address: f64): void {
  wanted = address;
  foundEnd = Infinity;
  isBegun = false;
}

// @ts-ignore: decorators are of AssemblyScript
@inline
function searchRow(address: f64, line: u32, file: u32, column: u32, discriminator: u32): void {
  if (!isBegun) {
    isBegun = isOrdered = true;
    firstAddress = address;
  } else {
    if (address < lastAddress) isOrdered = false;
    if (address > wanted) {
      lastAddress = address;
      return;
    }
  }
  lastAddress = address;
  nearLine = line;
  nearFile = file;
  nearColumn = column;
  nearDiscriminator = discriminator;
}

/** Of the sequences that end behind the address the one that ends first counts, as where all are sorted. */
function endSearchedSequence(end: f64, addressPlace: u32): void {
  const isCandidate = isBegun && firstAddress < end && wanted < end && end < foundEnd;
  isBegun = false;
  if (!isCandidate) return;
  foundEnd = end;
  sequenceCount = 0;
  lineCount = 0;
  if (firstAddress > wanted) return;
  if (!isOrdered) {
    setUnusual();
    return;
  }
  sequenceCount = 1;
  lineCount = 1;
  store<u32>(sequences, 0);
  store<u32>(sequences, 0, 4);
  store<u32>(sequences, addressPlace, 8);
  store<u32>(lineNumbers, nearLine);
  store<u32>(lineFiles, nearFile);
  store<u16>(lineColumns, nearColumn);
  store<u32>(lineDiscriminators, nearDiscriminator);
}
