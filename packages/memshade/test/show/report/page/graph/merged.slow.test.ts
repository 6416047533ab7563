import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { diffFindings } from "../../../../../src/explain/diff/finding-diff.ts";
import { diffPage } from "../../../../../src/show/report/page/data/diff-page.ts";
import { FEW_LARGE, lineOf, pageOfPaths } from "../merged-page.ts";
import { hasChromium, PageBrowser } from "../open-page.ts";

/** `draw` and `big` are kept with their callers; five call paths are merged below `run`, four of which end in `leaf`. */
const DATA = pageOfPaths(FEW_LARGE, 4);

describe.skipIf(!hasChromium)("merged call paths", () => {
  let browser: PageBrowser;
  beforeAll(async () => {
    browser = await PageBrowser.start();
  });
  afterEach(async () => {
    await browser.closePages();
    expect(browser.complaints.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
  });

  const table = async (page: Page) => {
    await page.locator(".graph-table summary").first().click();
    const rows = page.locator(".graph-table tbody tr");
    await rows.first().waitFor();
    return rows.evaluateAll((found) =>
      found.map((row) => [...row.querySelectorAll("td")].slice(0, 4).map((cell) => cell.textContent)),
    );
  };
  const crumbs = (page: Page) => page.locator(".graph-crumbs li").allTextContents();
  const selected = (page: Page) => page.locator("footer .title").textContent();
  const facts = (page: Page) => page.locator("footer dl > div").allTextContents();
  const graph = (view: object) => `tab=graph&graph=${encodeURIComponent(JSON.stringify(view))}`;
  const pick = async (page: Page, name: RegExp) => {
    await page.locator(".graph-table tbody button", { hasText: name }).first().click();
  };

  it("are one box below their last kept caller, with one number everywhere", async () => {
    const page = await browser.open(DATA, "tab=graph");
    expect(await table(page)).toContainEqual(["3", "others, 5 merged", "", "248 B"]);
    await pick(page, /^others/);
    expect(await crumbs(page)).toEqual(["all", "main", "run", "others, 5 merged"]);
    expect(await selected(page)).toBe("others, 5 merged ← run");
    expect(await facts(page)).toContain("merged call paths5");
    await page.getByRole("application", { name: /^Calling contexts/ }).focus();
    expect(await page.locator(".graph-live").first().textContent()).toMatch(
      /^others, 5 merged, 248 B.*includes 5 merged call paths$/,
    );
  });

  it("are as many as end in a function where callers are below it", async () => {
    for (const boxes of ["line", "function", "file", "package"]) {
      const page = await browser.open(DATA, graph({ layout: "callers", boxes }));
      const rows = await table(page);
      const others = rows.filter(([, name]) => /^others/.test(name!)).map(([, name, , sum]) => [name, sum]);
      if (boxes === "line" || boxes === "function")
        expect(others, boxes).toEqual([
          ["others, 1 merged", "128 B"],
          ["others, 4 merged", "120 B"],
        ]);
      else expect(others.length, boxes).toBeGreaterThan(0);
      expect(rows.flat(), boxes).not.toContain("unknown");
      await page.context().close();
    }
    const page = await browser.open(DATA, graph({ layout: "callers" }));
    await table(page);
    await pick(page, /^others, 4/);
    expect(await crumbs(page)).toEqual(["all", "leaf", "others, 4 merged"]);
    expect(await selected(page)).toBe("others, 4 merged");
    expect(await facts(page)).toContain("merged call paths4");
  });

  it("have no number as callers of what they end in", async () => {
    const page = await browser.open(DATA, "tab=sites&group=path");
    const row = page.locator(".rows .row", { hasText: "leaf" });
    expect(await row.locator(".frame").textContent()).toBe(
      `leafapp.c:${lineOf("leaf")}← others, merged ← run ← main`,
    );
    await row.click();
    expect(await selected(page)).toBe(`leaf app.c:${lineOf("leaf")} ← others, merged`);
    expect(await facts(page)).toContain("merged call paths4");
  });

  it("are in the sums of lines with calls, and in what a click on one selects", async () => {
    const page = await browser.open(DATA, "tab=source");
    const line = page.locator(".lines tbody tr", {
      has: page.getByRole("button", { name: `${lineOf("load")}`, exact: true }),
    });
    expect(await line.locator(".through").textContent()).toBe("176 B");
    await line.getByRole("button").click();
    expect(await selected(page)).toBe(`app.c:${lineOf("load")} load`);
    expect((await facts(page))[0]).toMatch(/^bytes allocated176 B/);
  });

  it("of a comparison have no number, and Source says what lines with calls are without", async () => {
    const side = { page: DATA, findings: [] };
    const both = diffPage(side, side, diffFindings([], []));
    const page = await browser.open(both, "tab=source&side=after");
    expect(await page.locator(".lines").textContent()).toContain(
      "Lines with calls exclude 10 call paths that were merged: their callers are unknown in a comparison.",
    );
    await page.getByRole("tab", { name: /^Graph/ }).click();
    expect((await table(page)).map(([, name]) => name)).toContain("others, merged");
  });
});
