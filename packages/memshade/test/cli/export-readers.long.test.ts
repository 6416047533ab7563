import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAIN } from "../command.ts";
import { memshade, newFolder } from "./support/command-line.ts";

/*
 * Exports of one run, opened by the programs that the formats come from. The run is the demo's, whose blocks are
 * known.
 */

const require = createRequire(import.meta.url);
const SPEEDSCOPE = join(dirname(require.resolve("speedscope/package.json")), "dist/release/index.html");
const PROFILER_CLI = join(
  dirname(require.resolve("@firefox-devtools/profiler-cli/package.json")),
  "dist/profiler-cli.js",
);
const PROGRAM = fileURLToPath(new URL("../../demo/shop.wasm", import.meta.url));
const CHROMIUM = "/usr/bin/chromium";
const DHAT_VIEWER = "/usr/libexec/valgrind/dh_view.html";
const hasGo = spawnSync("go", ["version"]).status === 0;
const hasChromium = existsSync(CHROMIUM);
const hasDhat = hasChromium && existsSync(DHAT_VIEWER);
if (!hasGo) console.warn("SKIPPED: go is not installed, its pprof does not read what is exported");
if (!hasChromium) console.warn("SKIPPED: Chromium is not installed, viewers that are pages are not tried");
if (!hasDhat) console.warn("SKIPPED: Valgrind's dh_view.html is not installed (Debian: valgrind)");

const cwd = newFolder();
const run = join(cwd, "shop");

async function exported(name: string, ...words: string[]): Promise<string> {
  const { stderr, code } = await memshade(["export", "shop", ...words, "-o", name], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`written to ${name}`) });
  return join(cwd, name);
}

interface Totals {
  allocatedBytes: number;
  allocations: number;
  peakBytes: number;
  peakBlocks: number;
  liveBytes: number;
  liveBlocks: number;
}
let heap: Totals;
let waste: Record<string, number>;

beforeAll(async () => {
  const words = ["run", "--tool", "heap,waste,workingset", "--who", "--out", run, PROGRAM];
  expect((await memshade(words, { cwd })).code).toBe(0);
  const { stdout } = await memshade(["report", "shop", "--json", "--full"], { cwd });
  const { tools } = JSON.parse(stdout);
  heap = tools.heap.totals;
  waste = tools.waste.totals;
});

describe.skipIf(!hasGo)("go tool pprof", () => {
  function pprof(...words: string[]): string {
    const env = { ...process.env, HOME: cwd, PPROF_TMPDIR: cwd };
    const { stdout, stderr, status } = spawnSync("go", ["tool", "pprof", ...words], { cwd, env });
    expect(status, `${stderr}`).toBe(0);
    return `${stdout}`;
  }

  it("shows each weight of the heap, with its total", async () => {
    const file = await exported("heap.pb.gz", "--format", "pprof");
    const totals = {
      alloc_objects: heap.allocations,
      alloc_space: heap.allocatedBytes,
      peak_objects: heap.peakBlocks,
      peak_space: heap.peakBytes,
      inuse_objects: heap.liveBlocks,
      inuse_space: heap.liveBytes,
    };
    // With a unit, the tool prints all digits, of counts too.
    for (const [type, total] of Object.entries(totals))
      expect(pprof("-top", "-unit=B", `-sample_index=${type}`, file)).toContain(`of ${total}B total`);
    expect(pprof("-top", "-inuse_space", file)).toMatch(
      /Type: inuse_space\n.*\n.*\n +35\.16kB.* take_order\n/,
    );
  });

  it("shows the peak first, the lines, and what belongs to nobody's code", async () => {
    const file = await exported("heap.pb.gz", "--format", "pprof");
    expect(pprof("-top", file)).toContain("Type: peak_space");
    expect(pprof("-lines", "-top", file)).toMatch(/take_order .*shop\.c:42/);
    const raw = pprof("-raw", file);
    expect(raw).toMatch(/^1: 0x0\/0x[0-9a-f]+\/0x0 shop\.wasm [0-9a-f]{40} \[FN\]/m);
    expect(raw).toMatch(/0x136 M=1 take_order \.\/shop\.c:42/);
  });

  it("shows what was stored for nothing", async () => {
    const file = await exported("waste.pb.gz", "--format", "pprof", "--tool", "waste");
    const dead = waste.deadOverwritten!;
    expect(pprof("-top", "-unit=B", file)).toContain(`of ${dead}B total`);
    expect(pprof("-top", "-sample_index=loads", file)).toContain(`of ${waste.loads} total`);
    expect(pprof("-lines", "-top", file)).toMatch(/print_bill .*shop\.c:64/);
  });
});

