import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { formatBytes } from "../../../../../src/profile/model/format.ts";
import { madeUpPage } from "../made-up-page.ts";
import { hasChromium, PageBrowser } from "../open-page.ts";

const DATA = madeUpPage({ contexts: 200, intervals: 30 });

describe.skipIf(!hasChromium)("the time strip", () => {
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

  const heap = (page: Page) => page.getByRole("application", { name: /^live heap/ });
  const says = (page: Page) => page.locator(".timeline-says output").first().textContent();
  const range = async (page: Page) =>
    new URLSearchParams(((await page.evaluate("location.hash")) as string).slice(1)).get("range");
  const drag = async (page: Page, from: number, to: number) => {
    const { x, y, width, height } = (await heap(page).boundingBox())!;
    await page.mouse.move(x + from * width, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + to * width, y + height / 2, { steps: 4 });
    await page.mouse.up();
  };

  it("makes a range of what is dragged, from either side, and a double click ends it", async () => {
    const page = await browser.open(DATA);
    await drag(page, 0.11, 0.29);
    expect(await range(page)).toBe("heap-3-9");
    expect(await says(page)).toMatch(
      /^3,000 – 9,000 allocations: live heap .* at the end \([+−].*\), at most /,
    );
    await drag(page, 0.99, 0.51);
    expect(await range(page)).toBe("heap-15-30");
    await heap(page).dblclick();
    expect(await range(page)).toBe(null);
    await page.mouse.move(0, 0);
    expect(await says(page)).toMatch(/^0 – 30,000 allocations/);
  });

  it("leaves the range alone when it is clicked", async () => {
    const page = await browser.open(DATA, "range=heap-3-9");
    await heap(page).click();
    expect(await range(page)).toBe("heap-3-9");
  });

  it("is used with the keyboard: arrows tell an interval, with Shift they make a range, Escape ends it", async () => {
    const page = await browser.open(DATA);
    await heap(page).focus();
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
    expect(await says(page)).toMatch(/^2,000 – 3,000 allocations/);
    for (const key of ["Shift+ArrowRight", "Shift+ArrowRight"]) await page.keyboard.press(key);
    expect(await range(page)).toBe("heap-2-5");
    await page.keyboard.press("Escape");
    expect(await range(page)).toBe(null);
  });

  it("makes a range of a phase, and none when that is pressed again", async () => {
    const page = await browser.open(DATA);
    const phase = page.getByRole("button", { name: "pan", exact: true });
    await phase.click();
    expect(await range(page)).toBe("heap-10-20");
    expect(await phase.getAttribute("aria-pressed")).toBe("true");
    await phase.click();
    expect(await range(page)).toBe(null);
  });

  it("says of a range what the graph says of it", async () => {
    const page = await browser.open(DATA, "tab=graph&weight=bytes&range=heap-10-20");
    const graph = page.getByRole("application", { name: /^Calling contexts/ });
    const { offset, columns } = DATA.timelines[0].deltas!;
    const rows = columns[0].values.subarray(offset[10], offset[20]);
    const sum = rows.reduce((total, value) => total + value, 0);
    expect(await graph.getAttribute("aria-label")).toContain(`: ${formatBytes(sum)}.`);
    const whole = await browser.open(DATA, "tab=graph&weight=accesses&range=heap-10-20");
    expect(await whole.locator(".graph-notes").textContent()).toContain(
      "Whole run: this was not recorded over time.",
    );
  });

  it("names the sites that had most, with the rest as other, and has all lanes as a table", async () => {
    const page = await browser.open(DATA);
    const sites = page.getByRole("list", { name: "Sites" }).getByRole("listitem");
    expect(await sites.count()).toBe(5);
    expect(await sites.last().textContent()).toBe("other");
    await page.locator(".timeline-table summary").first().click();
    const rows = page.locator(".timeline-table").first().locator("tbody tr");
    await rows.first().waitFor();
    expect(await rows.count()).toBe(30);
    expect(await rows.nth(10).textContent()).toMatch(/^11,000pan/);
  });

  it("names a line once, however many calls in it allocate", async () => {
    const { frames, contexts } = DATA;
    // All frames are calls of one function in one line.
    const same = (column: Int32Array) => column.map(() => column[0]);
    const page = await browser.open({
      ...DATA,
      frames: {
        ...frames,
        function: same(frames.function),
        file: same(frames.file),
        line: same(frames.line),
        module: same(frames.module),
        flags: frames.flags.map(() => 0),
      },
      contexts: { ...contexts, site: contexts.site.map((_, context) => context) },
    });
    const sites = page.getByRole("list", { name: "Sites" }).getByRole("listitem");
    expect(await sites.count()).toBe(2);
  });

  it("is not there for a run that was ended before its clock went on", async () => {
    const [timeline] = DATA.timelines;
    const page = await browser.open({
      ...DATA,
      timelines: [{ ...timeline, ends: Float64Array.of(0), start: 0 }],
    });
    expect(await page.getByRole("region", { name: "Time" }).locator(".timeline").count()).toBe(0);
  });

  it("is not there where nobody recorded the time", async () => {
    const page = await browser.open(madeUpPage({ intervals: 0 }));
    expect(await page.locator(".time").count()).toBe(0);
  });
});
