import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import {
  readS32Leb,
  readS33Leb,
  readS64Leb,
  readU32Leb,
  readU64Leb,
  sizeOfU32Leb,
  skipLeb32,
  skipLeb64,
  writePaddedU32Leb,
  writeU32Leb,
} from "../../../src/ground/bytes/leb128.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";

const bytesOf = (...values: number[]) => Uint8Array.from(values);
const u32 = fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 0xffffffff }));
const s32 = fc.oneof(fc.integer({ min: -200, max: 200 }), fc.integer());
const s33 = fc.oneof(fc.integer(), fc.integer({ min: -(2 ** 32), max: 2 ** 32 - 1 }));
const u64 = fc.oneof(
  fc.nat().map(BigInt),
  fc.bigInt({ min: 2n ** 63n - 9n, max: 2n ** 63n + 9n }),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
);
const s64 = fc.oneof(fc.integer().map(BigInt), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));

describe("LEB128", () => {
  it("reads the examples of the specification", () => {
    expect(readU32Leb(bytesOf(0xe5, 0x8e, 0x26), 0)).toBe(624485);
    expect(readS32Leb(bytesOf(0xc0, 0xbb, 0x78), 0)).toBe(-123456);
    expect(readU32Leb(bytesOf(0x83, 0x00), 0)).toBe(3);
    expect(readS32Leb(bytesOf(0xfe, 0xff, 0x7f), 0)).toBe(-2);
  });

  it("gives back what was written, for every width", () => {
    fc.assert(
      fc.property(u32, s32, s33, u64, s64, (a, b, c, d, e) => {
        const bytes = new ByteWriter(16).u32Leb(a).s32Leb(b).s33Leb(c).u64Leb(d).s64Leb(e).finish();
        const starts = [0];
        for (const skip of [skipLeb32, skipLeb32, skipLeb32, skipLeb64, skipLeb64])
          starts.push(skip(bytes, starts[starts.length - 1]));
        expect(starts[5]).toBe(bytes.length);
        expect(readU32Leb(bytes, starts[0])).toBe(a);
        expect(readS32Leb(bytes, starts[1])).toBe(b);
        expect(readS33Leb(bytes, starts[2])).toBe(c);
        expect(readU64Leb(bytes, starts[3])).toBe(d);
        expect(readS64Leb(bytes, starts[4])).toBe(e);
      }),
    );
  });

  it("knows how long an integer will be", () => {
    fc.assert(
      fc.property(u32, (value) => {
        const target = new Uint8Array(5);
        expect(sizeOfU32Leb(value)).toBe(writeU32Leb(target, 0, value));
      }),
    );
  });

  it("pads to five bytes for places that are patched later", () => {
    fc.assert(
      fc.property(u32, (value) => {
        const target = new Uint8Array(5);
        expect(writePaddedU32Leb(target, 0, value)).toBe(5);
        expect(readU32Leb(target, 0)).toBe(value);
        expect(skipLeb32(target, 0)).toBe(5);
      }),
    );
  });

  it.each([
    ["u32", readU32Leb, [0x80, 0x80, 0x80, 0x80, 0x10]],
    ["u32", readU32Leb, [0x80, 0x80, 0x80, 0x80, 0x80, 0x00]],
    ["s32", readS32Leb, [0x80, 0x80, 0x80, 0x80, 0x08]],
    ["s32", readS32Leb, [0xff, 0xff, 0xff, 0xff, 0x4f]],
    ["s33", readS33Leb, [0x80, 0x80, 0x80, 0x80, 0x10]],
    ["u64", readU64Leb, [...Array(9).fill(0x80), 0x02]],
    ["s64", readS64Leb, [...Array(9).fill(0x80), 0x01]],
    ["s64", readS64Leb, [...Array(10).fill(0x80), 0x00]],
  ])("refuses a %s with more bits than fit", (_, read, content) => {
    expect(() => read(Uint8Array.from(content), 0)).toThrow(expect.objectContaining({ kind: "malformed" }));
  });

  it.each([readU32Leb, readS32Leb, readS33Leb, readU64Leb, readS64Leb, skipLeb32, skipLeb64])(
    "says where an integer starts that the input cuts off (%o)",
    (read) => {
      const error = expect.objectContaining({ kind: "truncated", offset: 1 });
      expect(() => read(bytesOf(0x00, 0xff, 0xff), 1)).toThrow(error);
      expect(() => read(bytesOf(0x00), 1)).toThrow(FormatError);
    },
  );
});
