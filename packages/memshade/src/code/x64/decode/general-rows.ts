import { CONDITIONS } from "../forms.ts";
import { GENERAL_NAMES } from "../registers.ts";
import { FLOW, IMPLICIT, type Row, SIZES } from "./rows.ts";
import { VECTOR_ROWS } from "./vector-rows.ts";

const hex = (value: number) => value.toString(16).padStart(2, "0");

const CONDITION_READS: Readonly<Record<string, string>> = {
  b: "carry?",
  ae: "carry?",
  be: "flags?",
  a: "flags?",
};

const ARITHMETIC = ["add", "or", "adc", "sbb", "and", "sub", "xor", "cmp"].map((name) => ({
  flags: name === "adc" || name === "sbb" ? "carry? flags=" : "flags=",
  role: name === "cmp" ? "" : "+",
}));

/** Stack and general purpose instructions with opcodes of one byte, and of two with 0F. */
const GENERAL_ROWS: readonly Row[] = [
  ...ARITHMETIC.flatMap(({ flags, role }, i): Row[] => [
    ["L", hex(8 * i), `Eb${role} Gb ${flags}`],
    ["L", hex(8 * i + 1), `Ev${role} Gv ${flags}`],
    ["L", hex(8 * i + 2), `Gb${role} Eb ${flags}`],
    ["L", hex(8 * i + 3), `Gv${role} Ev ${flags}`],
    ["L", hex(8 * i + 4), `Ab${role} Ib ${flags}`],
    ["L", hex(8 * i + 5), `Av${role} Iz ${flags}`],
    ["L", `80 /${i}`, `Eb${role} Ib ${flags}`],
    ["L", `81 /${i}`, `Ev${role} Iz ${flags}`],
    ["L", `83 /${i}`, `Ev${role} Ib ${flags}`],
  ]),
  ...CONDITIONS.flatMap((condition, i): Row[] => {
    const reads = CONDITION_READS[condition] ?? "rest?";
    return [
      ["L", hex(0x70 + i), `Jb @branch ${reads}`],
      ["L", `0f ${hex(0x80 + i)}`, `Jz @branch ${reads}`],
      ["L", `0f ${hex(0x90 + i)}`, `Eb= ${reads}`],
      ["L", `0f ${hex(0x40 + i)}`, `Gv+ Ev ${reads}`],
    ];
  }),
  // A count of 0 leaves the flags unchanged.
  ...["flags~", "flags~", "carry? flags~", "carry? flags~", "flags~", "flags~", "flags~", "flags~"].flatMap(
    (flags, i): Row[] => [
      ["L", `c0 /${i}`, `Eb+ Ib ${flags}`],
      ["L", `c1 /${i}`, `Ev+ Ib ${flags}`],
      ["L", `d0 /${i}`, `Eb+ ${flags}`],
      ["L", `d1 /${i}`, `Ev+ ${flags}`],
      ["L", `d2 /${i}`, `Eb+ rcx? ${flags}`],
      ["L", `d3 /${i}`, `Ev+ rcx? ${flags}`],
    ],
  ),
  ["L", "50-57", "Zq @push"],
  ["L", "58-5f", "Zq= @pop"],
  ["L", "63", "Gv= Ed"],
  ["L", "68", "Iz @push"],
  ["L", "69", "Gv= Ev Iz flags="],
  ["L", "6a", "Ib @push"],
  ["L", "6b", "Gv= Ev Ib flags="],
  ["L", "6c-6d", "rdx? rdi? rdi~ @ports"],
  ["L", "6e-6f", "rdx? rsi? rsi~ @ports"],
  ["L", "84", "Eb Gb flags="],
  ["L", "85", "Ev Gv flags="],
  ["L", "86", "Eb+ Gb+"],
  ["L", "87", "Ev+ Gv+"],
  ["L", "88", "Eb= Gb"],
  ["L", "89", "Ev= Gv"],
  ["L", "8a", "Gb= Eb"],
  ["L", "8b", "Gv= Ev"],
  ["L", "8c r", "Ev="],
  ["L", "8c m", "Ew="],
  ["L", "8d", "Gv= Mn!"],
  ["L", "8e", "Ew"],
  ["L", "8f /0", "Eq= @pop"],
  ["L", "90", ""],
  ["L", "91-97", "Zv+ Av+"],
  ["L", "98", "Av+"],
  ["L", "99", "rax? rdx="],
  ["L", "9b", ""],
  ["L", "9c", "flags? @push"],
  ["L", "9d", "flags= @pop"],
  ["L", "9e", "rax? carry= rest~"],
  ["L", "9f", "flags? rax~"],
  ["L", "a0", "Ab= Ob"],
  ["L", "a1", "Av= Ov"],
  ["L", "a2", "Ob= Ab"],
  ["L", "a3", "Ov= Av"],
  ["L", "a4-a5", "rsi? rdi? rsi~ rdi~ @movs"],
  ["L", "a6-a7", "rsi? rdi? rsi~ rdi~ flags~ @cmps"],
  ["L", "a8", "Ab Ib flags="],
  ["L", "a9", "Av Iz flags="],
  ["L", "aa-ab", "rax? rdi? rdi~ @stos"],
  ["L", "ac-ad", "rsi? rsi~ rax~ @lods"],
  ["L", "ae-af", "rax? rdi? rdi~ flags~ @scas"],
  ["L", "b0-b7", "Zb= Ib"],
  ["L", "b8-bf", "Zv= Iv"],
  ["L", "c2", "Iw @return"],
  ["L", "c3", "@return"],
  ["L", "c6 /0", "Eb= Ib"],
  ["L", "c6 /7 r", "En Ib all? rax~"],
  ["L", "c7 /0", "Ev= Iz"],
  ["L", "c7 /7 r", "En Jz all? rax~ @branch"],
  ["L", "c8", "Iw Ib rbp? rbp= rsp? rsp="],
  ["L", "c9", "rbp? rbp= rsp= @pop"],
  ["L", "ca", "Iw @return"],
  ["L", "cb", "@return"],
  ["L", "cc", "@trap"],
  ["L", "cd", "Ib all? rax~"],
  ["L", "cf", "@return"],
  ["L", "d7", "rax? rbx? rax~ @xlat"],
  ["L", "e0-e1", "Jb rest? rcx? rcx= @branch"],
  ["L", "e2", "Jb rcx? rcx= @branch"],
  ["L", "e3", "Jb rcx? @branch"],
  ["L", "e4-e5", "Ib rax~"],
  ["L", "e6-e7", "Ib rax?"],
  ["L", "e8", "Jz @call"],
  ["L", "e9", "Jz @jump"],
  ["L", "eb", "Jb @jump"],
  ["L", "ec-ed", "rdx? rax~"],
  ["L", "ee-ef", "rdx? rax?"],
  ["L", "f1", "@trap"],
  ["L", "f4", "@trap"],
  ["L", "f5", "carry? carry="],
  ["L", "f6 /0", "Eb Ib flags="],
  ["L", "f6 /1", "Eb Ib flags="],
  ["L", "f6 /2", "Eb+"],
  ["L", "f6 /3", "Eb+ flags="],
  ["L", "f6 /4", "Eb rax? rax~ flags="],
  ["L", "f6 /5", "Eb rax? rax~ flags="],
  ["L", "f6 /6", "Eb rax? rax~ flags~"],
  ["L", "f6 /7", "Eb rax? rax~ flags~"],
  ["L", "f7 /0", "Ev Iz flags="],
  ["L", "f7 /1", "Ev Iz flags="],
  ["L", "f7 /2", "Ev+"],
  ["L", "f7 /3", "Ev+ flags="],
  ["L", "f7 /4", "Ev rax? rax= rdx= flags="],
  ["L", "f7 /5", "Ev rax? rax= rdx= flags="],
  ["L", "f7 /6", "Ev rax? rdx? rax= rdx= flags~"],
  ["L", "f7 /7", "Ev rax? rdx? rax= rdx= flags~"],
  ["L", "f8-f9", "carry="],
  ["L", "fa-fb", ""],
  ["L", "fc-fd", ""],
  ["L", "fe /0", "Eb+ rest="],
  ["L", "fe /1", "Eb+ rest="],
  ["L", "ff /0", "Ev+ rest="],
  ["L", "ff /1", "Ev+ rest="],
  ["L", "ff /2", "Eq @indirectCall"],
  ["L", "ff /3 m", "Ep all? @indirectCall"],
  ["L", "ff /4", "Eq @indirectJump"],
  ["L", "ff /5 m", "Ep all? @indirectJump"],
  ["L", "ff /6", "Eq @push"],

  ["L", "0f 00 /0", "Ew="],
  ["L", "0f 00 /1", "Ew="],
  ["L", "0f 00 /2", "Ew"],
  ["L", "0f 00 /3", "Ew"],
  ["L", "0f 00 /4", "Ew flags~"],
  ["L", "0f 00 /5", "Ew flags~"],
  ["L", "0f 01 /0 m", "Mn="],
  ["L", "0f 01 /1 m", "Mn="],
  ["L", "0f 01 /2 m", "Mn"],
  ["L", "0f 01 /3 m", "Mn"],
  ["L", "0f 01 /4", "Ew="],
  ["L", "0f 01 /6", "Ew"],
  ["L", "0f 01 /7 m", "Mb!"],
  // Instructions distinguished by the last three bits: xgetbv, xend, xtest; rdpkru; rdtscp and more.
  ["L", "0f 01 /0 r", "En all?"],
  ["L", "0f 01 /1 r", "En all?"],
  ["L", "0f 01 /2 r", "En rax? rcx? rdx? rax~ rdx~ flags~"],
  ["L", "0f 01 /3 r", "En all?"],
  ["L", "0f 01 /5 r", "En rax? rcx? rdx? rax~ rdx~ flags~"],
  ["L", "0f 01 /7 r", "En all? rax~ rcx~ rdx~"],
  ["L", "0f 02-03", "Gv+ Ew flags~"],
  ["L", "0f 05", "rax? rdi? rsi? rdx? r10? r8? r9? rax= rcx= r11= @systemCall"],
  ["L", "0f 06", ""],
  ["L", "0f 07", "@trap"],
  ["L", "0f 08-09", ""],
  ["L", "0f 0b", "@trap"],
  ["L", "0f 0d m", "Mb!"],
  ["L", "0f 18 m", "Mb!"],
  ["L", "0f 18 r", "Ev!"],
  ["L", "0f 19-1f", "Ev!"],
  ["L", "f3 0f 1e /1 r", "Ey+"],
  ["L", "0f 30-31", "rax~ rdx~ rcx? rax? rdx?"],
  ["L", "0f 31", "rax= rdx="],
  ["L", "0f 32-33", "rcx? rax= rdx="],
  ["L", "0f 34-35", "all? @trap"],
  ["L", "0f a0", "@push"],
  ["L", "0f a1", "@pop"],
  ["L", "0f a2", "rax? rcx? rax= rbx= rcx= rdx="],
  // A place with a register is a bit string, so the accessed place may be further away.
  ["L", "0f a3", "Ev Gv carry= rest~"],
  ["L", "0f a4", "Ev+ Gv Ib flags~"],
  ["L", "0f a5", "Ev+ Gv rcx? flags~"],
  // VIA's hashes, ciphers and random numbers
  ["L", "0f a6 /0 r", "En rax? rcx? rsi? rdi? rax~ rcx~ rsi~ rdx~"],
  ["L", "0f a6 /1 r", "En rax? rcx? rsi? rdi? rax~ rcx~ rsi~"],
  ["L", "0f a6 /2 r", "En rax? rcx? rsi? rdi? rax~ rcx~ rsi~"],
  ...[0, 1, 2, 3, 4, 5].map((digit): Row => ["L", `0f a7 /${digit} r`, "En all? rax~ rcx~ rdx~ rsi~ rdi~"]),
  ["L", "0f a8", "@push"],
  ["L", "0f a9", "@pop"],
  ["L", "0f aa", "@trap"],
  ["L", "0f ab", "Ev+ Gv carry= rest~"],
  ["L", "0f ac", "Ev+ Gv Ib flags~"],
  ["L", "0f ad", "Ev+ Gv rcx? flags~"],
  ["L", "0f ae /0 m", "Mn="],
  ["L", "0f ae /1 m", "Mn"],
  ["LV", "0f ae /2 m", "Md"],
  ["LV", "0f ae /3 m", "Md="],
  ["L", "0f ae /4 m", "Mn= rax? rdx?"],
  ["L", "0f ae /5 m", "Mn rax? rdx?"],
  ["L", "0f ae /6 m", "Mn= rax? rdx? | Mb! | Mq+ | -"],
  ["L", "0f ae /7 m", "Mb!"],
  ["L", "0f ae /0 r", "- | - | Ey= | -"],
  ["L", "0f ae /1 r", "- | - | Ey= | -"],
  ["L", "0f ae /2 r", "- | - | Ey | -"],
  ["L", "0f ae /3 r", "- | - | Ey | -"],
  ["L", "0f ae /5 r", "En | En | Ey | -"],
  ["L", "0f ae /6 r", "En | Ed rax? rdx? flags~ | Eq | Ed rax? rdx? flags~"],
  ["L", "0f ae /7 r", "En"],
  ["L", "0f af", "Gv+ Ev flags="],
  ["L", "0f b0", "Eb+ Gb rax? rax~ flags="],
  ["L", "0f b1", "Ev+ Gv rax? rax~ flags="],
  ["L", "0f b2", "Gv= Mp"],
  ["L", "0f b3", "Ev+ Gv carry= rest~"],
  ["L", "0f b4-b5", "Gv= Mp"],
  ["L", "0f b6", "Gv= Eb"],
  ["L", "0f b7", "Gv= Ew"],
  ["L", "f3 0f b8", "Gv= Ev flags="],
  ["L", "0f b9", "Gv Ev @trap"],
  ["L", "0f ba /4", "Ev Ib carry= rest~"],
  ["L", "0f ba /5", "Ev+ Ib carry= rest~"],
  ["L", "0f ba /6", "Ev+ Ib carry= rest~"],
  ["L", "0f ba /7", "Ev+ Ib carry= rest~"],
  ["L", "0f bb", "Ev+ Gv carry= rest~"],
  // bsf and bsr leave their result unchanged if the operand has no bit set.
  ["L", "0f bc-bd", "Gv+ Ev flags="],
  ["L", "f3 0f bc-bd", "Gv= Ev flags="],
  ["L", "0f be", "Gv= Eb"],
  ["L", "0f bf", "Gv= Ew"],
  ["L", "0f c0", "Eb+ Gb+ flags="],
  ["L", "0f c1", "Ev+ Gv+ flags="],
  ["L", "0f c3", "My= Gy"],
  ["L", "0f c7 /1 m", "Mc+ rax? rbx? rcx? rdx? rax~ rdx~ rest~"],
  ["L", "0f c7 /3 m", "Mn rax? rdx?"],
  ["L", "0f c7 /4 m", "Mn= rax? rdx?"],
  ["L", "0f c7 /5 m", "Mn= rax? rdx?"],
  ["L", "0f c7 /6 r", "Ev= flags="],
  ["L", "0f c7 /7 r", "Ev= flags= | Ev= flags= | Eq= | -"],
  ["L", "0f c8-cf", "Zy+"],
  ["L", "0f ff", "Gd Ed @trap"],
  ["L", "0f 38 f0", "Gv= Mv | Gv= Mv | - | Gy+ Eb"],
  ["L", "0f 38 f1", "Mv= Gv | Mv= Gv | - | Gy+ Ev"],
  ["L", "0f 38 f6", "My= Gy | Gy+ Ey carry? carry= | Gy+ Ey rest? rest~ | -"],
  ["L", "0f 38 f8", "- | Gy Mn= | - | -"],
  ["L", "0f 38 f9", "My= Gy | - | - | -"],

  ["V", "0f 38 f2", "Gy= By Ey flags= | - | - | -"],
  ["V", "0f 38 f3 /1", "By= Ey flags= | - | - | -"],
  ["V", "0f 38 f3 /2", "By= Ey flags= | - | - | -"],
  ["V", "0f 38 f3 /3", "By= Ey flags= | - | - | -"],
  ["V", "0f 38 f5", "Gy= Ey By flags= | - | Gy= By Ey | Gy= By Ey"],
  ["V", "0f 38 f6", "- | - | - | Gy= By= Ey rdx?"],
  ["V", "0f 38 f7", "Gy= Ey By flags= | Gy= Ey By | Gy= Ey By | Gy= Ey By"],
  ["V", "0f 3a f0", "- | - | - | Gy= Ey Ib"],
];

