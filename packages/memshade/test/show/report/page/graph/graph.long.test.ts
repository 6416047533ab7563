import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { PageData } from "../../../../../src/show/report/page/data/page-data.ts";
import type { GraphView } from "../../../../../src/show/report/page/graph/view.ts";
import { madeUpPage } from "../made-up-page.ts";
import { hasChromium, PageBrowser } from "../open-page.ts";
import { fromPaths } from "./trees.ts";

/** A page whose contexts are these paths of frames, named `f0`…: library frames are 4 and 5. */
function pageOf(paths: readonly (readonly [path: readonly number[], own: number])[]): PageData {
  const { parent, frame, own } = fromPaths(paths);
  const made = madeUpPage({ contexts: 1, functions: 6, intervals: 0 });
  const strings = [...made.strings];
  for (let index = 0; index < 6; index++) strings[made.frames.function[index]] = `f${index}`;
  const { flags, library } = made.frames;
  flags.fill(0);
  library.fill(-1);
  flags[4] = flags[5] = 2;
  const weight = {
    id: "bytes",
    label: "bytes allocated",
    word: "block",
    unit: "bytes",
    tool: "heap",
  } as const;
  return {
    ...made,
    strings,
    findings: [],
    objects: [],
    ratios: [],
    contexts: { length: own.length, parent, frame, site: frame.map((_, context) => context) },
    weights: [{ ...weight, values: own, total: own.reduce((sum, value) => sum + value, 0) }],
  };
}

const SMALL = pageOf([
  [[0, 1, 2], 600],
  [[0, 1, 4, 5], 200],
  [[0, 3], 150],
  [[2], 50],
]);

/** Frames 0 and 5, and 1 and 3, are calls at other addresses of the same lines: two contexts are one box. */
const MERGED = (() => {
  const page = pageOf([
    [[0, 1, 2], 600],
    [[5, 3, 2], 124],
    [[5, 3], 3],
    [[0, 1, 4, 4], 200],
    [[0, 3, 4, 2], 20],
    [[2, 1, 3, 1], 50],
  ]);
  const { frames } = page;
  for (const [frame, like] of [
    [5, 0],
    [3, 1],
  ])
    for (const column of [frames.function, frames.file, frames.line, frames.flags])
      column[frame] = column[like];
  return page;
})();

