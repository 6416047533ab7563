import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import {
  ADDRESS_ONLY,
  decode,
  FLOW,
  hasTarget,
  IMPLICIT,
  INSTRUCTION_POINTER,
  Instruction,
  NO_REGISTER,
} from "../../../../src/code/x64/decode/index.ts";
import { GENERAL_NAMES } from "../../../../src/code/x64/index.ts";
import { FormatError } from "../../../../src/ground/bytes/errors.ts";
import { registerDifference } from "./compare-registers.ts";

export interface Comparison {
  instructions: number;
  differences: string[];
}

const SIZES: Readonly<Record<string, number>> = {
  BYTE: 1,
  WORD: 2,
  DWORD: 4,
  FWORD: 6,
  QWORD: 8,
  TBYTE: 10,
  OWORD: 16,
  XMMWORD: 16,
  YMMWORD: 32,
  ZMMWORD: 64,
};
const PLACE = /(?:(\w+) (?:PTR|BCST) )?(?:([cdefgs]s):)?(?:\[([^\]]*)\]|(?<=:)(0x[0-9a-f]+))/;
/** Prefixes that objdump prints before the instruction. */
const PREFIXES =
  /^(?:(?:rep[nez]*|lock|data16|addr32|bnd|notrack|rex(?:\.[WRXB]+)?|[c-gs]s|xacquire|xrelease|\{\w+\}) )+/;
/** Instructions with an address whose size is not read, or with several values at it. */
const WITHOUT_SIZE =
  /^(lea|bnd|nop|prefetch|fxsave|fxrstor|xsave|xrstor|fn?stenv|fldenv|fn?save|frstor|[sl][gi]dt|l[fgs]s|cldemote)/;

/** Compares the instructions of a file, at the addresses that `isCode` accepts, with the output of `objdump -d`. */
export async function compareWithObjdump(
  path: string,
  isCode: (address: number) => boolean,
): Promise<Comparison> {
  const child = spawn("objdump", ["-d", "-w", "-M", "intel", path]);
  const result: Comparison = { instructions: 0, differences: [] };
  const instruction = new Instruction();
  for await (const line of createInterface({ input: child.stdout })) {
    const [address, hex, text] = line.split("\t");
    if (hex === undefined || text === undefined || !/^ *[0-9a-f]+:$/.test(address)) continue;
    if (!isCode(Number.parseInt(address, 16))) continue;
    const code = Uint8Array.from(hex.trim().split(" "), (byte) => Number.parseInt(byte, 16));
    const difference = differenceOf(code, Number.parseInt(address, 16), text.trim(), instruction);
    result.instructions++;
    if (difference === undefined) continue;
    if (result.differences.length < 100)
      result.differences.push(`${address.trim()} ${hex.trim()} ${text.trim()}: ${difference}`);
  }
  return result;
}

function differenceOf(
  code: Uint8Array,
  address: number,
  text: string,
  instruction: Instruction,
): string | undefined {
  const isBad = text.includes("(bad)");
  // objdump prints fwait and the next instruction as one.
  const at = code[0] === 0x9b && code.length > 1 ? 1 : 0;
  try {
    decode(code, at, instruction);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return isBad || isPrefixAlone(text) ? undefined : error.message;
  }
  if (isBad) return undefined;
  if (instruction.length !== code.length - at) return `${instruction.length} bytes`;
  const plain = text.replace(PREFIXES, "").replace(/ *[#<].*$/, "");
  const ofRegisters = registerDifference(instruction, plain);
  if (ofRegisters !== undefined) return ofRegisters;
  if (hasTarget(instruction.flow)) {
    const target = address + code.length + instruction.distance;
    const printed = plain.split(/ +/)[1];
    const shown = BigInt.asUintN(64, BigInt(target)).toString(16);
    return printed === shown || printed === `0x${shown}` ? undefined : shown;
  }
  return placeDifference(instruction, plain);
}

function isPrefixAlone(text: string): boolean {
  return `${text} `.replace(PREFIXES, "") === "";
}

function placeDifference(instruction: Instruction, text: string): string | undefined {
  const isImplicit = instruction.implicit >= IMPLICIT.movs || instruction.flow === FLOW.return;
  if (isImplicit) return undefined;
  const place = PLACE.exec(text);
  const hasPlace =
    place !== null && (place[3] !== undefined || place[2] !== undefined || place[1] !== undefined);
  if (!hasPlace) return instruction.access === 0 ? undefined : "it has a place";
  if (instruction.access === 0) return "it has no place";
  const inner = place[3] ?? place[4];
  const ours = printPlace(instruction);
  const expected = normalize(inner);
  if (ours !== expected) return `[${ours}] is not [${expected}]`;
  if (instruction.access === ADDRESS_ONLY || WITHOUT_SIZE.test(text)) return undefined;
  const size = place[1] === undefined ? undefined : SIZES[place[1]];
  if (size === undefined || size === instruction.size) return undefined;
  return `${instruction.size} bytes of memory`;
}

/** Names registers by their 64-bit names, followed by the sum of the constants. */
function normalize(inner: string): string {
  const terms = inner
    .replaceAll("-", "+-")
    .split("+")
    .filter((term) => term !== "" && !/^[er]iz/.test(term));
  const registers = terms
    .filter((term) => !/^-?0x/.test(term))
    .map((term) =>
      term
        .replace(/^e(?=[a-z])/, "r")
        .replace(/^(r\d+)d/, "$1")
        .replace(/^[xyz]mm\d+/, "vector")
        .replace(/\*1$/, ""),
    );
  const constant = terms
    .filter((term) => /^-?0x/.test(term))
    .reduce((sum, term) => sum + (term.startsWith("-") ? -BigInt(term.slice(1)) : BigInt(term)), 0n);
  // objdump prints absolute 32-bit addresses sign-extended to 64 bits.
  return [...registers, Number(BigInt.asIntN(64, constant))].join("+");
}

function printPlace({ base, index, scale, displacement, vectorIndex }: Instruction): string {
  const registers: string[] = [];
  if (base === INSTRUCTION_POINTER) registers.push("rip");
  else if (base !== NO_REGISTER) registers.push(GENERAL_NAMES[base]);
  if (index !== NO_REGISTER) {
    const name = vectorIndex ? "vector" : GENERAL_NAMES[index];
    registers.push(scale === 1 ? name : `${name}*${scale}`);
  }
  return [...registers, displacement].join("+");
}