/** x87 instructions: with a place by digit, with registers by opcode. */
const X87_ROWS: readonly Row[] = [
  ...["d8", "da", "dc", "de"].flatMap((opcode, i) =>
    [0, 1, 2, 3, 4, 5, 6, 7].map((digit): Row => ["L", `${opcode} /${digit} m`, `M${"ddqw"[i]}`]),
  ),
  ...["Md", "", "Md=", "Md=", "Mn", "Mw", "Mn=", "Mw="].map((does, i): Row => x87("d9", i, does)),
  ...["Md", "Md=", "Md=", "Md=", "", "Mt", "", "Mt="].map((does, i): Row => x87("db", i, does)),
  ...["Mq", "Mq=", "Mq=", "Mq=", "Mn", "", "Mn=", "Mw="].map((does, i): Row => x87("dd", i, does)),
  ...["Mw", "Mw=", "Mw=", "Mw=", "Mt", "Mq", "Mt=", "Mq="].map((does, i): Row => x87("df", i, does)),
  ["L", "d8-de r", "U"],
  ["L", "da /0 r", "U carry?"],
  ["L", "da /1 r", "U rest?"],
  ["L", "da /2 r", "U flags?"],
  ["L", "da /3 r", "U rest?"],
  ["L", "db /0 r", "U carry?"],
  ["L", "db /1 r", "U rest?"],
  ["L", "db /2 r", "U flags?"],
  ["L", "db /3 r", "U rest?"],
  ["L", "db /5 r", "U flags="],
  ["L", "db /6 r", "U flags="],
  ["L", "df r", "U"],
  ["L", "df /4 r", "U rax~"],
  ["L", "df /5 r", "U flags="],
  ["L", "df /6 r", "U flags="],
].filter(([, , does]) => does !== "") as Row[];

