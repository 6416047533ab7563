import { ET_EXEC } from "../../../../../src/code/objects/elf/constants.ts";
import { writeFrameTable } from "../../../../../src/code/objects/elf/write/frame-table.ts";
import { PF_R, PF_W, PF_X, writeElfImage } from "../../../../../src/code/objects/elf/write/image.ts";
import {
  Assembler,
  CONDITIONS,
  GENERAL,
  type Label,
  place,
  RAX,
  RCX,
  RDI,
  RDX,
  type Register,
  RSI,
  RSP,
  relative,
  VECTOR,
} from "../../../../../src/code/x64/index.ts";
import type { Choices } from "../../../../support/random-module.ts";

const PT_GNU_EH_FRAME = 0x6474e550;
const [CODE, FRAMES, TABLES, DATA] = [0x400000 + 0x1000, 0x600000, 0x680000, 0x700000];
/** Layout of the output: memory that functions reach, then registers and flags. */
const [WORDS, RESULTS, OUTPUT_BYTES] = [DATA, DATA + 0x100, 0x200];
const INPUT = DATA + 0x800;
const FUNCTIONS = 12;
const USABLE = GENERAL.filter((register) => register !== RSP);
const ARITHMETIC = ["add", "adc", "sub", "sbb", "and", "or", "xor", "cmp", "test", "mov", "xchg"];

/** Number of targets of a table jump. */
const WAYS = 4;

/**
 * An executable of random functions. It loads all registers with random values, calls the first function, and prints all
 * registers, flags and memory. Functions call later ones, and follow no convention: any register may hold a result.
 */
export function randomProgram(choices: Choices): Uint8Array {
  const asm = new Assembler();
  const starts = Array.from({ length: FUNCTIONS }, () => asm.label());
  const bounds: [Label, Label][] = [];
  const tables: Label[] = [];
  const main = asm.here();
  writeMain(asm, starts[0]);
  bounds.push([main, asm.here()]);
  starts.forEach((start, i) => {
    asm.align(16);
    asm.bind(start);
    writeFunction(asm, choices, starts.slice(i + 1), tables);
    bounds.push([start, asm.here()]);
  });
  const { bytes, offsetOf } = asm.finish();
  const functions = bounds.map(([from, to]) => ({
    start: offsetOf(from),
    end: offsetOf(to),
    rows: [],
    saved: [],
  }));
  const frames = writeFrameTable(functions, CODE, FRAMES);
  const words = BigUint64Array.of(...tables.map((label) => BigInt(CODE + offsetOf(label))), 0n);
  const data = Uint8Array.from({ length: 0x1000 }, () => choices.below(256));
  return writeElfImage({
    type: ET_EXEC,
    entry: CODE,
    segments: [
      { flags: PF_R | PF_X, address: CODE, bytes },
      { flags: PF_R, address: FRAMES, bytes: frames },
      { flags: PF_R, address: TABLES, bytes: new Uint8Array(words.buffer) },
      { flags: PF_R | PF_W, address: DATA, bytes: data },
      { type: PT_GNU_EH_FRAME, flags: PF_R, address: FRAMES, bytes: frames },
    ],
  });
}

function writeMain(asm: Assembler, first: Label): void {
  for (const [i, register] of USABLE.entries()) asm.put("mov", 8, register, place(undefined, INPUT + 8 * i));
  asm.call(first);
  for (const [i, register] of USABLE.entries())
    asm.put("mov", 8, place(undefined, RESULTS + 8 * i), register);
  ["o", "b", "e", "s", "p"].forEach((flag, i) => {
    asm.put(`set${flag}`, 1, place(undefined, RESULTS + 0x80 + i));
  });
  const system = (number: number, ...values: number[]): void => {
    asm.put("mov", 4, RAX, number);
    for (const [i, value] of values.entries()) asm.put("mov", 4, [RDI, RSI, RDX][i], value);
    asm.put("syscall", 8);
  };
  system(1, 1, WORDS, OUTPUT_BYTES);
  // Exit code 0 if the output was written.
  asm.put("mov", 4, RDI, RAX);
  asm.put("xor", 4, RDI, OUTPUT_BYTES);
  system(60);
  asm.put("ud2", 8);
}

