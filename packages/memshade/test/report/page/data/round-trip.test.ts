import { describe, expect, it } from "vitest";
import { decodePage, PageDataError, unpacked } from "../../../../src/report/page/data/decode.ts";
import { encodePage, packed } from "../../../../src/report/page/data/encode.ts";
import { madeUpPage } from "../made-up-page.ts";

describe("the data of a page", () => {
  it("comes out as it went in", async () => {
    const page = madeUpPage();
    expect(await decodePage(await encodePage(page))).toEqual(page);
  });

  it("of another version is refused in a sentence", () => {
    const newer = packed({ ...madeUpPage({ contexts: 3 }), version: 99 });
    expect(() => unpacked(newer)).toThrow(PageDataError);
    expect(() => unpacked(newer)).toThrow(/has version 99, and this page shows version 1/);
  });
});