describe("the Firefox Profiler's own reader", () => {
  const home = join(cwd, "home");
  mkdirSync(home);
  const call = (...words: string[]) =>
    spawnSync(process.execPath, [PROFILER_CLI, ...words], {
      cwd,
      encoding: "utf8",
      env: { ...process.env, HOME: home, NODE_OPTIONS: "" },
    });

  /** Loads the file. The tool waits only briefly for its own reader process, which may start late on a busy machine. */
  async function opened(file: string): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      if (call("load", file).status === 0 && call("profile", "info").status === 0) return;
      await new Promise((done) => setTimeout(done, 500));
      if (call("profile", "info").status === 0) return;
      call("stop", "--all");
    }
    throw new Error(`not opened: ${file}`);
  }

  function shown(...words: string[]): string {
    const { stdout, stderr, status } = call(...words);
    expect(status, stderr).toBe(0);
    return stdout;
  }
  afterAll(() => void call("stop", "--all"));

  it("has a track per weight, what is live over time, and who allocated when", async () => {
    const file = await exported("heap.firefox.json", "--format", "firefox");
    const { threads } = JSON.parse(readFileSync(file, "utf8")) as { threads: { name: string }[] };
    await opened(file);
    const info = shown("profile", "info");
    expect(info).toContain("Name: heap of shop");
    expect(info).toMatch(/Thread: t-\d+ \(peak_space\)/);
    expect(info).toMatch(/c-0: live heap \[\d{3} samples\]/);
    const peak = shown("thread", "samples");
    expect(peak).toContain(`${heap.peakBytes} running samples`);
    expect(peak).toContain("take_order - self: 36.0KB (82.7%)");
    shown("zoom", "push", "1,2");
    const track = `t-${threads.findIndex(({ name }) => name === "alloc_space over time")}`;
    const inBetween = shown("thread", "samples", "--thread", track);
    expect(inBetween).toMatch(/write_journal - self: 2\d\.\dKB/);
    shown("stop", "--all");
  });

  it("reads waste and working sets too", async () => {
    await opened(await exported("waste.firefox.json", "--format", "firefox", "--tool", "waste"));
    expect(shown("thread", "samples")).toContain("print_bill - self: 1.03MB (99.6%)");
    shown("stop", "--all");
    await opened(await exported("lines.firefox.json", "--format", "firefox", "--tool", "workingset"));
    expect(shown("profile", "info")).toMatch(/\(first_touch_space\)/);
    expect(shown("counter", "list")).toContain("working set (Memory)");
    shown("stop", "--all");
  });
});

