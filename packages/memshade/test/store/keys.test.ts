import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { contextKey, frameKey, functionsKey, siteKey } from "../../src/store/keys.ts";

const FRAME = { guid: 17n, lineOffset: 4, column: 9, inline: true };

/** The definition, with another implementation of the hash. */
function expected(text: string): bigint {
  return createHash("sha256").update(text).digest().readBigInt64LE(0);
}

describe("the keys of a store", () => {
  it("are the first 8 bytes of a hash over the words of the definition", () => {
    expect(frameKey(FRAME)).toBe(expected("17 4 9 1"));
    expect(siteKey(FRAME)).toBe(expected("17 4 9"));
    expect(contextKey([-5n, 12n])).toBe(expected("-5 12"));
    expect(functionsKey([17n, 2n ** 64n - 1n])).toBe(expected("17 18446744073709551615"));
  });

  it("of paths know the order of the frames", () => {
    expect(contextKey([1n, 2n])).not.toBe(contextKey([2n, 1n]));
  });
});
