import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults, RunOptions } from "axe-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TABS } from "../../../../src/show/report/page/app/state.ts";
import { madeUpPage } from "./made-up-page.ts";
import { hasChromium, PageBrowser } from "./open-page.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const data = madeUpPage();
const diff = madeUpPage({ diff: true });

describe.skipIf(!hasChromium)("the report page", () => {
  let browser: PageBrowser;
  beforeAll(async () => {
    browser = await PageBrowser.start();
  });
  afterAll(() => browser?.close());

  const violations = async (hash: string, options: Parameters<PageBrowser["open"]>[2]) => {
    const page = await browser.open(hash.includes("diff") ? diff : data, hash, options);
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: { run(options: RunOptions): Promise<AxeResults> } };
      return axe.run({ resultTypes: ["violations"] });
    });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    await page.context().close();
    return [
      ...violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`,
      ),
      ...(wide ? ["the page is wider than the window"] : []),
    ];
  };

  for (const colorScheme of ["light", "dark"] as const)
    it.each([...TABS])(`has nothing that axe objects to in ${colorScheme} colours: %s`, async (tab) => {
      const hash = `tab=${tab}&finding=0&range=heap-3-9`;
      expect(await violations(hash, { colorScheme })).toEqual([]);
    });

  it("is no wider than a window of 900 pixels, or one in which all is twice as large", async () => {
    for (const tab of TABS)
      for (const viewport of [
        { width: 900, height: 700 },
        { width: 640, height: 400 },
      ])
        expect(await violations(`tab=${tab}&finding=0`, { viewport }), `${tab} ${viewport.width}`).toEqual(
          [],
        );
  });
});
