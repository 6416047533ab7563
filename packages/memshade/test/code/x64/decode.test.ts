import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CARRY,
  decode,
  FLAGS,
  FLOW,
  IMPLICIT,
  INSTRUCTION_POINTER,
  Instruction,
  NO_REGISTER,
  OTHER_FLAGS,
  READ,
  SEGMENT,
  WRITE,
} from "../../../src/code/x64/decode/index.ts";
import { FORMS } from "../../../src/code/x64/forms.ts";
import { Assembler, GENERAL, type OperandSize, place, RCX, VECTOR } from "../../../src/code/x64/index.ts";
import type { Operand } from "../../../src/code/x64/operands.ts";
import { FormatError } from "../../../src/ground/bytes/errors.ts";

function decoded(...bytes: number[]): Instruction {
  const instruction = new Instruction();
  decode(Uint8Array.from(bytes), 0, instruction);
  return instruction;
}

const [AX, CX, DX, BX] = [1, 2, 4, 8];

describe("a decoded instruction", () => {
  it("has the place that it reads or writes, with base, index, scale, displacement and bytes", () => {
    // mov [rax + r9*4 - 8], cx
    expect(decoded(0x66, 0x42, 0x89, 0x4c, 0x88, 0xf8)).toMatchObject({
      length: 6,
      access: WRITE,
      base: 0,
      index: 9,
      scale: 4,
      displacement: -8,
      size: 2,
      reads: AX | CX | (1 << 9),
      writes: 0,
    });
    // add fs:[0x28], rdx
    expect(decoded(0x64, 0x48, 0x01, 0x14, 0x25, 0x28, 0, 0, 0)).toMatchObject({
      access: READ | WRITE,
      base: NO_REGISTER,
      index: NO_REGISTER,
      displacement: 0x28,
      size: 8,
      segment: SEGMENT.fs,
      displacementAt: 5,
      kills: FLAGS,
    });
    // movss xmm0, [rip + 16]
    expect(decoded(0xf3, 0x0f, 0x10, 0x05, 16, 0, 0, 0)).toMatchObject({
      access: READ,
      base: INSTRUCTION_POINTER,
      displacement: 16,
      size: 4,
      displacementAt: 4,
    });
  });

  it("has the bytes of vectors as prefixes have them, and displacements as EVEX scales them", () => {
    // vaddps zmm0, zmm1, [rax + 64]; the same with one float for all lanes
    expect(decoded(0x62, 0xf1, 0x74, 0x48, 0x58, 0x40, 1)).toMatchObject({ size: 64, displacement: 64 });
    expect(decoded(0x62, 0xf1, 0x74, 0x58, 0x58, 0x40, 1)).toMatchObject({ size: 4, displacement: 4 });
    // vpmovzxbq ymm0, [rax]
    expect(decoded(0xc4, 0xe2, 0x7d, 0x32, 0x00)).toMatchObject({ size: 4, access: READ });
    // vgatherdps xmm0, [rax + xmm4*4], xmm1
    expect(decoded(0xc4, 0xe2, 0x71, 0x92, 0x04, 0xa0)).toMatchObject({
      vectorIndex: true,
      index: 4,
      size: 4,
    });
  });

  it("replaces registers of 4 and 8 bytes, and changes those of 1 and 2 in part", () => {
    expect(decoded(0x89, 0xd8)).toMatchObject({ reads: BX, writes: AX, kills: AX });
    expect(decoded(0x66, 0x89, 0xd8)).toMatchObject({ reads: BX, writes: AX, kills: 0 });
    // mov ah, bl; mov spl, bl
    expect(decoded(0x88, 0xdc)).toMatchObject({ reads: BX, writes: AX, kills: 0 });
    expect(decoded(0x40, 0x88, 0xdc)).toMatchObject({ reads: BX, writes: 1 << 4, kills: 0 });
    // mul cx; mul ecx
    expect(decoded(0x66, 0xf7, 0xe1)).toMatchObject({ writes: AX | DX | FLAGS, kills: FLAGS });
    expect(decoded(0xf7, 0xe1)).toMatchObject({ reads: AX | CX, kills: AX | DX | FLAGS });
  });

  it("reads and replaces carry and the other flags apart", () => {
    expect(decoded(0x11, 0xd8)).toMatchObject({ reads: AX | BX | CARRY, kills: AX * 0 + FLAGS + AX });
    expect(decoded(0xff, 0xc0)).toMatchObject({ writes: AX | OTHER_FLAGS, kills: AX | OTHER_FLAGS });
    // jb, je, ja
    expect(decoded(0x72, 0).reads).toBe(CARRY);
    expect(decoded(0x74, 0).reads).toBe(OTHER_FLAGS);
    expect(decoded(0x77, 0).reads).toBe(FLAGS);
    // shl eax, 3 overwrites all flags, but shl eax, cl may preserve all
    expect(decoded(0xd3, 0xe0)).toMatchObject({ reads: AX | CX, kills: AX });
  });

  it("says where control goes on", () => {
    expect(decoded(0xe8, 0xfb, 0xff, 0xff, 0xff)).toMatchObject({ flow: FLOW.call, distance: -5 });
    expect(decoded(0xeb, 0x10)).toMatchObject({ flow: FLOW.jump, distance: 16 });
    expect(decoded(0x0f, 0x84, 0, 1, 0, 0)).toMatchObject({ flow: FLOW.branch, distance: 256 });
    expect(decoded(0x3e, 0xff, 0xe0)).toMatchObject({ flow: FLOW.indirectJump, reads: AX, access: 0 });
    expect(decoded(0xff, 0x10)).toMatchObject({ flow: FLOW.indirectCall, access: READ, size: 8 });
    expect(decoded(0xc3).flow).toBe(FLOW.return);
    expect(decoded(0x0f, 0x0b).flow).toBe(FLOW.trap);
    expect(decoded(0x0f, 0x05).flow).toBe(FLOW.systemCall);
    expect(decoded(0xf3, 0x0f, 0x1e, 0xfa)).toMatchObject({
      flow: FLOW.next,
      length: 4,
      access: 0,
      writes: 0,
    });
  });

  it("names memory that is reached without an operand", () => {
    expect(decoded(0xf3, 0x48, 0xa5)).toMatchObject({
      implicit: IMPLICIT.movs,
      repeated: true,
      operandSize: 8,
    });
    expect(decoded(0xf3, 0x48, 0xa5).reads & CX).toBe(CX);
    expect(decoded(0xa5).reads & CX).toBe(0);
    expect(decoded(0x53)).toMatchObject({ implicit: IMPLICIT.push, reads: BX | (1 << 4) });
  });
});

