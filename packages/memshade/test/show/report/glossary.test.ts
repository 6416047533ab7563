import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { glossaryPage } from "../../../scripts/glossary-page.ts";
import { KINDS } from "../../../src/explain/findings/index.ts";
import { glossaryEntry, nearestWords } from "../../../src/show/report/glossary.ts";
import { GLOSSARY } from "../../../src/show/report/glossary-words.ts";

const inRepository = (path: string) =>
  readFileSync(new URL(`../../../../../${path}`, import.meta.url), "utf8");

function anchorsOf(page: string): string[] {
  return [...inRepository(`docs/${page}`).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\s-]/g, "")
      .replace(/\s/g, "-"),
  );
}

describe("the glossary", () => {
  it("has the kinds of all findings", () => {
    for (const { kind, meaning, advice } of KINDS)
      expect(glossaryEntry(kind)).toMatchObject({ word: kind, text: meaning, advice });
  });

  it("is the page in the documentation: node packages/memshade/scripts/write-glossary.ts", () => {
    expect(inRepository("docs/glossary.md")).toBe(glossaryPage());
  });

  it("names headings that there are", () => {
    for (const { word, more } of GLOSSARY) {
      const [page, anchor] = (more ?? "concepts.md").split("#");
      if (anchor !== undefined) expect(anchorsOf(page!), word).toContain(anchor);
      else inRepository(`docs/${page}`);
    }
  });

  it("has no word twice", () => {
    const words = GLOSSARY.flatMap(({ word, also = [] }) => [word, ...also]);
    for (const word of words) expect(glossaryEntry(word)?.text, word).toBeDefined();
    expect(new Set(words).size).toBe(words.length);
  });

  it("knows words in any case and by other words, and those that are like one", () => {
    expect(glossaryEntry("Working-Set")?.word).toBe("working set");
    expect(glossaryEntry("ACC/B")?.word).toBe("accesses");
    expect(glossaryEntry("frobnicate")).toBeUndefined();
    expect(nearestWords("redundent")[0]).toBe("redundant");
    expect(nearestWords("peek")).toEqual(["peak"]);
    expect(nearestWords("chrun")[0]).toBe("churn");
    for (const unlike of ["zzz", "frobnicate", "memory", ""])
      expect(nearestWords(unlike), unlike).toEqual([]);
  });
});
