import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FORMS, type FormRow } from "../../../src/code/x64/forms.ts";
import {
  Assembler,
  GENERAL,
  type OperandSize,
  type Place,
  place,
  RCX,
  type Register,
  VECTOR,
} from "../../../src/code/x64/index.ts";
import type { Operand } from "../../../src/code/x64/operands.ts";
import { Choices } from "../../support/random-module.ts";

const installed = spawnSync("objdump", ["--version"]).status === 0;
if (!installed) console.warn("SKIPPED: objdump is not installed, no instruction is compared with it");
const TIMES = 12;

const folder = mkdtempSync(join(tmpdir(), "memshade-x64-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NAMES: Readonly<Record<number, readonly string[]>> = {
  8: "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split(" "),
  4: "eax ecx edx ebx esp ebp esi edi r8d r9d r10d r11d r12d r13d r14d r15d".split(" "),
  2: "ax cx dx bx sp bp si di r8w r9w r10w r11w r12w r13w r14w r15w".split(" "),
  1: "al cl dl bl spl bpl sil dil r8b r9b r10b r11b r12b r13b r14b r15b".split(" "),
};
const POINTERS: Readonly<Record<number, string>> = {
  1: "BYTE",
  2: "WORD",
  4: "DWORD",
  8: "QWORD",
  16: "XMMWORD",
};

interface Case {
  operands: Operand[];
  text: string;
}

type Pair = [Operand, string];

function randomCase(choices: Choices, row: FormRow, size: number): Case {
  const [mnemonic, letters, , , memory] = row;
  const pairs = letters
    .split(" ")
    .filter(Boolean)
    .map((letter, i): Pair => operandOf(choices, letter, registerSize(row, size, i), memory ?? size, size));
  const operands = pairs.map(([operand]) => operand);
  const printed = pairs.map(([, text]) => text);
  return { operands, text: `${mnemonic.split(".")[0]} ${printed.join(",")}`.trim() };
}

/** Size under which a general register is printed. */
function registerSize([mnemonic, letters, , sizes, memory]: FormRow, size: number, i: number): number {
  if (mnemonic === "push" || mnemonic === "pop" || mnemonic === "call" || mnemonic === "jmp") return 8;
  if (/^p(insr|extr)[bw]|^pmovmsk|^movmsk/.test(mnemonic)) return 4;
  if (letters.split(" ")[i] === "m" && memory !== undefined && sizes !== "-") return memory;
  return size;
}

function operandOf(choices: Choices, letter: string, general: number, memory: number, size: number): Pair {
  const register = () => choices.below(16);
  const inMemory = "pmy".includes(letter) && (letter === "p" || choices.chance(60));
  if (inMemory) return placeOf(choices, memory);
  switch (letter) {
    case "x":
    case "z":
    case "y": {
      const number = register();
      return [VECTOR[number], `xmm${number}`];
    }
    case "c":
      return [RCX, "cl"];
    case "1":
      return [1, "1"];
    case "b": {
      const value = choices.below(256) - 128;
      return [value, constant(value, size)];
    }
    case "u": {
      const value = 2 + choices.below(250);
      return [value, `0x${value.toString(16)}`];
    }
    case "w": {
      const value = choices.below(2 ** 16);
      return [value, `0x${value.toString(16)}`];
    }
    case "i": {
      const value = (choices.below(2 ** 31 - 200) + 200) * (choices.chance(50) ? 1 : -1);
      return [value, constant(value, size)];
    }
    case "q": {
      const value = (BigInt(choices.below(2 ** 32)) << 32n) | BigInt(choices.below(2 ** 32));
      return [value, `0x${value.toString(16)}`];
    }
    default: {
      const number = register();
      return [GENERAL[number], NAMES[general][number]];
    }
  }
}

function constant(value: number, size: number): string {
  return `0x${BigInt.asUintN(size * 8, BigInt(value)).toString(16)}`;
}

function placeOf(choices: Choices, bytes: number): Pair {
  const number = choices.of([
    0,
    1,
    -1,
    127,
    128,
    -128,
    -129,
    0x7fffffff,
    -0x80000000,
    choices.below(2 ** 31),
  ]);
  const base = choices.chance(90) ? choices.below(16) : undefined;
  const index = choices.chance(50)
    ? choices.of([0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
    : undefined;
  const scale = choices.of([1, 2, 4, 8] as const);
  const thread = choices.chance(10);
  const at: Place = { ...place(pick(base), number, pick(index), scale), thread };
  const name = (register: number) => NAMES[8][register];
  const inner = [
    ...(base === undefined ? [] : [name(base)]),
    ...(index === undefined ? [] : [`${name(index)}*${scale}`]),
  ].join("+");
  const shown = Math.abs(number).toString(16);
  const signed = base === undefined && index === undefined ? "" : number < 0 ? `-0x${shown}` : `+0x${shown}`;
  const pointer = POINTERS[bytes] === undefined ? "" : `${POINTERS[bytes]} PTR `;
  const segment = thread ? "fs:" : "";
  if (inner === "") {
    const absolute = BigInt.asUintN(64, BigInt(number)).toString(16);
    return [at, `${pointer}${thread ? "fs:" : "ds:"}0x${absolute}`];
  }
  return [
    at,
    `${pointer}${segment}[${inner}${number === 0 && base !== undefined && pick(base)!.number % 8 !== 5 ? "" : signed}]`,
  ];
}

function pick(number: number | undefined): Register | undefined {
  return number === undefined ? undefined : GENERAL[number];
}

/** Instructions of a piece of code, without objdump's comments. */
function disassemble(bytes: Uint8Array): string[] {
  const file = join(folder, "code.bin");
  writeFileSync(file, bytes);
  const { stdout } = spawnSync(
    "objdump",
    ["-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", "--no-show-raw-insn", file],
    { encoding: "utf8", maxBuffer: 1 << 26 },
  );
  return [...stdout.matchAll(/^\s+[0-9a-f]+:\s+(.*)$/gm)].map(([, text]) => normal(text));
}

function normal(text: string): string {
  return text
    .replace(/\s*#.*$/, "")
    .replace(/^lea\s+(\S+),\w+ PTR /, "lea $1,")
    .replaceAll(/\s+/g, " ")
    .replace(/^(rep (?:movs|stos)) .*?(BYTE|QWORD) PTR.*/, (_, name, word) => name + word[0].toLowerCase())
    .replaceAll("+riz*1", "")
    .replaceAll(/([+-])0x0\]/g, "$10x0]")
    .trim();
}

describe.skipIf(!installed)("the table of instructions", () => {
  it.each([...new Set(FORMS.map(([name]) => name))])("writes %s as objdump reads it", (mnemonic) => {
    const choices = new Choices(mnemonic.length * 977 + mnemonic.charCodeAt(0));
    const asm = new Assembler();
    const expected: string[] = [];
    for (const row of FORMS.filter(([name]) => name === mnemonic)) {
      const sizes = row[3] === "-" ? [4] : row[3].split(" ").map(Number);
      for (const size of sizes)
        for (let i = 0; i < TIMES; i++) {
          const { operands, text } = randomCase(choices, row, size);
          asm.put(mnemonic, size as OperandSize, ...operands);
          expected.push(normal(text));
        }
    }
    expect(disassemble(asm.finish().bytes).slice(0, expected.length)).toEqual(expected);
  });
});
