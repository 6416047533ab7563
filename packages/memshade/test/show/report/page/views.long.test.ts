import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { amount } from "../../../../src/show/report/page/app/parts/amounts.ts";
import { madeUpPage } from "./made-up-page.ts";
import { hasChromium, PageBrowser } from "./open-page.ts";

const data = madeUpPage();
const diff = madeUpPage({ diff: true });

describe.skipIf(!hasChromium)("the report page in Chromium", () => {
  let browser: PageBrowser;
  beforeAll(async () => {
    browser = await PageBrowser.start();
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    await browser.closePages();
    expect(browser.complaints.splice(0)).toEqual([]);
  });

  const tab = (page: Page, name: string) => page.getByRole("tab", { name }).click();
  const hash = (page: Page) => new URL(page.url()).hash;
  /** Number of elements whose text is wider than their space, even by a part of a pixel. */
  const cut = (elements: Locator) =>
    elements.evaluateAll(
      (all) =>
        all.filter((element) => {
          const text = document.createRange();
          text.selectNodeContents(element);
          return text.getBoundingClientRect().width > element.getBoundingClientRect().width + 0.001;
        }).length,
    );
  const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? "");

  it("says on the first screen what the problem is, and which line it is", async () => {
    const page = await browser.open(data);
    const { says, path, advice } = data.findings[0];
    const details = page.locator(".finding").first().locator(".details");
    expect(await details.locator(".says").textContent()).toBe(says);
    expect(await details.locator(".line.marked .number").textContent()).toBe(`${data.frames.line[path[0]]}`);
    expect(await details.locator(".advice").textContent()).toBe(advice);
    const box = await details.boundingBox();
    expect(box!.y + box!.height).toBeLessThan(900);
  });

  it("shows the key numbers and all findings", async () => {
    const page = await browser.open(data);
    for (const { value, unit } of data.head.keys)
      await page.locator(".keys").getByText(amount(value, unit), { exact: true }).waitFor();
    expect(await page.locator(".finding").count()).toBe(data.findings.length);
    const amounts = await page.locator(".finding .amount").allTextContents();
    expect(amounts).toEqual(data.findings.map(({ amount: value, unit }) => amount(value, unit)));
  });

  it("says of each sum how far it may be off, where callers were sampled", async () => {
    const [bytes, ...others] = data.weights;
    const deviations = bytes.values.map((value) => value / 100);
    const page = await browser.open(
      { ...data, weights: [{ ...bytes, deviations }, ...others] },
      "tab=sites&group=path&sort=bytes",
    );
    const most = bytes.values.reduce((all, value) => Math.max(all, value), 0);
    const told = `${amount(most, "bytes")} ±${amount(Math.ceil(most / 50), "bytes")}`;
    const row = page.locator(".rows .row").filter({ hasText: told });
    await row.first().click();
    await page.locator("footer dd").filter({ hasText: told }).waitFor();
    expect(await cut(page.locator(".rows .cell.number:has(.dim)"))).toBe(0);
    await page.emulateMedia({ media: "print" });
    await row.first().waitFor();
    expect(await cut(page.locator(".rows .cell.number:has(.dim)"))).toBe(0);
  });

  it("says of a finding, and of the largest sites, how far the amount may be off", async () => {
    const [bytes, ...others] = data.weights;
    const deviations = bytes.values.map((value) => value / 100);
    const findings = [{ ...data.findings[0], amount: 337 * 2 ** 20, unit: "bytes" as const, margin: 20480 }];
    const page = await browser.open({ ...data, findings, weights: [{ ...bytes, deviations }, ...others] });
    expect(await page.locator(".finding .amount").allTextContents()).toEqual(["≈337 MiB ±20.0 KiB"]);
    expect(await page.locator(".largest .amount").first().textContent()).toMatch(/iB ±\d/);
    expect(await cut(page.locator(".finding .off, .largest .off"))).toBe(0);
  });

  it("has no graph and no sites of a run without blocks, and leads to the line of its finding", async () => {
    const weights = data.weights.map((weight) => ({
      ...weight,
      values: weight.values.map(() => 0),
      total: 0,
    }));
    const finding = { ...data.findings[0], contexts: new Int32Array(0), weight: undefined };
    const page = await browser.open({ ...data, weights, findings: [finding], timelines: [] });
    const names = await page.getByRole("tab").allTextContents();
    expect(names.filter((name) => /Graph|Sites/.test(name))).toEqual([]);
    expect(await page.locator(".bar-of-tabs select").count()).toBe(0);
    await page.getByRole("button", { name: "Source", exact: true }).click();
    const line = `${data.frames.line[finding.path[0]]}`;
    await page.locator(".lines tbody tr").filter({ hasText: line }).first().waitFor();
  });

  it("says of each line, and of each box of the graph, how far its sum may be off", async () => {
    const [bytes, ...others] = data.weights;
    const deviations = bytes.values.map((value) => value / 100);
    const estimated = { ...data, weights: [{ ...bytes, deviations }, ...others] };
    const page = await browser.open(estimated, "tab=source&weight=bytes");
    const cells = await page.locator(".lines td.number:has(.value)").allTextContents();
    expect(cells.some((cell) => / B ±| KiB ±| MiB ±/.test(cell))).toBe(true);
    expect(await page.locator(".lines td.through").filter({ hasText: "±" }).count()).toBeGreaterThan(0);
    await tab(page, "Graph");
    await page.getByText("As a table", { exact: true }).click();
    const totals = await page.locator(".graph-table td:nth-child(4)").allTextContents();
    expect(totals.slice(1).filter((total) => !total.includes("±"))).toEqual([]);
    const picture = page.locator('[aria-roledescription="graph"]');
    const { width } = (await picture.boundingBox())!;
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await picture.hover({ position: { x: width / 20, y: 50 } });
      expect(await page.locator(".graph-tip").innerText()).toMatch(/ ±\d[^,]*, [\d.<]+ % of /);
    }
  });

  it("has sums in Sites, whatever the group, that add up to the totals", async () => {
    for (const group of ["path", "site", "line", "function", "file", "package"]) {
      const page = await browser.open(data, `tab=sites&group=${group}`);
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.getByRole("button", { name: "Copy as TSV" }).click();
      await page.getByText("rows copied").waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      const [heads, ...rows] = copied
        .trimEnd()
        .split("\n")
        .map((line) => line.split("\t"));
      for (const { label, total } of data.weights.filter(({ unit }) => unit === "bytes")) {
        const column = heads.indexOf(label);
        expect(
          rows.reduce((sum, row) => sum + Number(row[column]), 0),
          `${group} ${label}`,
        ).toBe(total);
      }
    }
  });

  it("leads from a finding to its sites, its source and its blocks, and back", async () => {
    const page = await browser.open(data);
    const first = page.locator(".finding").first();
    await first.getByRole("button", { name: "Sites" }).click();
    expect(hash(page)).toContain("finding=0");
    expect(await page.locator("footer .title").textContent()).toContain(
      `Finding 1: ${data.findings[0].kind}`,
    );
    await page.goBack();
    await first.getByRole("button", { name: "Source" }).click();
    expect(await page.locator(".lines tr.marked .line-number").textContent()).toBe(
      `${data.frames.line[data.findings[0].path[0]]}`,
    );
    await page.goBack();
    await first.getByRole("button", { name: "Blocks" }).click();
    expect(await page.locator(".block").count()).toBe(1);
    await page.goBack();
    expect(hash(page)).toBe("");
    expect(await first.locator(".details").count()).toBe(1);
  });

  it("begins Source with a file of the program, also where a library has more that nobody called", async () => {
    const { contexts, frames } = data;
    const library = [...frames.flags.keys()].find((frame) => frames.flags[frame] !== 0)!;
    // Except for one byte, the whole weight is in library frames without a caller in own code.
    const frame = contexts.frame.map((one, row) => (row === 0 ? one : library));
    const site = contexts.site.map((_, row) => (row === 0 ? 0 : -1));
    frame[0] = 0;
    const parent = contexts.parent.map(() => -1);
    const values = Float64Array.from({ length: contexts.length }, (_, row) => (row === 0 ? 1 : 1000));
    const total = values.reduce((sum, value) => sum + value);
    const page = await browser.open(
      {
        ...data,
        contexts: { length: contexts.length, parent, frame, site },
        weights: [{ ...data.weights[0], values, total }],
        ratios: [],
        findings: [],
        objects: [],
        timelines: [],
      },
      "tab=source",
    );
    expect(await page.locator(".lines h2").textContent()).toContain(data.strings[frames.file[0]]);
  });

  it("leads from blocks to the lines that store to them and load from them", async () => {
    const page = await browser.open(data, "tab=blocks");
    const { frames, contexts, objects } = data;
    for (const [says, by] of [
      ["Stored to by", objects[0].writtenBy],
      ["Loaded by", objects[0].readBy],
    ] as const) {
      await page.locator(".accesses").filter({ hasText: says }).first().getByRole("button").first().click();
      expect(hash(page)).toContain(`site=${by![0].context}`);
      const { site, frame } = contexts;
      const named = site[by![0].context];
      const line = frames.line[frame[named < 0 ? by![0].context : named]];
      expect(await page.locator(".lines tr.marked .line-number").textContent()).toBe(`${line}`);
      await page.goBack();
    }
  });

  it("shows the instructions beside the source when asked", async () => {
    const page = await browser.open(data, "tab=source&finding=0");
    expect(await page.locator(".instructions").count()).toBe(0);
    await page.getByRole("button", { name: "Instructions" }).click();
    expect(hash(page)).toContain("instructions=1");
    expect(await page.locator(".instructions").first().innerText()).toBe(
      "00001a  local.get 0\n00001c  call make\n3 more",
    );
  });

  it("shows a finding in the graph with the weight that it is about", async () => {
    const page = await browser.open(data);
    await page.locator(".finding").first().getByRole("button", { name: "Show in graph" }).click();
    expect(hash(page)).toBe(`#tab=graph&finding=0&weight=${data.findings[0].weight}`);
    await page.locator("canvas").first().waitFor();
    expect(await page.getByLabel("Weight").inputValue()).toBe(data.findings[0].weight);
  });

  it("keeps a range that is chosen in the time strip in all views", async () => {
    const page = await browser.open(data, "tab=sites");
    await page.getByLabel(/^live heap over/).focus();
    await page.keyboard.press("Home");
    for (let step = 0; step < 5; step++) await page.keyboard.press("Shift+ArrowRight");
    const chosen = /range=heap-\d+-\d+/.exec(hash(page))?.[0];
    expect(chosen).toBeDefined();
    expect(await page.locator(".whole-run").textContent()).toContain("bytes at the peak");
    await tab(page, "Findings");
    expect(hash(page)).toContain(chosen);
    expect(await page.locator(".in-range").count()).toBe(1);
  });

  it("goes on where one view fails, and says so", async () => {
    const broken = { ...data, objects: [{ ...data.objects[0], cells: undefined }] };
    const page = await browser.open(broken as unknown as typeof data, "tab=blocks");
    await page.getByRole("alert").waitFor();
    expect(browser.complaints.splice(0).length).toBeGreaterThan(0);
    await tab(page, "Findings");
    expect(await page.locator(".finding").count()).toBe(data.findings.length);
  });

  it("selects in one view what all the others show", async () => {
    const page = await browser.open(data, "tab=sites");
    const row = page.getByRole("row").nth(3);
    const name = await row.locator(".function").textContent();
    await row.click();
    const title = await page.locator("footer .title").textContent();
    expect(title).toContain(name);
    await tab(page, "Source");
    expect(await page.locator("footer .title").textContent()).toBe(title);
    const marked = page.locator(".lines tr.marked");
    expect(title).toContain(`:${await marked.locator(".line-number").textContent()}`);
    const other = page.locator("button.line-number").first();
    await other.click();
    expect(await page.locator("footer .title").textContent()).not.toBe(title);
    await page.keyboard.press("Escape");
    expect(await page.locator("footer .title").textContent()).toBe("Nothing selected");
  });

  it("comes back to the same place from its address", async () => {
    const page = await browser.open(data, "tab=sites");
    await page.getByLabel("Group by").selectOption("function");
    await page.getByLabel("Search and filter").fill("fn:~make1 bytes>1k");
    await page.getByRole("columnheader", { name: "blocks", exact: true }).getByRole("button").click();
    await page.getByRole("row").nth(1).click();
    await page.getByRole("button", { name: /libraries/ }).click();
    const look = () => page.evaluate(() => document.querySelector(".page")!.textContent);
    const before = await look();
    await page.goto("about:blank");
    await page.goBack();
    await page.waitForSelector(".page");
    expect(await look()).toBe(before);
  });

  it("recomputes what has a time in a range, and says what is of the whole run", async () => {
    const page = await browser.open(data, "tab=sites&range=heap-4-9&group=package");
    const deltas = data.timelines[0].deltas!;
    const bytes = deltas.columns[0].values.subarray(deltas.offset[4], deltas.offset[9]);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy as TSV" }).click();
    await page.getByText("rows copied").waitFor();
    const [heads, ...rows] = (await page.evaluate(() => navigator.clipboard.readText()))
      .trimEnd()
      .split("\n");
    const column = heads.split("\t").indexOf("bytes allocated");
    expect(rows.reduce((sum, row) => sum + Number(row.split("\t")[column]), 0)).toBe(
      bytes.reduce((sum, value) => sum + value, 0),
    );
    expect(await page.locator(".whole-run").textContent()).toContain("dead bytes");
    await tab(page, "Findings");
    expect(await page.locator(".in-range").first().textContent()).toMatch(/In the range: .* allocated/);
    await tab(page, "Cache");
    expect(await page.locator(".whole-run").textContent()).toContain("Whole run");
    await page.getByRole("button", { name: /show the whole run/ }).click();
    expect(hash(page)).not.toContain("range");
  });

  it("says what a filter does not understand, and clears it with Escape", async () => {
    const page = await browser.open(data, "tab=sites");
    await page.keyboard.press("/");
    await page.keyboard.type("size>1");
    expect(await page.locator("#filter-says").textContent()).toContain("No figure is named “size”");
    await page.keyboard.press("Escape");
    expect(await page.locator("#filter-says").textContent()).toBe("");
    expect(hash(page)).toBe("#tab=sites");
  });

  it("lists a call path once, however often its code is there", async () => {
    const [{ path, contexts: finds }] = data.findings;
    const [context] = finds;
    const { contexts, frames } = data;
    // A second copy of the call, at another address.
    const copy = <Column extends Int32Array | Float64Array | Uint8Array>(
      column: Column,
      row: number,
    ): Column => {
      const longer = new (column.constructor as new (length: number) => Column)(column.length + 1);
      longer.set(column);
      longer[column.length] = column[row];
      return longer;
    };
    const copied = {
      ...frames,
      length: frames.length + 1,
      function: copy(frames.function, path[0]),
      module: copy(frames.module, path[0]),
      file: copy(frames.file, path[0]),
      line: copy(frames.line, path[0]),
      column: copy(frames.column, path[0]),
      address: copy(frames.address, path[0]).map((address, frame) =>
        frame === frames.length ? 9e6 : address,
      ),
      flags: copy(frames.flags, path[0]),
      library: copy(frames.library, path[0]),
    };
    const frame = copy(contexts.frame, context);
    frame[contexts.length] = frames.length;
    const site = copy(contexts.site, context);
    if (contexts.site[context] === context) site[contexts.length] = contexts.length;
    const page = await browser.open({
      ...data,
      frames: copied,
      contexts: { length: contexts.length + 1, parent: copy(contexts.parent, context), frame, site },
      weights: data.weights.map((weight) => ({ ...weight, values: copy(weight.values, context) })),
      findings: data.findings.map((finding, index) =>
        index === 0 ? { ...finding, contexts: Int32Array.of(context, contexts.length) } : finding,
      ),
    });
    const paths = page.locator(".finding").first().locator(".paths");
    expect(await paths.locator("h3").textContent()).toBe("Call path");
    expect(await paths.locator("li").count()).toBe(1);
  });

  it("has the whole line of every place for which there is room, however short the name in front of it", async () => {
    const strings = data.strings.map((text, index) =>
      data.frames.function.includes(index) ? "f" : text.replace(/(\w+)\.cpp/, "a_file_with_a_$1_name.cpp"),
    );
    for (const width of [900, 1600]) {
      const page = await browser.open({ ...data, strings }, "", { viewport: { width, height: 900 } });
      const places = page.locator(".finding-head .place:visible, .largest .place");
      expect(await places.count()).toBeGreaterThan(2);
      expect(await cut(places)).toBe(0);
    }
  });

  it("cuts off callers before names, and names before lines", async () => {
    const strings = data.strings.map((text, index) =>
      data.frames.function.includes(index) ? `f${"_of_many_words".repeat(index % 2 === 0 ? 10 : 0)}` : text,
    );
    const page = await browser.open({ ...data, strings }, "tab=sites&group=path");
    const ofRow = page.locator(".table .frame");
    expect(await cut(ofRow.locator(".function"))).toBeGreaterThan(0);
    expect(await cut(ofRow.locator(".place"))).toBe(0);
    expect(await cut(ofRow.locator(".function").filter({ hasText: /^f$/ }))).toBe(0);
  });

  it("has the numbers of a line in sight, however long the line is", async () => {
    const sources = data.sources.map((source) => ({
      ...source,
      parts: source.parts.map((part) => ({ ...part, lines: part.lines.map(() => "x = y; ".repeat(60)) })),
    }));
    for (const width of [900, 1600]) {
      const page = await browser.open({ ...data, sources }, "", { viewport: { width, height: 900 } });
      const note = (await page.locator(".excerpt .note").boundingBox())!;
      expect(note.x).toBeLessThan(width / 4);
      expect(note.x + note.width).toBeLessThan(width);
    }
  });

  it("says of a run of which nothing was recorded why that is", async () => {
    const nothing = { ...data, kind: "run" as const, findings: [], objects: [], timelines: [], ratios: [] };
    const weights = data.weights.map((weight) => ({
      ...weight,
      values: weight.values.map(() => 0),
      total: 0,
    }));
    const head = { ...data.head, notTracked: ["No allocator was found."] };
    const page = await browser.open({ ...nothing, weights, head });
    await page.getByText("No findings: nothing was recorded.").waitFor();
    await page.locator("#view").getByText("No allocator was found.").waitFor();
  });

  it("counts the findings of a comparison that came, went and stayed", async () => {
    const findings = diff.findings.map((finding, index) => ({
      ...finding,
      change: index === 0 ? ("new" as const) : ("kept" as const),
    }));
    const page = await browser.open({ ...diff, findings });
    await page.getByText(`Findings: 1 new, 0 gone, ${findings.length - 1} unchanged.`).waitFor();
  });

  it("says that nothing changed, where nothing did", async () => {
    const same = { ...diff, weights: diff.weights.map((weight) => ({ ...weight, before: weight.values })) };
    const page = await browser.open({ ...same, findings: [] });
    await page.getByText("No change: bytes allocated.").waitFor();
  });

  it("does not say that all is well where it was not looked", async () => {
    const weights = data.weights.filter(({ id }) => ["bytes", "peak", "left"].includes(id));
    const page = await browser.open({ ...data, findings: [], weights, ratios: [] });
    await page.getByText(/Accesses were not recorded/).waitFor();
    // DHAT records blocks that were never read, but no accesses.
    const key = { label: "never read", word: "never-read", value: 1, unit: "bytes" } as const;
    const head = { ...data.head, keys: [key] };
    const dhat = await browser.open({ ...data, findings: [], weights, ratios: [], head });
    await dhat
      .getByText("No findings in the program's own code. Code without names is not searched.")
      .waitFor();
  });

  it("tells samples without names what brings these, on the first screen", async () => {
    const hint = "gzip has no symbols";
    const head = { ...data.head, hints: [hint] };
    const page = await browser.open({ ...data, kind: "samples", head, findings: [], objects: [] });
    await page.locator(".view-graph").getByText(hint).waitFor();
  });

  it("shows both sides of a comparison, and the difference", async () => {
    const page = await browser.open(diff, "tab=diff");
    const { total, totalBefore } = diff.weights[0];
    const cells = await page.locator(".totals tbody tr").first().locator("td").allTextContents();
    expect(cells.slice(0, 2)).toEqual([amount(totalBefore!, "bytes"), amount(total, "bytes")]);
    await page.locator("label", { hasText: "Show" }).locator("select").selectOption("before");
    expect(hash(page)).toContain("side=before");
  });

  it("is used with nothing but the keyboard", async () => {
    const page = await browser.open(data);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    expect(await focused(page)).toContain(data.findings[1].kind);
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    expect(await page.locator(".details").count()).toBe(0);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    expect(await page.locator(".details .says").textContent()).toBe(data.findings[1].says);
    await page.keyboard.press("Tab");
    await page.keyboard.press("?");
    expect(await page.getByRole("tab", { selected: true }).textContent()).toBe("Help");
    await page.getByRole("tab", { selected: true }).focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowLeft");
    expect(await page.getByRole("tab", { selected: true }).textContent()).toContain("Findings");
    await tab(page, "Sites");
    await page.locator("[data-row='0']").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const second = await page.locator("[data-row='1'] .function").textContent();
    expect(await page.locator("footer .title").textContent()).toContain(second);
    expect(await page.locator("[data-row='1']").getAttribute("aria-selected")).toBe("true");
  });

  it("scrolls through ten thousand rows of which few are there", async () => {
    const large = madeUpPage({ contexts: 20_000, intervals: 512 });
    const page = await browser.open(large, "tab=sites&group=path");
    await page.locator("[data-row='0']").focus();
    await page.keyboard.press("End");
    const last = Number(await page.getByRole("grid").getAttribute("aria-rowcount")) - 2;
    expect(last).toBeGreaterThan(9000);
    await page.locator(`[data-row='${last}']`).waitFor();
    expect(await page.evaluate(() => (document.activeElement as HTMLElement).dataset.row)).toBe(`${last}`);
    expect(await page.locator("[data-row]").count()).toBeLessThan(100);
  });

  it("prints all rows of Sites, and the findings that are open", async () => {
    const page = await browser.open(data, "tab=sites&group=path");
    const rows = Number(await page.getByRole("grid").getAttribute("aria-rowcount")) - 1;
    await page.emulateMedia({ media: "print" });
    await page.waitForFunction((count) => document.querySelectorAll("[data-row]").length === count, rows);
    expect(await page.getByText(/are printed/).isVisible()).toBe(true);
    await tab(page, "Findings").catch(() => page.goto(page.url().replace(/#.*/, "#")));
    expect(await page.locator(".details").first().isVisible()).toBe(true);
  });

  it("is light on paper, the pictures too", async () => {
    const page = await browser.open(data, "", { colorScheme: "dark" });
    const lightness = () =>
      page.evaluate(() => {
        const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
        pixel.drawImage(document.querySelector<HTMLCanvasElement>(".timeline canvas")!, 0, 0);
        const [red, green, blue] = pixel.getImageData(2, 2, 1, 1).data;
        return (red + green + blue) / 3;
      });
    expect(await lightness()).toBeLessThan(80);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    expect(await lightness()).toBeGreaterThan(200);
    await page.emulateMedia({ media: "print" });
    expect(await page.locator(".timeline canvas").first().isVisible()).toBe(true);
    await page.emulateMedia({ media: "screen" });
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    expect(await lightness()).toBeLessThan(80);
  });

  it("tells politely that it cannot show data of another version, or none", async () => {
    const newer = await browser.open({ ...data, version: 99 });
    expect(await newer.locator(".cannot-show p").textContent()).toContain("version 99");
    const broken = await browser.open("nothing");
    expect(await broken.locator(".cannot-show p").textContent()).toContain("damaged");
  });

  it("remembers the colours that were chosen, else follows the system", async () => {
    const page = await browser.open(data, "", { colorScheme: "dark" });
    const isOf = (scheme: string) =>
      page.waitForFunction((wanted) => document.documentElement.dataset.scheme === wanted, scheme);
    await isOf("dark");
    await page.emulateMedia({ colorScheme: "light" });
    await isOf("light");
    const button = page.getByRole("button", { name: /Colours/ });
    await button.click();
    await button.click();
    await isOf("dark");
    await page.reload();
    await isOf("dark");
  });
});