describe("the decoder", () => {
  it("reads back whatever the assembler writes", () => {
    const at = place(GENERAL[12], 0x1234, GENERAL[9], 2);
    const operands: Readonly<Record<string, Operand>> = {
      r: GENERAL[3],
      o: GENERAL[10],
      m: at,
      p: at,
      x: VECTOR[9],
      z: VECTOR[3],
      y: at,
      c: RCX,
      1: 1,
      b: -5,
      u: 200,
      w: 1000,
      i: 0x123456,
      q: 0x1234567890n,
    };
    for (const [mnemonic, letters, , sizes, memory] of FORMS)
      for (const size of sizes === "-" ? [8] : sizes.split(" ").map(Number)) {
        const assembler = new Assembler();
        const kinds = letters.split(" ").filter(Boolean);
        assembler.put(mnemonic, size as OperandSize, ...kinds.map((letter) => operands[letter]));
        const { bytes, literals } = assembler.finish();
        const instruction = new Instruction();
        decode(bytes, 0, instruction);
        const padding = bytes.subarray(instruction.length, literals);
        expect(
          [...padding].every((byte) => byte === 0xcc) && literals - instruction.length < 16,
          mnemonic,
        ).toBe(true);
        if (!kinds.some((kind) => "mpy".includes(kind))) continue;
        expect(instruction, mnemonic).toMatchObject({ base: 12, index: 9, scale: 2, displacement: 0x1234 });
        const isVectorMove = mnemonic === "movd" || mnemonic === "movq";
        if (mnemonic !== "lea" && !isVectorMove) expect(instruction.size, mnemonic).toBe(memory ?? size);
      }
  });

  it("says where code is cut off, and where there is no instruction", () => {
    expect(() => decoded(0x48, 0x89)).toThrow(expect.objectContaining({ kind: "truncated" }));
    expect(() => decoded()).toThrow(expect.objectContaining({ kind: "truncated" }));
    expect(() => decoded(0x06, 0, 0)).toThrow(expect.objectContaining({ kind: "unknown-opcode", offset: 0 }));
    expect(() => decoded(...new Array(15).fill(0x66), 0x90)).toThrow(
      expect.objectContaining({ kind: "malformed" }),
    );
  });

  it("ends in an instruction or a typed error, whatever the bytes are", () => {
    const bytes = fc.uint8Array({ minLength: 0, maxLength: 20 });
    const prefix = fc.constantFrom(
      [],
      [0x0f],
      [0x0f, 0x38],
      [0x62, 0xf1],
      [0xc4, 0xe2],
      [0x8f, 0xe9],
      [0x66],
    );
    fc.assert(
      fc.property(prefix, bytes, (first, rest) => {
        const code = Uint8Array.from([...first, ...rest]);
        const instruction = new Instruction();
        try {
          decode(code, 0, instruction);
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError);
          return;
        }
        expect(instruction.length).toBeGreaterThan(0);
        expect(instruction.length).toBeLessThanOrEqual(Math.min(15, code.length));
        expect(instruction.kills & ~instruction.writes).toBe(0);
      }),
      { numRuns: 20_000 },
    );
  });
});
