import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { crc32 as nodeCrc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FormatError } from "../../src/bytes/errors.ts";
import { crc32, crc64 } from "../../src/bytes/xz/checks.ts";
import { decompressXz } from "../../src/bytes/xz/decompress.ts";

const MOST = 2 ** 28;

/** A line a hundred times over, by xz 5.4.1. */
const text = "The quick brown fox jumps over the lazy dog.\n".repeat(100);
const compressed = Buffer.from(
  "/Td6WFoAAATm1rRGAgAhARwAAAAQz1jM4BGTAEldACoaCKIDJWbxS3jFogX/LubZ0iAarTT44h3oQTb63AZpuzzkEDQnCeuzZuPsmTl+UFvlJ4UIOKE9mjxBxBhKU/Zq2f3P/NEk4AAAAAAA3VkHQYUv9sQAAWWUIwAAADTLbQ2xxGf7AgAAAAAEWVo=",
  "base64",
);

describe("an xz stream", () => {
  it("gives back what was compressed", () => {
    expect(new TextDecoder().decode(decompressXz(compressed, MOST))).toBe(text);
  });

  it("is refused when it is no stream, or too large", () => {
    expect(() => decompressXz(new Uint8Array(20), MOST)).toThrow(FormatError);
    expect(() => decompressXz(compressed, text.length - 1)).toThrow("too large");
  });

  it("damaged in any way ends in what it was or in a typed error", () => {
    const place = fc.tuple(fc.nat(compressed.length - 1), fc.integer({ min: 1, max: 255 }));
    fc.assert(
      fc.property(
        fc.array(place, { minLength: 1, maxLength: 3 }),
        fc.nat(compressed.length),
        (flips, cut) => {
          const damaged = Uint8Array.from(compressed);
          for (const [at, bits] of flips) damaged[at]! ^= bits;
          const pieces = [damaged, compressed.subarray(0, cut)];
          for (const piece of pieces) {
            try {
              // The check sums let nothing else pass; the footer, which is read from the back, does not matter.
              expect(new TextDecoder().decode(decompressXz(piece, MOST))).toBe(text);
            } catch (error) {
              expect(error).toBeInstanceOf(FormatError);
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it("whose first block became an index is no empty one", () => {
    const damaged = Uint8Array.from(compressed);
    damaged[12]! ^= 2;
    expect(() => decompressXz(damaged, MOST)).toThrow(FormatError);
  });

  const hasTool = spawnSync("xz", ["--version"]).status === 0;
  it
    .skipIf(!hasTool)
    .each([
      ["-9e"],
      ["-0"],
      ["--lzma2=preset=6,lc=0,lp=2,pb=0"],
      ["--lzma2=preset=6,lc=4,lp=0,pb=4"],
      ["--check=crc32"],
      ["--check=sha256"],
      ["--check=none"],
      ["--block-size=40000"],
    ])("of a program gives back the program (xz %s)", (option) => {
    const program = readFileSync(process.execPath).subarray(0, 150_000);
    const { stdout } = spawnSync("xz", [option, "-c"], { input: program, maxBuffer: MOST });
    expect(Buffer.compare(decompressXz(stdout, MOST), program)).toBe(0);
  });
});

describe("check sums", () => {
  it("are those of their standards", () => {
    const digits = new TextEncoder().encode("123456789");
    expect(crc64(digits)).toBe(0x995d_c9bb_df19_39fan);
    fc.assert(fc.property(fc.uint8Array(), (bytes) => crc32(bytes) === nodeCrc32(bytes)));
  });
});
