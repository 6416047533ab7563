import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { base64Of, bytesOfBase64 } from "../../../src/ground/bytes/base64.ts";

describe("base 64", () => {
  it("is text as everybody writes it", () => {
    expect(base64Of(Uint8Array.of())).toBe("");
    expect(base64Of(Uint8Array.of(0, 255, 128, 7))).toBe("AP+ABw==");
  });

  it("brings back any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect([...bytesOfBase64(base64Of(bytes))]).toEqual([...bytes]);
      }),
    );
  });
});