function x87(opcode: string, digit: number, does: string): Row {
  return ["L", `${opcode} /${digit} m`, does];
}

/** Bits of a register mask after the sixteen general registers. */
export const CARRY = 1 << 16;
export const OTHER_FLAGS = 1 << 17;
export const FLAGS = CARRY | OTHER_FLAGS;
export const ALL_REGISTERS = 0xffff | FLAGS;

export const READ = 1;
export const WRITE = 2;
export const ADDRESS_ONLY = 4;

/** Kinds of constants after ModRM and displacement. */
export const CONSTANT = {
  none: 0,
  b: 1,
  w: 2,
  z: 3,
  v: 4,
  moffs: 5,
  shortDistance: 6,
  distance: 7,
  /** two constants, of two bytes and of one */
  enter: 8,
} as const;

/** Widths of a role: at least 4 bytes, operand size, byte, word. */
export const WIDTH = { full: 0, operand: 1, byte: 2, word: 3 } as const;
const WIDTHS: Readonly<Record<string, number>> = { v: WIDTH.operand, b: WIDTH.byte, w: WIDTH.word };

export const ROLE = { G: 0, E: 1, B: 2, Z: 3, A: 4 } as const;

export const ENCODINGS = { L: 0, V: 1, E: 2, X: 3 } as const;
const MAPS: Readonly<Record<string, number>> = { "": 0, "0f": 1, "0f 38": 2, "0f 3a": 3, "08": 0, "09": 1 };
const COLUMNS: Readonly<Record<string, number>> = { "66": 1, f3: 2, f2: 3 };
const VARIANTS = 16;
const FIRST_REGISTER_VARIANT = 8;