describe.skipIf(!hasChromium)("viewers that are pages", () => {
  let browser: Browser;
  let port: number;
  beforeAll(async () => {
    port = await freePort();
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: [
        "--no-sandbox",
        "--disable-background-networking",
        "--disable-component-update",
        `--remote-debugging-port=${port}`,
      ],
    });
  });
  afterAll(() => browser?.close());

  /** Text that a page shows for a file that is put into its only file field. */
  async function shownBy(address: string, file: string, name: string, keys: string, wanted: string) {
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on("pageerror", ({ message }) => errors.push(message));
    await page.goto(address);
    await page.waitForSelector("input[type=file]", { state: "attached" });
    await page.setInputFiles("input[type=file]", {
      name,
      mimeType: "application/octet-stream",
      buffer: readFileSync(file),
    });
    const text = () => page.evaluate("document.body.innerText") as Promise<string>;
    for (let tries = 0; tries < 100 && !(await text()).includes(wanted); tries++) {
      if (keys !== "") await page.keyboard.press(keys);
      await page.waitForTimeout(100);
    }
    const shown = await text();
    await page.close();
    expect(errors).toEqual([]);
    return shown;
  }

  it.each([
    ["speedscope", "shop.speedscope.json", "peak_space (15/"],
    ["pprof", "shop.pb.gz", "shop.pb.gz"],
    ["heapprofile", "shop.heapprofile", "shop.heapprofile"],
    ["folded", "shop.folded", "shop.folded"],
  ])("speedscope opens %s", async (format, name, title) => {
    const page = pathToFileURL(SPEEDSCOPE).href;
    const shown = await shownBy(page, await exported(name, "--format", format), name, "3", "take_order");
    expect(shown).toContain(title);
    expect(shown.replaceAll(/\s+/g, " ")).toMatch(
      format === "folded" ? /36,000 \(83%\) take_order/ : /35\.16 KB \(83%\) take_order/,
    );
  });

  it.skipIf(!hasDhat).each([
    [
      "heap",
      [
        "Total:     261,024 bytes (100%, 43,496,750.54/million allocations) in 6,001 blocks",
        "At t-gmax: 43,552 bytes (100%) in 1,052 blocks (100%)",
        "At t-end:  36,000 bytes (100%) in 1,000 blocks (100%)",
        "0x219: write_journal (./shop.c:78:25)",
      ],
    ],
    ["waste", ["Total:     1,024,000 bytes (99", "Stored in vain at {", "print_bill (./shop.c:64"]],
    ["workingset", ["in 912 lines (100%", "Lines touched first at {"]],
  ] as const)("DHAT's viewer opens the %s", async (tool, lines) => {
    const file = await exported(`${tool}.dhat.json`, "--format", "dhat", "--tool", tool);
    const shown = await shownBy(pathToFileURL(DHAT_VIEWER).href, file, "dhat", "", "PP 1/1");
    for (const line of lines) expect(shown).toContain(line);
  });

  it("Chrome DevTools open heap profiles", async () => {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${port}/devtools/devtools_compatibility.js`);
    const file = await exported("shop.heapprofile", "--format", "heapprofile", "--by", "live");
    const tree = (await page.evaluate(`(${IN_DEVTOOLS})(${readFileSync(file, "utf8")})`)) as string[];
    expect(tree.at(-1)).toBe("take_order ./shop.c:41 36000 of 36000");
    expect(tree[0]).toBe("(root) :-1 0 of 36000");
  });
});

/** Nodes of a profile in the page's own model, as an expression that the page runs. */
const IN_DEVTOOLS = `async (profile) => {
  const { HeapProfileView } = await import("/devtools/panels/profiler/profiler.js");
  const lines = [];
  const visit = ({ functionName, url, lineNumber, self, total, children }) => {
    lines.push(functionName + " " + url + ":" + lineNumber + " " + self + " of " + total);
    children.forEach(visit);
  };
  visit(new HeapProfileView.SamplingHeapProfileModel(profile).root);
  return lines;
}`;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

describe("on a terminal", () => {
  const hasScript = spawnSync("script", ["--version"]).status === 0;

  function onTerminal(...words: string[]): string {
    const line = [process.execPath, MAIN, ...words].join(" ");
    return spawnSync("script", ["-qec", line, "/dev/null"], { cwd, encoding: "utf8" }).stdout;
  }

  it.skipIf(!hasScript)("a file is written, which is named after run, weight and format", () => {
    expect(onTerminal("export", "shop", "--format", "pprof")).toContain("written to shop.heap.pb.gz;");
    expect(onTerminal("export", "shop", "--format", "folded")).toContain("written to shop.peak.folded;");
    expect(readFileSync(join(dirname(run), "shop.peak.folded"), "utf8")).toContain("take_order 36000\n");
    expect(onTerminal("export", "shop", "--format", "pprof", "-o", "-")).toMatch(
      /pprof files are binary: .*-o FILE/,
    );
  });
});
