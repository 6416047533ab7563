import { describe, expect, it } from "vitest";
import { ByteReader } from "../../../src/ground/bytes/reader.ts";

describe("ByteReader", () => {
  it("reads on from where the last read ended", () => {
    const reader = new ByteReader(Uint8Array.of(7, 0x80, 0x01, 2, 0xc3, 0xa9), 0);
    expect([reader.u8(), reader.u32Leb(), reader.name()]).toEqual([7, 128, "é"]);
    expect(reader.atEnd).toBe(true);
  });

  it("does not read past its end even where the array goes on", () => {
    const bytes = Uint8Array.of(1, 2, 3, 0x80, 0x01);
    const truncated = expect.objectContaining({ kind: "truncated", offset: 2 });
    expect(() => new ByteReader(bytes, 2, 3).view(2)).toThrow(truncated);
    const inLeb = new ByteReader(bytes, 3, 4);
    expect(() => inLeb.u32Leb()).toThrow(expect.objectContaining({ kind: "truncated", offset: 3 }));
  });

  it("hands out views that share the input's memory", () => {
    const bytes = Uint8Array.of(1, 2, 3, 4);
    const view = new ByteReader(bytes, 1).view(2);
    expect(view).toEqual(Uint8Array.of(2, 3));
    expect(view.buffer).toBe(bytes.buffer);
  });

  it("refuses a vector that announces more entries than bytes are left", () => {
    const reader = new ByteReader(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2));
    expect(() => reader.vectorCount("things")).toThrow(/things at offset 0x0: 4294967295 entries/);
    expect(() => new ByteReader(Uint8Array.of(2, 1, 2, 3)).vectorCount("pairs", 2)).toThrow(/pairs/);
    expect(new ByteReader(Uint8Array.of(2, 1, 2, 3, 4)).vectorCount("pairs", 2)).toBe(2);
  });

  it.each([[[0xff]], [[0xc3]], [[0xed, 0xa0, 0x80]], [[...Array(30).fill(0x61), 0x80]]])(
    "refuses a name that is not UTF-8: %o",
    (content) => {
      const reader = new ByteReader(Uint8Array.of(content.length, ...content));
      expect(() => reader.name()).toThrow(expect.objectContaining({ kind: "malformed", offset: 0 }));
    },
  );

  it("keeps a byte order mark in a name", () => {
    expect(new ByteReader(Uint8Array.of(4, 0xef, 0xbb, 0xbf, 0x61)).name()).toBe("\ufeffa");
  });
});
