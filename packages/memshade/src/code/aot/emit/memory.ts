import { type OperandSize, place, R15, RAX, RCX, RDI, RDX, RSI } from "../../x64/index.ts";
import { type Address, type Instruction, isAddress, isConstant, signedValue } from "../code.ts";
import type { Emitter } from "./emitter.ts";
import { moveAll, moveRegister } from "./moves.ts";

type Writer = (emitter: Emitter, instruction: Instruction) => void;

export const MEMORY_WRITERS: Readonly<Record<string, Writer>> = {
  load: (emitter, { to, from: [source], bytes, wide, signed }) => {
    const { asm } = emitter;
    const target = emitter.target(to);
    const from = isAddress(source)
      ? emitter.place(source, RCX)
      : isConstant(source)
        ? emitter.register(source, RCX)
        : emitter.home(source);
    const size = wide ? 8 : 4;
    // Without a sign, what is written to 32 bits of a register clears the others.
    if (bytes === 8) asm.put("mov", 8, target, from);
    else if (bytes < 4) {
      const suffix = bytes === 1 ? "b" : "w";
      if (signed) asm.put(`movsx.${suffix}`, size, target, from);
      else asm.put(`movzx.${suffix}`, 4, target, from);
    } else if (signed && wide) asm.put("movsxd", 8, target, from);
    else asm.put("mov", 4, target, from);
    emitter.settle(to, target);
  },
  store: (emitter, { from: [address, value], bytes }) => {
    const at = emitter.place(address as Address, RCX);
    emitter.asm.put("mov", bytes as OperandSize, at, stored(emitter, value, bytes));
  },
  update: (emitter, { from: [address, value], name, bytes }) => {
    const at = emitter.place(address as Address, RCX);
    const size = bytes as OperandSize;
    const operand = isConstant(value)
      ? emitter.operand(value, bytes === 8, RAX)
      : emitter.register(value, RAX);
    emitter.asm.put(name, size, at, operand);
  },
  exchange: (emitter, { to, from: [address, value], name, bytes }) => {
    const { asm } = emitter;
    const at = emitter.place(address as Address, RCX);
    moveRegister(asm, RAX, emitter.register(value, RAX));
    asm.put(name, bytes as OperandSize, at, RAX);
    emitter.settle(to, RAX);
  },
  "compare exchange": (emitter, { to, from: [address, expected, replacement], bytes }) => {
    const { asm } = emitter;
    const at = emitter.place(address as Address, RCX);
    moveRegister(asm, RAX, emitter.register(expected, RAX));
    asm.put("lock cmpxchg", bytes as OperandSize, at, emitter.register(replacement, RDX));
    // It writes only what differs, and what was there keeps the upper half that was expected.
    if (bytes === 4) asm.put("mov", 4, RAX, RAX);
    emitter.settle(to, RAX);
  },
  fence: ({ asm }) => asm.put("mfence", 8),
  fill: (emitter, { from: [destination, value, length] }) => {
    const { asm } = emitter;
    moveAll(asm, [
      { to: RAX, from: emitter.origin(value) },
      { to: RCX, from: emitter.origin(length) },
      { to: RDI, from: emitter.origin(destination) },
    ]);
    asm.put("add", 8, RDI, R15);
    asm.put("rep stosb", 8);
  },
  copy: (emitter, { from: [destination, source, length] }) => {
    const { asm } = emitter;
    moveAll(asm, [
      { to: RCX, from: emitter.origin(length) },
      { to: RDI, from: emitter.origin(destination) },
      { to: RSI, from: emitter.origin(source) },
    ]);
    const [forwards, done] = [asm.label(), asm.label()];
    asm.put("mov", 8, RAX, RDI);
    asm.put("sub", 8, RAX, RSI);
    asm.put("add", 8, RDI, R15);
    asm.put("add", 8, RSI, R15);
    // The destination begins inside the source: the end must be copied before it is overwritten.
    asm.put("cmp", 8, RAX, RCX);
    asm.jump(forwards, "ae");
    asm.put("lea", 8, RDI, place(RDI, -1, RCX));
    asm.put("lea", 8, RSI, place(RSI, -1, RCX));
    asm.put("std", 8);
    asm.put("rep movsb", 8);
    asm.put("cld", 8);
    asm.jump(done);
    asm.bind(forwards);
    asm.put("rep movsb", 8);
    asm.bind(done);
  },
};

/** What a store of `bytes` can have as its operand; only the lower bytes of it count. */
function stored(emitter: Emitter, value: Instruction["from"][number], bytes: number) {
  if (!isConstant(value)) return emitter.register(value, RAX);
  if (bytes === 8) return emitter.operand(value, true, RAX);
  const bits = BigInt.asUintN(8 * bytes, signedValue(value, false));
  return Number(bits);
}