/** A jump through a table of distances or addresses to one of several targets. No register keeps a code address. */
function writeTableJump(asm: Assembler, choices: Choices, tables: Label[]): void {
  const [index, base, target] = distinct(choices, 3);
  const ways = Array.from({ length: WAYS }, () => asm.label());
  const isAbsolute = choices.chance(50);
  asm.put("and", 4, index, WAYS - 1);
  if (isAbsolute) {
    const at = TABLES + 8 * tables.length;
    tables.push(...ways);
    asm.put("jmp", 8, place(undefined, at, index, 8));
  } else {
    asm.put("lea", 8, base, relative(asm.table(ways)));
    asm.put("movsxd", 8, target, place(base, 0, index, 4));
    asm.put("add", 8, target, base);
    asm.put("jmp", 8, target);
  }
  const end = asm.label();
  for (const way of ways) {
    asm.bind(way);
    if (!isAbsolute) asm.put("xor", 4, target, target);
    asm.put(choices.of(ARITHMETIC), 8, choices.of(USABLE), choices.of(USABLE));
    if (choices.chance(50)) asm.jump(end);
  }
  asm.bind(end);
}

function writeAccess(asm: Assembler, choices: Choices): void {
  const [base, index, value] = distinct(choices, 3);
  const vector = choices.of(VECTOR);
  asm.put("mov", 4, base, WORDS);
  switch (choices.below(4)) {
    case 0:
      asm.put("movups", 8, vector, place(base, 8 * choices.below(14)));
      asm.put("movups", 8, place(base, 8 * choices.below(14)), vector);
      break;
    case 1:
      asm.put("and", 4, index, 15);
      asm.put(choices.of(ARITHMETIC), 8, place(base, 0, index, 8), value);
      break;
    case 2:
      asm.put("lock xadd", 8, place(base, 8 * choices.below(16)), value);
      break;
    default:
      asm.put("mov", 4, RDI, WORDS);
      asm.put("mov", 4, RCX, choices.below(16));
      asm.put("rep stosq", 8);
  }
}

function distinct(choices: Choices, count: number): Register[] {
  const all = [...USABLE];
  return Array.from({ length: count }, () => all.splice(choices.below(all.length), 1)[0]);
}

function writeFunction(asm: Assembler, choices: Choices, callees: readonly Label[], tables: Label[]): void {
  const register = (): Register => choices.of(USABLE);
  const word = () => place(undefined, WORDS + 8 * choices.below(16));
  const saved = choices.chance(30) ? [register(), register()] : [];
  for (const one of saved) asm.put("push", 8, one);
  const open: Label[] = [];
  for (let i = 0; i < 25; i++) {
    if (open.length > 0 && choices.chance(30)) asm.bind(open.pop() as Label);
    const size = choices.of([1, 2, 4, 8] as const);
    const wide = choices.of([4, 8] as const);
    const condition = choices.of(CONDITIONS);
    switch (choices.below(12)) {
      case 0:
        asm.put(choices.of(ARITHMETIC), size, word(), register());
        break;
      case 1:
        asm.put("mov", size, register(), word());
        break;
      case 2:
        asm.put(choices.of(["shl", "sar", "rol"]), wide, register(), 1 + choices.below(31));
        break;
      case 3:
        asm.put(choices.chance(50) ? `cmov${condition}` : "bsf", wide, register(), register());
        break;
      case 4:
        asm.put(`set${condition}`, 1, register());
        break;
      case 5:
        open.push(asm.label());
        asm.jump(open[open.length - 1], condition);
        break;
      case 6:
        if (callees.length > 0) asm.call(choices.of(callees));
        break;
      case 7:
        asm.put("lea", 8, register(), place(register(), choices.below(1000), register(), 4));
        break;
      case 8:
        if (choices.chance(30)) writeTableJump(asm, choices, tables);
        break;
      case 9:
        writeAccess(asm, choices);
        break;
      default:
        asm.put(choices.of(ARITHMETIC), size, register(), register());
    }
  }
  for (const label of open.reverse()) asm.bind(label);
  for (const one of saved.reverse()) asm.put("pop", 8, one);
  if (callees.length > 0 && choices.chance(20)) asm.jump(choices.of(callees));
  else asm.put("ret", 8);
}
