import { describe, expect, it } from "vitest";
import { readFilter } from "../../../../../src/show/report/page/app/model/page-model.ts";

const WEIGHTS = ["bytes", "left", "neverRead"];
const read = (text: string) => readFilter(text, WEIGHTS);
const texts = (text: string) =>
  read(text).texts.map(({ field, isWanted, matches }) => [
    field,
    isWanted,
    matches("Shop::take_order shop.c"),
  ]);

describe("the filter language", () => {
  it("has nothing to say where nothing is written", () => {
    expect(read("  ")).toEqual({ texts: [], figures: [], mistakes: [] });
  });

  it("looks for words on the path, in any case", () => {
    expect(texts("shop TAKE_")).toEqual([
      ["path", true, true],
      ["path", true, true],
    ]);
    expect(texts("sales")).toEqual([["path", true, false]]);
  });

  it("looks for words in one place", () => {
    expect(texts("fn:take file:shop.c pkg:sqlite path:shop")).toEqual([
      ["function", true, true],
      ["file", true, true],
      ["package", true, false],
      ["path", true, true],
    ]);
  });

  it("takes names of namespaces for words", () => {
    expect(texts("Shop::take")).toEqual([["path", true, true]]);
    expect(texts("__proto__:x")).toEqual([["path", true, false]]);
  });

  it("knows regular expressions, words with spaces, and what is not wanted", () => {
    expect(texts("fn:~^shop.*order")).toEqual([["function", true, true]]);
    expect(texts('"take_order shop"')).toEqual([["path", true, true]]);
    expect(texts("-take -fn:~x$")).toEqual([
      ["path", false, true],
      ["function", false, false],
    ]);
  });

  it("compares figures, with units", () => {
    const holds = (text: string, value: number) => read(text).figures[0].matches(value);
    expect(read("bytes>1MiB").figures[0].weight).toBe("bytes");
    expect(holds("bytes>1MiB", 2 ** 20)).toBe(false);
    expect(holds("bytes>1MiB", 2 ** 20 + 1)).toBe(true);
    expect(holds("bytes>=1.5kib", 1536)).toBe(true);
    expect(holds("left<2k", 1999)).toBe(true);
    expect(holds("left<=2k", 2001)).toBe(false);
    expect(holds("left=0", 0)).toBe(true);
    expect(read("never-read>0").figures[0].weight).toBe("neverRead");
    expect(read("-left>0").figures[0].isWanted).toBe(false);
    expect(read("left>5%").figures[0]).toMatchObject({ isShare: true });
    expect(holds("left>5%", 0.06)).toBe(true);
  });

  it("says what it does not understand, and takes the rest", () => {
    const { mistakes, texts, figures } = read("size>1 bytes>many fn:~( shop");
    expect(mistakes).toEqual([
      "No figure is named “size”. Figures: bytes, left, neverRead",
      "“many” is not an amount. Examples: 12, 1.5MiB, 20k, 5%",
      "“(” is not a valid regular expression",
    ]);
    expect([texts.length, figures.length]).toEqual([1, 0]);
  });
});
