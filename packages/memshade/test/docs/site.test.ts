import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { withWayBack } from "../../../../scripts/site/api-page.ts";
import { sitePages } from "../../../../scripts/site/pages.ts";
import { findSections, type Section } from "../../../../scripts/site/search.ts";

const { files, brokenLinks } = sitePages(fileURLToPath(new URL("../../../../", import.meta.url)));
const pages = files.filter(({ path }) => path.endsWith(".html"));

describe("the documentation as a site", () => {
  it("has no link that leads nowhere", () => {
    expect(brokenLinks).toEqual([]);
  });

  it("leads back from the API reference, however deep a page lies in it", () => {
    const row = '<div id="tsd-toolbar-links"></div>';
    expect(withWayBack(row, "index.html")).toContain('href="../index.html"');
    expect(withWayBack(row, "classes/unwinding.UnwindTable.html")).toContain('href="../../index.html"');
    expect(() => withWayBack("<p>", "index.html")).toThrow("no place");
  });

  it("answers by task, and has what is looked up", () => {
    expect(pages.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        "index.html",
        "guides/it-leaks.html",
        "glossary.html",
        "tools/waste.html",
        "costs.html",
      ]),
    );
  });

  it("needs no network", () => {
    for (const { path, contents } of pages) {
      const loaded = [...String(contents).matchAll(/<(?:link|script|img)[^>]*(?:href|src)="([^"]*)"/g)];
      expect(loaded.length, path).toBeGreaterThan(0);
      expect(
        loaded.filter(([, address]) => /^[a-z]+:|^\/\//.test(address!)),
        path,
      ).toEqual([]);
    }
  });

  describe("has a search", () => {
    const { contents } = files.find(({ path }) => path === "search.js")!;
    const sections: Section[] = JSON.parse(/^const sections = (.*);$/m.exec(String(contents))![1]!);
    const paths = (query: string) =>
      findSections(sections, query, 5).map(({ section: { path, anchor } }) => `${path}#${anchor}`);

    it("that finds headings first, and text by all its words", () => {
      expect(paths("budget file")[0]).toBe("ci.html#a-budget-file");
      expect(paths("CHURN name_length")).toContain("guides/allocates-too-much.html#");
      expect(paths("churn nosuchword")).toEqual([]);
      expect(paths(" ")).toEqual([]);
    });

    it("whose hits are headings of its pages", () => {
      for (const { path, anchor } of sections) {
        const page = String(files.find((file) => file.path === path)?.contents);
        expect(anchor === "" || page.includes(`id="${anchor}"`), `${path}#${anchor}`).toBe(true);
      }
    });

    it("that each page loads, with the way to the top", () => {
      for (const { path, contents } of pages) {
        const up = "../".repeat(path.split("/").length - 1);
        expect(String(contents), path).toContain(`<script src="${up}search.js" data-root="${up}">`);
      }
    });
  });

  it("loads nothing that is not there", () => {
    const there = new Set(files.map(({ path }) => path));
    for (const { path, contents } of pages)
      for (const [, address] of String(contents).matchAll(
        /(?:<img[^>]*src|<source[^>]*srcset|<a[^>]*href)="([^"#:]+)(?:#[^"]*)?"/g,
      )) {
        const target = new URL(address!, `file:///${path}`).pathname.slice(1);
        if (!target.startsWith("api/")) expect(there, `${path}: ${address}`).toContain(target);
      }
  });
});
