import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteReader } from "../../../src/ground/bytes/reader.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";

describe("ByteWriter", () => {
  it("grows past its first capacity without losing bytes", () => {
    const writer = new ByteWriter(1);
    for (let i = 0; i < 1000; i++) writer.u8(i & 0xff);
    writer.bytes(new Uint8Array(5000).fill(9));
    expect(writer.length).toBe(6000);
    expect(writer.finish()[999]).toBe(999 & 0xff);
    expect(writer.finish()[5999]).toBe(9);
  });

  it("writes fixed-width numbers little-endian", () => {
    expect(new ByteWriter().u32(0x12345678).f32(1).f64(-2).finish()).toEqual(
      Uint8Array.of(0x78, 0x56, 0x34, 0x12, 0, 0, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0),
    );
  });

  it("fills a reserved place later", () => {
    const writer = new ByteWriter().u8(1);
    const place = writer.reserveU32Leb();
    writer.u8(2).patchU32Leb(place, 300);
    const reader = new ByteReader(writer.finish());
    expect([reader.u8(), reader.u32Leb(), reader.u8(), reader.atEnd]).toEqual([1, 300, 2, true]);
  });

  it("puts the shortest size in front of sized content, also when nested", () => {
    fc.assert(
      fc.property(fc.nat(20_000), fc.nat(200), (outerLength, innerLength) => {
        const writer = new ByteWriter(16).sized((outer) =>
          outer.bytes(new Uint8Array(outerLength).fill(5)).sized((inner) => {
            inner.bytes(new Uint8Array(innerLength).fill(6));
          }),
        );
        const innerSize = innerLength < 128 ? 1 : 2;
        const reader = new ByteReader(writer.finish());
        expect(reader.u32Leb()).toBe(outerLength + innerSize + innerLength);
        expect(reader.view(outerLength).every((byte) => byte === 5)).toBe(true);
        expect(reader.u32Leb()).toBe(innerLength);
        expect(reader.view(innerLength).every((byte) => byte === 6)).toBe(true);
        expect(reader.atEnd).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it("copies ranges, short and long", () => {
    const source = Uint8Array.from({ length: 100 }, (_, i) => i);
    const written = new ByteWriter().range(source, 3, 6).range(source, 10, 90).finish();
    expect(written).toEqual(Uint8Array.from([3, 4, 5, ...source.slice(10, 90)]));
  });

  it("writes names as length and UTF-8", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (text) => {
        expect(new ByteReader(new ByteWriter().name(text).finish()).name()).toBe(text);
      }),
    );
  });

  it("finishes with a copy that later writes leave alone, and can be cleared", () => {
    const writer = new ByteWriter().u8(1);
    const finished = writer.finish();
    writer.clear();
    writer.u8(2);
    expect([finished[0], writer.finish()]).toEqual([1, Uint8Array.of(2)]);
  });
});
