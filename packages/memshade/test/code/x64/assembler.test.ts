import { describe, expect, it } from "vitest";
import { Assembler, place, RAX, RCX, RSP, relative } from "../../../src/code/x64/index.ts";
import { FormatError } from "../../../src/ground/bytes/errors.ts";

const RET = 0xc3;

describe("an assembler", () => {
  it("makes jumps short where they reach, and long where they do not", () => {
    const short = new Assembler();
    const near = short.label();
    short.jump(near);
    for (let i = 0; i < 127; i++) short.put("ret", 8);
    short.bind(near);
    expect([...short.finish().bytes.subarray(0, 3)]).toEqual([0xeb, 127, RET]);

    const long = new Assembler();
    const far = long.label();
    long.jump(far, "ne");
    for (let i = 0; i < 128; i++) long.put("ret", 8);
    long.bind(far);
    expect([...long.finish().bytes.subarray(0, 7)]).toEqual([0x0f, 0x85, 128, 0, 0, 0, RET]);
  });

  it("lengthens a jump that another one's length moves out of reach", () => {
    const asm = new Assembler();
    const [first, second] = [asm.label(), asm.label()];
    // 127 bytes if the jump inside is short, 130 if it is long.
    asm.jump(first);
    asm.jump(second);
    for (let i = 0; i < 125; i++) asm.put("ret", 8);
    asm.bind(first);
    for (let i = 0; i < 10; i++) asm.put("ret", 8);
    asm.bind(second);
    const { bytes, offsetOf } = asm.finish();
    expect([bytes[0], bytes[5]]).toEqual([0xe9, 0xe9]);
    expect(offsetOf(second)).toBe(5 + 5 + 135);
  });

  it("puts literals behind the code, the same content once, and tables of distances", () => {
    const asm = new Assembler();
    const target = asm.here();
    const content = Uint8Array.from({ length: 16 }, (_, i) => i);
    expect(asm.literal(content)).toBe(asm.literal(content.slice()));
    asm.put("lea", 8, RAX, relative(asm.literal(content)));
    const table = asm.table([target]);
    const { bytes, literals, offsetOf } = asm.finish();
    expect(literals).toBe(16);
    expect([...bytes.subarray(16, 32)]).toEqual([...content]);
    expect(bytes[3]).toBe(16 - 7);
    expect(offsetOf(table)).toBe(32);
    expect(new DataView(bytes.buffer).getInt32(32, true)).toBe(-32);
  });

  it("leaves references to symbols open, and counts what follows them in the instruction", () => {
    const asm = new Assembler();
    asm.put("mov", 8, relative("memory"), 5);
    expect(asm.finish().relocations).toEqual([{ offset: 3, symbol: "memory", addend: -8 }]);
  });

  it("aligns what follows, whatever the jumps before it become", () => {
    const asm = new Assembler();
    const label = asm.label();
    asm.jump(label);
    asm.align(16);
    asm.bind(label);
    asm.put("ret", 8);
    const { bytes, offsetOf } = asm.finish();
    expect(offsetOf(label)).toBe(16);
    expect([...bytes.subarray(0, 2)]).toEqual([0xeb, 14]);
  });

  it("refuses operands that no form has", () => {
    const asm = new Assembler();
    expect(() => asm.put("mov", 8, RAX, 2 ** 32)).toThrow(FormatError);
    expect(() => asm.put("lea", 8, RAX, RCX)).toThrow(FormatError);
    expect(() => asm.put("mov", 8, RAX, place(RAX, 0, RSP))).toThrow(FormatError);
    expect(() => asm.put("no such", 8)).toThrow(FormatError);
  });
});
