import { describe, expect, it } from "vitest";
import { placesInWords } from "../../../src/show/report/fleet.ts";

const frame = (name: string, line: number) => ({ name, file: "a.c", line });
const XMALLOC = frame("xmalloc", 4);

describe("places of the parts of a step", () => {
  it("have callers only if two of them are one place", () => {
    const main = frame("main", 20);
    expect(
      placesInWords([
        [XMALLOC, frame("parse", 7), main],
        [XMALLOC, frame("render", 9), main],
        [frame("copy", 12), main],
      ]),
    ).toEqual(["xmalloc (a.c:4) from parse (a.c:7)", "xmalloc (a.c:4) from render (a.c:9)", "copy (a.c:12)"]);
  });

  it("have no callers if callers do not distinguish them", () => {
    expect(placesInWords([[XMALLOC], [XMALLOC]])).toEqual(["xmalloc (a.c:4)", "xmalloc (a.c:4)"]);
  });

  it("have all callers if the whole path is requested", () => {
    expect(placesInWords([[frame("copy", 12), frame("load", 8), frame("main", 20)]], true)).toEqual([
      "copy (a.c:12) from load (a.c:8) from main (a.c:20)",
    ]);
  });
});