/** Rows by `slotOf`; 0 if there is no such instruction. */
export const ROW_OF_SLOT = new Uint16Array(4 * 4 * 256 * 4 * VARIANTS);

interface Meaning {
  hasModRm: boolean;
  hasVectorIndex: boolean;
  constant: number;
  /** a value of `SIZES`, and bits of `access` */
  size: number;
  access: number;
  roles: number;
  reads: number;
  writes: number;
  kills: number;
  flow: number;
  implicit: number;
  mode: "" | "m" | "r";
}

/** Words of a row, and their meanings. */
export const ROW_WORDS = 8;
export const COLUMN = {
  /**
   * Bit 0: ModRM follows; 1: its place has a vector of indices; 4 to 7: `CONSTANT`; 8 to 15: size; 16 to 18:
   * access.
   */
  shape: 0,
  /** Bits 0 to 7: flow; 8 to 15: implicit memory. */
  effects: 1,
  reads: 2,
  writes: 3,
  kills: 4,
  /** Four bits for each of `ROLE`: two of `READ` and `WRITE`, two of its width. */
  roles: 5,
} as const;
/** Room for all rows, of which there are some 2,400. */
export const ROWS = new Int32Array(ROW_WORDS * 4096);
let rows = 0;

/** Fills the table at the first use. Filling takes some 20 ms, and most starts of the program decode nothing. */
export function compileRows(): void {
  if (rows === 0) compile([...GENERAL_ROWS, ...X87_ROWS, ...VECTOR_ROWS]);
}

