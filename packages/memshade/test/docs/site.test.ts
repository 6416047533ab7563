import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { withWayBack } from "../../../../scripts/site/api-page.ts";
import { sitePages } from "../../../../scripts/site/pages.ts";

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
