import { type OperandSize, RAX, RCX, relative, VECTOR } from "../../x64/index.ts";
import { type Address, type Instruction, isConstant } from "../code.ts";
import type { Emitter } from "./emitter.ts";
import { moveRegister } from "./moves.ts";

type Writer = (emitter: Emitter, instruction: Instruction) => void;

const [FIRST, SECOND] = [VECTOR[15], VECTOR[14]];
const ORDERED = ["pandn", "psub", "ps", "pcmpgt", "pack", "pshufb", "punpck"];
const PART_SUFFIX: Readonly<Record<number, string>> = { 1: "b", 2: "w", 4: "d", 8: "q" };

export const VECTOR_WRITERS: Readonly<Record<string, Writer>> = {
  vector: (emitter, { to, from, name }) => {
    const { asm } = emitter;
    let [left, right] = from;
    let target = emitter.target(to, FIRST);
    if (emitter.uses(right, target) && !emitter.uses(left, target))
      if (ORDERED.some((one) => name.startsWith(one))) target = FIRST;
      else [left, right] = [right, left];
    // A spilled operand is loaded first: as a place it would have to lie at a multiple of 16.
    const operand = emitter.register(right, SECOND);
    moveRegister(asm, target, emitter.register(left, target));
    asm.put(name, 8, target, operand);
    emitter.settle(to, target);
  },
  "vector with number": (emitter, { to, from: [source], name, number, bytes }) => {
    const { asm } = emitter;
    const target = emitter.target(to, FIRST);
    if (bytes === 0) asm.put(name, 8, target, emitter.register(source, SECOND), number);
    else {
      moveRegister(asm, target, emitter.register(source, target));
      asm.put(name, 8, target, number);
    }
    emitter.settle(to, target);
  },
  "vector constant": (emitter, { to, content = new Uint8Array(16) }) => {
    const { asm } = emitter;
    const target = emitter.target(to, FIRST);
    if (content.every((byte) => byte === 0)) asm.put("pxor", 8, target, target);
    else if (content.every((byte) => byte === 0xff)) asm.put("pcmpeqd", 8, target, target);
    else asm.put("movups", 8, target, relative(asm.literal(content)));
    emitter.settle(to, target);
  },
  "vector load": (emitter, { to, from: [address], bytes }) => {
    const target = emitter.target(to, FIRST);
    const mnemonic = bytes === 16 ? "movups" : bytes === 8 ? "movq" : "movd";
    emitter.asm.put(mnemonic, bytes === 4 ? 4 : 8, target, emitter.place(address as Address, RCX));
    emitter.settle(to, target);
  },
  "vector store": (emitter, { from: [address, value] }) => {
    emitter.asm.put("movups", 8, emitter.place(address as Address, RCX), emitter.register(value, FIRST));
  },
  insert: (emitter, { to, from: [vector, part], bytes, number }) => {
    const { asm } = emitter;
    const target = emitter.target(to, FIRST);
    const operand = isConstant(part) ? emitter.register(part, RAX) : emitter.home(part as number);
    moveRegister(asm, target, emitter.register(vector, target));
    asm.put(`pinsr${PART_SUFFIX[bytes]}`, partSize(bytes), target, operand, number);
    emitter.settle(to, target);
  },
  extract: (emitter, { to, from: [vector], bytes, number }) => {
    const { asm } = emitter;
    const target = emitter.target(to, RAX);
    const source = emitter.register(vector, FIRST);
    if (number === 0 && bytes >= 4) asm.put(bytes === 8 ? "movq" : "movd", partSize(bytes), target, source);
    else asm.put(`pextr${PART_SUFFIX[bytes]}`, partSize(bytes), target, source, number);
    emitter.settle(to, target);
  },
  signs: (emitter, { to, from: [vector], name }) => {
    const target = emitter.target(to, RAX);
    emitter.asm.put(name, 4, target, emitter.register(vector, FIRST));
    emitter.settle(to, target);
  },
  "to vector": (emitter, { to, from: [source], bytes }) => {
    const target = emitter.target(to, FIRST);
    emitter.asm.put(bytes === 8 ? "movq" : "movd", partSize(bytes), target, emitter.register(source, RAX));
    emitter.settle(to, target);
  },
};

function partSize(bytes: number): OperandSize {
  return bytes === 8 ? 8 : 4;
}
