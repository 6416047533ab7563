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
import { decline, enlarged, isDeclined, reserve } from "./memory";
import { at, end, enter, has, moveTo, sleb, uleb, unsignedAt } from "./cursor";

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
  if (isDeclined) return;
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
            store<f64>(lineAddresses + row * 8, address);
            store<u32>(lineNumbers + row * 4, line);
            store<u32>(lineFiles + row * 4, file);
            store<u32>(lineDiscriminators + row * 4, discriminator);
            store<u16>(lineColumns + row * 2, column);
            if (address > highestAddress) highestAddress = address;
            if (file > highestFile) highestFile = file;
            if (discriminator !== 0) hasDiscriminators = true;
            endSequence(sequenceStart, row, addressPlace);
            if (isDeclined) return;
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
            decline();
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
      if (isDeclined || at > stop) {
        decline();
        return;
      }
    }
    if (!isRow) continue;
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
  lineCount = row;
}

function endSequence(first: u32, last: u32, addressPlace: u32): void {
  if (!(load<f64>(lineAddresses + first * 8) < load<f64>(lineAddresses + last * 8))) return;
  if (sequenceCount === sequenceRoom) {
    sequences = enlarged(sequences, sequenceRoom * SEQUENCE);
    sequenceRoom *= 2;
    if (isDeclined) return;
  }
  const sequence = sequences + sequenceCount++ * SEQUENCE;
  store<u32>(sequence, first);
  store<u32>(sequence, last, 4);
  store<u32>(sequence, addressPlace, 8);
}
