import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { PageData } from "../../../../src/show/report/page/data/page-data.ts";
import { madeUpPage } from "./made-up-page.ts";
import { hasChromium, PageBrowser } from "./open-page.ts";

/** Phases of all lengths: most are too short for their names. */
const DATA = ((): PageData => {
  const data = madeUpPage({ contexts: 400, intervals: 60 });
  const named = (phases: readonly (readonly [name: string, from: number, to: number])[]) =>
    phases.map(([name, from, to]) => ({ name, from, to }));
  const heap = named([
    ["parse", 0, 1],
    ["WWW", 1, 2],
    ["x", 2, 3],
    ["initialise everything", 3, 8],
    ["pan", 8, 10],
    ["1", 10, 11],
    ["export", 11, 60],
  ]);
  const workingSet = named([
    ["parseAll", 0, 2],
    ["rest of it", 2, 60],
  ]);
  const [first, second] = data.timelines;
  return {
    ...data,
    timelines: [
      { ...first!, phases: heap },
      { ...second!, phases: workingSet },
    ],
  };
})();

/** Cut texts: `name: …` for those that end within a letter, or without an ellipsis. */
const CUT_TEXTS = `(() => {
  const canvas = document.createElement("canvas").getContext("2d");
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const words = text.data.trim();
    const range = document.createRange();
    range.selectNodeContents(text);
    const { left, right, width, height } = range.getBoundingClientRect();
    if (words === "" || width === 0 || height === 0) continue;
    let clip = text.parentElement;
    while (clip && getComputedStyle(clip).overflowX === "visible") clip = clip.parentElement;
    if (!clip) continue;
    const style = getComputedStyle(clip);
    const box = clip.getBoundingClientRect();
    // Those that scroll show it all; what is for screen readers alone is a pixel wide; what is left out has no room at all.
    if (!["hidden", "clip"].includes(style.overflowX) || box.width <= 1 || box.height <= 1) continue;
    if (right <= box.right + 1 && left >= box.left - 1) continue;
    const own = getComputedStyle(text.parentElement);
    canvas.font = own.font;
    const least = canvas.measureText([...words][0] + "…").width;
    const room = box.right - parseFloat(style.borderRightWidth) - parseFloat(style.paddingRight) - left;
    if (style.textOverflow !== "ellipsis" || room < least - 0.5) found.push(clip.className + " " + clip.tagName + ": " + words);
  }
  return found;
})()`;

const TABS = ["findings", "graph", "sites", "source", "blocks", "cache", "help"];

describe.skipIf(!hasChromium)("texts that do not fit", () => {
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

  const phases = (page: Page) =>
    page.locator(".timeline-phases button").evaluateAll((buttons) =>
      buttons.map((button) => {
        const label = button.firstElementChild as HTMLElement;
        return {
          name: button.getAttribute("title"),
          width: button.clientWidth,
          shown: label.clientWidth > 0,
        };
      }),
    );

  it.each([600, 900, 1400])("end in an ellipsis or are left out, %i pixels wide", async (width) => {
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await browser.open(DATA, "", { viewport: { width, height: 900 }, colorScheme });
      for (const tab of TABS) {
        await page.evaluate(`location.hash = "tab=${tab}"`);
        await page.locator(`.view-${tab}`).waitFor();
        expect(await page.evaluate(CUT_TEXTS), `${tab}, ${colorScheme}`).toEqual([]);
      }
    }
  });

  it.each(["light", "dark"] as const)(
    "are no heads of figures in a narrow Sites table: %s",
    async (colorScheme) => {
      const page = await browser.open(DATA, "tab=sites", {
        viewport: { width: 320, height: 700 },
        colorScheme,
      });
      const heads = await page.locator(".table .heads .cell").all();
      const boxOf = async (of: (typeof heads)[number]) => (await of.boundingBox())!;
      const table = await boxOf(page.locator(".table"));
      const name = await boxOf(heads[0]!);
      expect(heads.length).toBeGreaterThan(5);
      for (const head of heads.slice(1)) {
        await head.scrollIntoViewIfNeeded();
        // Names stay at the left edge, and cover content that is scrolled behind them.
        expect((await boxOf(head)).width, (await head.textContent())!).toBeLessThanOrEqual(
          table.width - name.width,
        );
      }
    },
  );

  it("are no numbers of a comparison", async () => {
    const data = madeUpPage({ contexts: 400, diff: true });
    for (const clock of ["allocations", "accesses", "ms"]) {
      const weights = data.weights.map((weight) => (weight.unit === "clock" ? { ...weight, clock } : weight));
      const page = await browser.open({ ...data, weights, timelines: [] }, "tab=sites");
      for (const place of ["tab=sites", "tab=sites&group=path", "tab=diff&weight=lifetime"]) {
        await page.evaluate(`location.hash = "${place}"`);
        await page.locator(`.view-${/\w+/.exec(place.slice(4))![0]}`).waitFor();
        expect(await page.evaluate(CUT_TEXTS), `${place}, ${clock}`).toEqual([]);
      }
    }
  });

  it("are the names of short phases, which a click and a hover text still have", async () => {
    const page = await browser.open(DATA, "", { viewport: { width: 1400, height: 900 } });
    const all = await phases(page);
    const named = (shown: boolean) => all.filter((phase) => phase.shown === shown).map(({ name }) => name);
    expect(named(true)).toEqual(expect.arrayContaining(["initialise everything", "export", "rest of it"]));
    expect(named(false)).toEqual(expect.arrayContaining(["parse", "WWW"]));
    await page.getByRole("button", { name: "parse", exact: true }).click();
    expect(await page.evaluate("location.hash")).toContain("range=heap-0-1");
  });
});