describe.skipIf(!hasChromium)("the graph", () => {
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

  const open = (data: PageData, graph: GraphView = {}, more = "") =>
    browser.open(data, `tab=graph&graph=${encodeURIComponent(JSON.stringify(graph))}${more}`);
  const picture = (page: Page): Locator => page.getByRole("application", { name: /^Calling contexts/ });
  const spoken = (page: Page) => page.locator(".graph-live").first().textContent();
  const view = async (page: Page): Promise<GraphView> =>
    JSON.parse(
      new URLSearchParams(((await page.evaluate("location.hash")) as string).slice(1)).get("graph") ?? "{}",
    );
  const press = async (page: Page, ...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const table = async (page: Page) => {
    await page.locator(".graph-table summary").first().click();
    const rows = page.locator(".graph-table tbody tr");
    await rows.first().waitFor();
    return rows.evaluateAll((found) =>
      found.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent).join(" | ")),
    );
  };

  it("is walked through with the arrows, and a live region reads where it is", async () => {
    const page = await open(SMALL);
    await picture(page).focus();
    expect(await spoken(page)).toBe("all, 1,000 B, 100 % of 1,000 B");
    await press(page, "ArrowDown");
    expect(await spoken(page)).toMatch(/^f0, src\/tile\.cpp:10, 950 B, 95\.0 % of 1,000 B$/);
    await press(page, "ArrowDown", "ArrowDown", "ArrowRight");
    expect(await spoken(page)).toContain("f4, ");
    expect(await spoken(page)).toContain("200 B, 20.0 % of 1,000 B, with the library's frames that it calls");
    await press(page, "ArrowUp", "ArrowRight");
    expect(await spoken(page)).toMatch(/^f3, .*150 B, 15\.0 %/);
    await press(page, "Home");
    expect(await spoken(page)).toMatch(/^all/);
  });

  it("zooms by Enter and by a click, selects what it zooms to, and goes back by steps, Escape and the browser", async () => {
    const page = await open(SMALL);
    await picture(page).focus();
    await press(page, "ArrowDown", "ArrowDown", "Enter");
    expect((await view(page)).zoom).toEqual([0, 1]);
    expect(await page.evaluate("location.hash")).toContain("site=1");
    const steps = page.getByRole("navigation", { name: "Zoomed to" });
    expect(await steps.getByRole("listitem").allTextContents()).toEqual(["all", "f0", "f1 glyph.cpp:13"]);
    // Rows of 20 pixels: all, f0, f1, then its children.
    const { width } = (await picture(page).boundingBox())!;
    await picture(page).click({ position: { x: width * 0.1, y: 70 } });
    expect((await view(page)).zoom).toEqual([0, 1, 2]);
    await steps.getByRole("button", { name: "f0" }).click();
    expect((await view(page)).zoom).toEqual([0]);
    await page.goBack();
    expect((await view(page)).zoom).toEqual([0, 1, 2]);
    await picture(page).focus();
    await press(page, "Escape");
    expect((await view(page)).zoom).toEqual([]);
    expect(await steps.getByRole("listitem").allTextContents()).toEqual(["all"]);
  });

  it.each([
    ["icicle", 0],
    ["flame", 0],
    ["callers", 0],
    ["sandwich", 0],
    ["sandwich", 1],
  ] as const)(
    "says the same sum of a box at the foot of the page, whatever is drawn as one: %s %i",
    async (layout, half) => {
      const said: string[] = [];
      for (const steps of [1, 2]) {
        const page = await open(MERGED, { layout, ...(layout === "sandwich" ? { centre: 1 } : {}) });
        await page.getByRole("application").nth(half).focus();
        await press(page, ...Array<string>(steps).fill(layout === "flame" ? "ArrowUp" : "ArrowDown"));
        const box = (await page.locator(".graph-live").nth(half).textContent())!;
        await press(page, "Enter");
        const amount = / ([\d.,]+ (?:B|KiB)), [\d.]+ % of /.exec(box)![1];
        const foot = await page.locator("footer.selected div.chosen dd").textContent();
        expect(foot!.startsWith(`${amount} `), `${box}: ${foot}`).toBe(true);
        said.push(box);
      }
      // One half of a sandwich may be a single box.
      expect(new Set(said).size).toBeGreaterThanOrEqual(layout === "sandwich" ? 1 : 2);
    },
  );

  it("leaves out what is removed, by Alt and a click or Delete, tells how much that is, and takes it back", async () => {
    const page = await open(SMALL);
    const { width } = (await picture(page).boundingBox())!;
    // The box below all and f0: f1 with 800 of 1,000.
    await picture(page).click({ position: { x: width * 0.3, y: 50 }, modifiers: ["Alt"] });
    const removed = page.getByRole("group", { name: "Removed" });
    expect(await removed.textContent()).toContain("800 B in all");
    expect(await table(page)).toEqual([
      "0 | all |  | 200 B | 100 % | 0 B",
      "1 | f0 | src/tile.cpp:10 | 150 B | 75.0 % | 0 B",
      "2 | f3 | src/layer.cpp:19 | 150 B | 75.0 % | 150 B",
      "1 | f2 | src/style.cpp:16 | 50 B | 25.0 % | 50 B",
    ]);
    await picture(page).focus();
    await press(page, "Home", "ArrowDown", "ArrowRight", "Delete");
    expect(await removed.textContent()).toContain("850 B in all");
    await removed.getByRole("button", { name: "f1" }).click();
    // Bytes that pass through f1 to f2 are removed with f2.
    expect(await removed.textContent()).toContain("650 B in all");
    await removed.getByRole("button", { name: "f2" }).click();
    expect(await removed.count()).toBe(0);
  });

  it("folds library frames into the call that enters the library, until they are asked for", async () => {
    const folded = await table(await open(SMALL));
    expect(folded.filter((row) => row.includes("f4"))).toEqual([
      "3 | f4 | /usr/include/c++/vector:22 | 200 B | 20.0 % | 200 B",
    ]);
    expect(folded.some((row) => row.includes("f5"))).toBe(false);
    const shown = await table(await open(SMALL, {}, "&folded=0"));
    expect(shown.some((row) => row.includes("f5"))).toBe(true);
  });

  it("turned upside down has sites on top", async () => {
    const page = await open(SMALL, { layout: "callers" });
    const rows = await table(page);
    expect(rows.slice(0, 3)).toEqual([
      "0 | all |  | 1,000 B | 100 %",
      "1 | f2 | src/style.cpp:16 | 650 B | 65.0 %",
      "2 | f1 | src/glyph.cpp:13 | 600 B | 60.0 %",
    ]);
  });

  it("as a sandwich shows callers and callees of what is clicked, both with the same amount", async () => {
    const page = await open(SMALL, { layout: "sandwich", centre: 1 });
    const halves = page.getByRole("application", { name: /f1/ });
    expect(await halves.count()).toBe(2);
    for (const half of await halves.all()) expect(await half.getAttribute("aria-label")).toContain("800 B");
    await halves.nth(1).focus();
    await press(page, "ArrowDown", "Enter");
    expect((await view(page)).centre).toBe(2);
    expect(await page.locator(".graph h3").first().textContent()).toBe("Callers of f2 style.cpp:16");
  });

  it("marks what a search finds and sums it up", async () => {
    const page = await open(SMALL, {}, "&filter=f3");
    expect(await page.locator(".graph-notes").textContent()).toBe("found 150 B of 1,000 B, 15.0 %");
    await picture(page).focus();
    await press(page, "ArrowDown");
    expect(await spoken(page)).toContain("150 B match the search");
    const colours = await colourCount(page);
    expect(colours["255,198,26"]).toBeGreaterThan(1000);
  });

  it("draws boxes in the colours of the scheme, and says of everything on the screen what it is", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await browser.open(SMALL, "tab=graph", { colorScheme, deviceScaleFactor: 2 });
      await picture(page).waitFor();
      const size = await page
        .locator(".graph-canvas")
        .evaluate((canvas: HTMLCanvasElement) => [canvas.width, canvas.clientWidth]);
      expect(size[0]).toBe(2 * size[1]);
      const background = await page.evaluate("getComputedStyle(document.body).backgroundColor");
      const colours = await colourCount(page);
      expect(colours[String(background).replace(/rgb\(|\)| /g, "")]).toBeGreaterThan(1000);
      // Colours of the root, the series of boxes, and the text.
      expect(Object.values(colours).filter((pixels) => pixels > 2000).length).toBeGreaterThan(4);
    }
  });

  it("shows a tip of what the pointer is at", async () => {
    const page = await open(SMALL);
    const { width } = (await picture(page).boundingBox())!;
    await picture(page).hover({ position: { x: width * 0.9, y: 50 } });
    expect(await page.locator(".graph-tip").innerText()).toBe(
      "f3\nsrc/layer.cpp:19\n150 B, 15.0 % of 1,000 B",
    );
  });

  it("names what is too narrow with its number and its sum", async () => {
    const narrow = await open(
      pageOf([
        [[0], 3_000_000],
        [[1], 900],
        [[2], 800],
        [[3], 700],
      ]),
    );
    await picture(narrow).focus();
    await press(narrow, "ArrowDown", "End");
    expect(await spoken(narrow)).toBe("3 more, 2.34 KiB, 0.1 % of 2.86 MiB, each is too narrow to be drawn");
    await press(narrow, "Enter");
    const steps = narrow.getByRole("navigation", { name: "Zoomed to" });
    expect(await steps.getByRole("listitem").allTextContents()).toEqual(["all", "3 more"]);
    await press(narrow, "Home", "ArrowDown", "ArrowRight");
    expect(await spoken(narrow)).toContain("f2, ");
    await press(narrow, "Escape");
    expect(await steps.getByRole("listitem").allTextContents()).toEqual(["all"]);
  });

  it("of a comparison shows both sides in one layout, and by how much they differ", async () => {
    const data = madeUpPage({ contexts: 60, diff: true });
    const page = await browser.open(data, "tab=graph");
    await picture(page).focus();
    expect(await spoken(page)).toMatch(/^all, [−+].* before, .* after$/);
    expect(await page.getByRole("combobox", { name: "Colour" }).inputValue()).toBe("difference");
    const before = await browser.open(data, "tab=graph&side=before");
    await picture(before).focus();
    expect(await spoken(before)).toBe(await spoken(page));
  });

  it("opens with any address", async () => {
    for (const graph of [
      "[]",
      "7",
      '{"zoom":"x","removed":[1e9,"a"],"layout":"none","colour":[]}',
      '{"zoom":[5,5,5]}',
      "{",
    ]) {
      const page = await browser.open(SMALL, `tab=graph&graph=${encodeURIComponent(graph)}`);
      await picture(page).focus();
      expect(await spoken(page)).toMatch(/^all/);
    }
  });
});

function colourCount(page: Page): Promise<Record<string, number>> {
  return page
    .locator(".graph-canvas")
    .first()
    .evaluate((canvas: HTMLCanvasElement) => {
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
      const counts: Record<string, number> = {};
      for (let at = 0; at < data.length; at += 4) {
        const key = `${data[at]},${data[at + 1]},${data[at + 2]}`;
        counts[key] = (counts[key] ?? 0) + 1;
      }
      return counts;
    });
}
