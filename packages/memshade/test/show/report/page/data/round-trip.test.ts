import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodePage, PageDataError, unpacked } from "../../../../../src/show/report/page/data/decode.ts";
import { encodePage, packed } from "../../../../../src/show/report/page/data/encode.ts";
import type { PageData } from "../../../../../src/show/report/page/data/page-data.ts";
import { madeUpPage } from "../made-up-page.ts";

const pageOf = (members: object): PageData => ({ ...madeUpPage({ contexts: 3 }), ...members }) as PageData;

describe("the data of a page", () => {
  it("comes out as it went in", async () => {
    const page = madeUpPage({ diff: true });
    expect(await decodePage(await encodePage(page))).toEqual(page);
  });

  it("has any numbers in its columns", () => {
    const number = fc.oneof(
      fc.double(),
      fc.constantFrom(
        0,
        -0,
        1,
        -1,
        2 ** 31,
        2 ** 52,
        2 ** 53,
        -(2 ** 53),
        Number.NaN,
        Number.POSITIVE_INFINITY,
      ),
      fc.maxSafeInteger(),
      fc.constant(0),
    );
    fc.assert(
      fc.property(fc.array(number), fc.array(fc.integer()), (floats, integers) => {
        const columns = [Float64Array.from(floats), Int32Array.from(integers), Uint8Array.from(integers)];
        const page = pageOf({ columns: columns.map((column) => ({ column })) });
        expect(unpacked(packed(page))).toEqual(page);
      }),
    );
  });

  it("has long columns of mostly zeros, of rising numbers and of equal ones", () => {
    const length = 5000;
    const page = pageOf({
      zeros: new Float64Array(length),
      few: Float64Array.from({ length }, (_, row) => (row % 97 === 5 ? row : 0)),
      rising: Int32Array.from({ length }, (_, row) => 3 * row),
      falling: Float64Array.from({ length }, (_, row) => -7 * row),
      equal: new Int32Array(length).fill(-1),
      none: new Int32Array(0),
    });
    expect(unpacked(packed(page))).toEqual(page);
  });

  it("has any text: names come from programs", async () => {
    const strings = [
      "</script><script>alert(1)</script>",
      "<!--",
      '"><svg onload=alert(1)>',
      "__proto__",
      "constructor",
      "\ud800 alone \udfff",
      "\u202egnp.exe",
      "\0\u2028\u2029",
      "{{data}}",
      "@",
      "n".repeat(1 << 20),
    ];
    const page = pageOf({ strings, details: { ["__proto__"]: 1, "@": "2", toString: 3 } });
    const text = await encodePage(page);
    expect(text).toMatch(/^[A-Za-z0-9+/]+=*$/);
    expect(await decodePage(text)).toEqual(page);
  });

  it("of another version, older or newer, is refused in a sentence", () => {
    for (const version of [0, 99, undefined]) {
      const other = packed(pageOf({ version }));
      expect(() => unpacked(other)).toThrow(PageDataError);
      expect(() => unpacked(other)).toThrow(/version .*this page shows version 1: write the report again/);
    }
  });

  it("that is no page, is cut off or is damaged is refused in a sentence", async () => {
    const text = await encodePage(madeUpPage());
    const sentence = /damaged or truncated/;
    await expect(decodePage(text.slice(0, text.length / 2))).rejects.toThrow(sentence);
    await expect(decodePage("")).rejects.toThrow(PageDataError);
    await expect(decodePage("{{data}}")).rejects.toThrow(sentence);
    expect(() => unpacked(packed(pageOf({ schema: "other" })))).toThrow(/has no data of a memshade report/);
    expect(() => unpacked(new Uint8Array([255, 0, 0, 0, 1]))).toThrow(PageDataError);
  });
});
