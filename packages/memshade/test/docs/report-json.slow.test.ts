import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { reportJsonPage } from "../../scripts/report-json-page.ts";

const PAGE = new URL("../../../../docs/report-json.md", import.meta.url);

describe("docs/report-json.md", () => {
  let page: string;
  beforeAll(() => {
    page = reportJsonPage();
  }, 60_000);

  it("has the declared types: node packages/memshade/scripts/write-report-json.ts", () => {
    expect(readFileSync(PAGE, "utf8")).toBe(page);
  });

  it("gives the meaning of each key", () => {
    const rows = page.split("\n").filter((line) => line.startsWith("| `"));
    expect(rows.length).toBeGreaterThan(500);
    expect(rows.filter((row) => /\|\s*\|$/.test(row))).toEqual([]);
  });

  it("links to headings that it has, each once", () => {
    const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!.toLowerCase());
    expect(headings.length).toBe(new Set(headings).size);
    const anchors = headings.map((heading) => heading.replace(/[^\w\s-]/g, "").replace(/\s/g, "-"));
    const targets = [...page.matchAll(/\]\(#([^)]*)\)/g)].map(([, anchor]) => anchor!);
    expect(targets.filter((anchor) => !anchors.includes(anchor))).toEqual([]);
  });
});
