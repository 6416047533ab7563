import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodePage } from "../../../src/show/report/page/data/decode.ts";
import type { PageData } from "../../../src/show/report/page/data/page-data.ts";
import { MAIN } from "../../command.ts";
import { heapPicture, writePicture } from "../../heap-picture.ts";
import { DATABASE } from "../../show/report/pictures.ts";

const demo = fileURLToPath(new URL("../../../demo", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "memshade-page-"));
afterAll(() => rmSync(folder, { recursive: true }));

function memshade(...words: string[]) {
  const environment = { ...process.env, DISPLAY: "", WAYLAND_DISPLAY: "", WSL_DISTRO_NAME: "" };
  const { stdout, stderr, status } = spawnSync(process.execPath, [MAIN, ...words], {
    cwd: folder,
    encoding: "utf8",
    env: environment,
  });
  return { stdout, stderr, status };
}

async function pageIn(file: string): Promise<PageData> {
  const html = readFileSync(join(folder, file), "utf8");
  return decodePage(/<script type="application\/vnd\.memshade" id="data">([^<]*)<\/script>/.exec(html)![1]!);
}

const weight = (page: PageData, id: string) => page.weights.find((one) => one.id === id)!;

beforeAll(() => {
  cpSync(demo, join(folder, "shop"), { recursive: true });
  const tools = [
    "--tool",
    "heap,waste,workingset",
    "--exact-histogram",
    "--objects",
    "--locality",
    "--locality-rate=1",
    "--who",
  ];
  const { status, stderr } = memshade("run", ...tools, "--out", "run", "shop/shop.wasm");
  expect(status, stderr).toBe(0);
});

