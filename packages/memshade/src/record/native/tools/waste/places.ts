import type { Instruction } from "../../../../code/x64/decode/index.ts";
import { INSTRUCTION_POINTER, NO_REGISTER } from "../../../../code/x64/decode/index.ts";
import { GENERAL, type Place, place, type Register, RSP } from "../../../../code/x64/index.ts";
import { placeBytes } from "../../../../code/x64/operands.ts";
import { ADDRESS_BITS, SHADOW } from "./layout.ts";
import type { Snippet } from "./snippet.ts";

const LEA = 0x8d;
const REX_WIDE = 0x48;

/**
 * `lea`: the address that an instruction accesses. `next`: offset of the instruction behind it in the old code; `shift`: how far below its
 * place the stack pointer is.
 */
export function putAddress(
  snippet: Snippet,
  instruction: Instruction,
  next: number,
  to: Register,
  shift: number,
): void {
  const { base, index, scale } = instruction;
  const displacement = instruction.displacement + (base === RSP.number ? shift : 0);
  const high = (to.number >> 3) << 2;
  if (base === INSTRUCTION_POINTER) {
    snippet.relative([REX_WIDE | high, LEA, ((to.number & 7) << 3) | 5, 0, 0, 0, 0], 3, next + displacement);
    return;
  }
  const at: Place = {
    kind: "place",
    base: base === NO_REGISTER ? undefined : GENERAL[base],
    index: index === NO_REGISTER ? undefined : GENERAL[index],
    scale: scale as Place["scale"],
    displacement,
  };
  const rex = REX_WIDE | high | (((at.index?.number ?? 0) >> 3) << 1) | ((at.base?.number ?? 0) >> 3);
  snippet.raw([rex, LEA, ...placeBytes(at, to.number)]);
}

/** Makes an address the distance of its words from the beginning of the shadow. */
export function putFold(snippet: Snippet, register: Register): void {
  snippet.put("shl", 8, register, 64 - ADDRESS_BITS);
  snippet.put("shr", 8, register, 64 - ADDRESS_BITS - 1);
}

/** Words of bytes from `byte` on. */
export function word(folded: Register, byte: number): Place {
  return place(folded, SHADOW + 2 * byte);
}

/** A word at a fixed address. */
export function slot(address: number): Place {
  return place(undefined, address);
}

/** Parts of the words of so many bytes that one instruction reaches: how many bytes each has, and from where. */
export function pieces(bytes: number): { from: number; bytes: 1 | 2 | 4 }[] {
  const all: { from: number; bytes: 1 | 2 | 4 }[] = [];
  for (let from = 0; from < bytes; ) {
    const left = bytes - from;
    const part = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    all.push({ from, bytes: part });
    from += part;
  }
  return all;
}

/** The same word for bytes: a constant, or what a register has four times. */
export function fillWords(
  snippet: Snippet,
  bytes: number,
  wordAt: (from: number) => Place,
  value: number | Register,
): void {
  for (const { from, bytes: part } of pieces(bytes))
    snippet.put("mov", (2 * part) as 2 | 4 | 8, wordAt(from), value);
}