function wordsOf(meaning: Meaning): number[] {
  const { reads, writes, kills, roles, flow, implicit } = meaning;
  const { hasModRm, hasVectorIndex, constant, size, access } = meaning;
  const shape =
    Number(hasModRm) | (Number(hasVectorIndex) << 1) | (constant << 4) | (size << 8) | (access << 16);
  return [shape, flow | (implicit << 8), reads, writes, kills, roles];
}

/**
 * Returns the first of the sixteen variants of an opcode: the digit of ModRM, plus 8 if it names a register.
 */
export function slotOf(encoding: number, map: number, opcode: number, prefix: number): number {
  return ((((encoding * 4 + map) << 8) | opcode) * 4 + prefix) * VARIANTS;
}

function compile(sourceRows: readonly Row[]): void {
  for (const [encodings, text, does] of sourceRows) {
    const { map, first, last, digit, mode, columns } = readOpcode(text);
    const parts = does.split("|").map((part) => part.trim());
    for (const column of columns) {
      const part = parts[parts.length === 1 ? 0 : column];
      if (part === "-") continue;
      const meaning = meaningOf(part);
      const id = ++rows;
      ROWS.set(wordsOf(meaning), ROW_WORDS * id);
      for (const encoding of encodings)
        for (let opcode = first; opcode <= last; opcode++)
          for (let variant = 0; variant < VARIANTS; variant++) {
            const isRegister = variant >= FIRST_REGISTER_VARIANT;
            if (digit !== undefined && digit !== variant % FIRST_REGISTER_VARIANT) continue;
            if ([mode, meaning.mode].includes(isRegister ? "m" : "r")) continue;
            ROW_OF_SLOT[slotOf(ENCODINGS[encoding as "L"], map, opcode, column) + variant] = id;
          }
    }
  }
}