describe("memshade report --html", () => {
  it("writes a page into the run's folder, says where, and has the sums of --json in it", async () => {
    const { status, stdout, stderr } = memshade("report", "run", "--html", "--open");
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
    expect(stderr).toMatch(
      /^memshade: page written to run\/report\.html \(\d+ KiB\)\nmemshade: open it in a browser: file:\/\/\//,
    );
    const page = await pageIn("run/report.html");
    const { summary, tools } = JSON.parse(memshade("report", "run", "--json", "--full").stdout);
    const { totals } = tools.heap;
    expect(weight(page, "bytes").total).toBe(totals.allocatedBytes);
    expect(weight(page, "accesses").total).toBe(totals.heapAccesses);
    expect(weight(page, "peak").total).toBe(totals.peakBytes);
    expect(weight(page, "left").total).toBe(totals.liveBytes);
    const waste = tools.waste.totals;
    expect(weight(page, "dead").total).toBe(waste.deadOverwritten);
    expect(weight(page, "dead-ended").total).toBe(waste.deadDeallocated + waste.deadExit);
    expect(weight(page, "written").total).toBe(waste.bytesWritten);
    expect(weight(page, "loads").total).toBe(waste.loads);
    expect(weight(page, "silent").total).toBe(waste.silentStores);
    expect(weight(page, "misses").total).toBeCloseTo(tools.workingset.instances[0].curves.sites.misses, 6);
    for (const { values, total } of page.weights)
      expect(values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(total, 6);
    expect(page.findings.slice(0, 5).map(({ says }) => says)).toEqual(
      // The page names files as the terminal does.
      summary.map(({ says }: { says: string }) => says.replace("./shop.c", "shop.c")),
    );
    // Each of the five problems planted in the program is reported with its contexts, whose sum is the finding's amount.
    for (const finding of page.findings.filter(({ kind }) => kind !== "silent")) {
      const { values } = weight(page, finding.weight!);
      expect(
        [...finding.contexts].reduce((sum, row) => sum + values[row]!, 0),
        finding.says,
      ).toBe(finding.amount);
    }
  });

  it("has source, blocks, caches and time of the demo", async () => {
    const page = await pageIn("run/report.html");
    const source = page.sources.find(({ file }) => page.strings[file]!.endsWith("shop.c"))!;
    const [{ first, lines }] = source.parts as [{ first: number; lines: string[] }];
    expect(lines[42 - first]).toContain("malloc(sizeof *order)");
    const entry = page.objects.find(({ type }) => type?.name === "entry")!;
    expect(Array.from(entry.cells.name, (name) => page.strings[name])).toEqual([
      "customer",
      "total",
      "products",
    ]);
    expect([...entry.cells.reads!]).toEqual([0, 0, 0]);
    const lineOf = ({ context }: { context: number }) => page.frames.line[page.contexts.frame[context]!];
    expect(new Set(entry.writtenBy!.map(lineOf))).toEqual(new Set([79, 80, 81]));
    expect(entry.readBy).toEqual([]);
    const cleared = page.code!.find(
      ({ line, file }) => line === 64 && page.strings[file]!.endsWith("shop.c"),
    );
    expect(cleared!.text).toEqual(["memory.fill"]);
    expect(page.cache!.caches.length).toBeGreaterThan(5);
    const [heap, workingset] = page.timelines;
    expect([heap!.tool, workingset!.tool]).toEqual(["heap", "workingset"]);
    const { offset, columns } = heap!.deltas!;
    expect(offset.at(-1)).toBe(columns[0]!.values.length);
    const allocated = columns
      .find(({ weight: id }) => id === "bytes")!
      .values.reduce((sum, value) => sum + value, 0);
    expect(allocated).toBe(weight(page, "bytes").total);
  });

  it("is the same byte for byte when it is written again, and stays in the demo's bounds", () => {
    memshade("report", "run", "--html", "again.html");
    expect(readFileSync(join(folder, "again.html"))).toEqual(readFileSync(join(folder, "run/report.html")));
    expect(statSync(join(folder, "again.html")).size).toBeLessThan(250 * 1024);
  });

  it("carries no source where none is wanted, and all of it where all is", async () => {
    memshade("report", "run", "--html", "none.html", "--html-sources", "none");
    const none = await pageIn("none.html");
    expect([none.sources, none.code]).toEqual([[], undefined]);
    memshade("report", "run", "--html", "all.html", "--html-sources", "all");
    const [source] = (await pageIn("all.html")).sources;
    const text = readFileSync(join(folder, "shop/shop.c"), "utf8").split("\n");
    expect(source!.parts).toEqual([{ first: 1, lines: text }]);
  });

  it("takes a run for the run that stands behind --html, and never writes over it", () => {
    const { stderr } = memshade("report", "--html", "run");
    expect(stderr).toContain("page written to run/report.html");
    const raw = readFileSync(join(folder, "run/heap.memprofraw"));
    expect(memshade("report", "--html", "run/heap.memprofraw").stderr).toContain(
      "page written to run/report.html",
    );
    expect(readFileSync(join(folder, "run/heap.memprofraw"))).toEqual(raw);
  });

  it("says in a line what is wrong", () => {
    for (const [words, sentence] of [
      [["run", "--html", "--json"], "--html and --json are different forms of the report: give one of them"],
      [["run", "--html", "shop"], "--html shop: it is a folder; name a file in it, such as shop/report.html"],
      [["run", "--html", "nowhere/page.html"], "nowhere/page.html"],
      [["run", "--html-sources", "some"], "--html-sources takes one of all, lines, none"],
    ] as const) {
      const { status, stdout, stderr } = memshade("report", ...words);
      expect({ status, stdout }, stderr).toEqual({ status: 2, stdout: "" });
      expect(stderr).toMatch(/^memshade: .*\n$/);
      expect(stderr).toContain(sentence);
    }
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });

  it("goes with the run when that is recorded anew", () => {
    const run = writePicture(join(folder, "again"), heapPicture(DATABASE));
    memshade("report", run, "--html");
    expect(existsSync(join(run, "report.html"))).toBe(true);
    const { status, stderr } = memshade("run", "--out", "again", "shop/shop.wasm");
    expect(status, stderr).toBe(0);
    expect(existsSync(join(run, "report.html"))).toBe(false);
    writeFileSync(join(run, "mine.html"), "");
    expect(memshade("run", "--out", "again", "shop/shop.wasm").stderr).toContain(
      "other files than a finished run (mine.html)",
    );
  });
});

describe("memshade diff --html", () => {
  it("shows what both runs have, and ends as diff does", async () => {
    const { stderr, stdout } = memshade("diff", "run", "run", "--html");
    expect(stdout).toBe("");
    expect(stderr).toContain("page written to run/diff.html");
    const page = await pageIn("run/diff.html");
    expect(page.kind).toBe("diff");
    for (const { values, before } of page.weights) expect(values).toEqual(before);
    expect(memshade("diff", "run", "run,run", "--html").stderr).toContain(
      "--html compares one run with another",
    );
  });
});