function readOpcode(text: string) {
  const [bytes, ...rest] = text.split(/ (?=[/mr])/);
  const words = bytes.split(" ");
  const mandatory = words.length > 1 ? COLUMNS[words[0]] : undefined;
  if (mandatory !== undefined) words.shift();
  const [first, last] = (words.pop() as string).split("-").map((byte) => Number.parseInt(byte, 16));
  const digit = rest.find((word) => word.startsWith("/"))?.slice(1);
  return {
    map: MAPS[words.join(" ")],
    first,
    last: last ?? first,
    digit: digit === undefined ? undefined : Number(digit),
    mode: rest.find((word) => !word.startsWith("/")) ?? "",
    columns: mandatory === undefined ? [0, 1, 2, 3] : [mandatory],
  };
}

function meaningOf(text: string): Meaning {
  const meaning: Meaning = {
    hasModRm: false,
    hasVectorIndex: false,
    constant: 0,
    size: 0,
    access: 0,
    roles: 0,
    reads: 0,
    writes: 0,
    kills: 0,
    flow: FLOW.next,
    implicit: IMPLICIT.none,
    mode: "",
  };
  for (const word of text.split(" ").filter(Boolean))
    if (word.startsWith("@")) addPath(meaning, word.slice(1));
    else if (/^[A-Z]/.test(word)) addOperand(meaning, word);
    else addEffect(meaning, word.slice(0, -1), word.slice(-1));
  if (meaning.implicit === IMPLICIT.push || meaning.implicit === IMPLICIT.pop || isCall(meaning.flow)) {
    meaning.reads |= 1 << GENERAL_NAMES.indexOf("rsp");
    meaning.writes |= 1 << GENERAL_NAMES.indexOf("rsp");
  }
  return meaning;
}

function isCall(flow: number): boolean {
  return flow === FLOW.call || flow === FLOW.indirectCall || flow === FLOW.return;
}

function addPath(meaning: Meaning, name: string): void {
  if (name in FLOW) meaning.flow = FLOW[name as keyof typeof FLOW];
  else meaning.implicit = IMPLICIT[name as keyof typeof IMPLICIT];
}

function addOperand(meaning: Meaning, [kind, size, role]: string): void {
  const access = role === "=" ? WRITE : role === "+" ? READ | WRITE : role === "!" ? ADDRESS_ONLY : READ;
  if (kind === "I") meaning.constant = meaning.constant !== 0 ? CONSTANT.enter : CONSTANT[size as "b"];
  else if (kind === "J") meaning.constant = size === "b" ? CONSTANT.shortDistance : CONSTANT.distance;
  else if (kind === "O")
    Object.assign(meaning, { constant: CONSTANT.moffs, size: SIZES[size as "b"], access });
  const inModRm = "EGWUMS".includes(kind);
  meaning.hasModRm ||= inModRm;
  if (kind === "M" || kind === "S") meaning.mode = "m";
  if (kind === "U") meaning.mode = "r";
  meaning.hasVectorIndex ||= kind === "S";
  if ("EWMS".includes(kind)) Object.assign(meaning, { size: SIZES[size as "b"], access });
  if (kind in ROLE && access !== ADDRESS_ONLY && size !== "n")
    meaning.roles |= (access | ((WIDTHS[size] ?? WIDTH.full) << 2)) << (4 * ROLE[kind as keyof typeof ROLE]);
}

function addEffect(meaning: Meaning, name: string, change: string): void {
  const flagMasks: Record<string, number> = {
    carry: CARRY,
    rest: OTHER_FLAGS,
    flags: FLAGS,
    all: ALL_REGISTERS,
  };
  const mask = flagMasks[name] ?? 1 << (GENERAL_NAMES as readonly string[]).indexOf(name);
  if (change === "?") meaning.reads |= mask;
  else meaning.writes |= mask;
  if (change === "=") meaning.kills |= mask;
}
