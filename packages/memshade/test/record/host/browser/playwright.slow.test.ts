import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { describe, expect, it } from "vitest";
import { memshade, newFolder, readRun } from "../../../cli/support/command-line.ts";
import { assemble, LIBRARY } from "../../../cli/support/programs.ts";
import { CHROMIUM, isInstalled, serve } from "./support/browse.ts";

const SHIM = fileURLToPath(new URL("../../../../bin/memshade.js", import.meta.url));
const isBuilt = existsSync(fileURLToPath(new URL("../../../../dist/main.js", import.meta.url)));
if (!isBuilt) console.warn("SKIPPED: the package is not built, no test suite is profiled");

const MAKE = `const make = async () =>
  (await WebAssembly.instantiateStreaming(fetch("/library.wasm"), { host: { notify() {} } })).instance.exports;`;

const SITE = {
  "/library.wasm": assemble(LIBRARY),
  "/worker.js": `${MAKE} make().then((wasm) => postMessage(wasm.fill(4)));`,
  "/": `<!doctype html><script>${MAKE}
    const filled = Promise.all([
      make().then((wasm) => wasm.fill(1)),
      new Promise((done) => { new Worker("/worker.js").onmessage = ({ data }) => done(data); }),
    ]).then(String);
  </script>`,
  "/next.html": `<!doctype html><script>${MAKE} const filled = make().then((wasm) => String(wasm.fill(2)));</script>`,
};

describe.skipIf(!isInstalled || !isBuilt)("Playwright with memshade in the place of Chromium", () => {
  it("sees what it would see, and leaves one profile of all contexts, pages and workers", async () => {
    const served = await serve(SITE);
    const out = join(newFolder(), "run");
    const browser = await chromium.launch({
      executablePath: SHIM,
      args: ["--no-sandbox"],
      env: { ...process.env, MEMSHADE_OUT: out, MEMSHADE_CHROMIUM: CHROMIUM } as Record<string, string>,
    });
    const [heard, requested]: string[][] = [[], []];
    for (let i = 0; i < 2; i++) {
      const context = await browser.newContext();
      const page = await context.newPage();
      page.on("console", (message) => heard!.push(message.text()));
      page.on("request", (request) => requested!.push(new URL(request.url()).pathname));
      await page.goto(served.url);
      expect(await page.evaluate("filled")).toBe("4096,4240");
      expect(
        await page.evaluate("Object.keys(globalThis).filter((name) => name.includes('memshade'))"),
      ).toEqual([]);
      await page.goto(`${served.url}next.html`);
      expect(await page.evaluate("filled")).toBe("4144");
      if (i === 0) await context.close();
    }
    await browser.close();
    expect(readRun(out)).toMatchObject({
      modules: [{ instances: 6 }],
      heap: { allocations: 2 * (1 + 4 + 2) },
    });
    expect(heard!.filter((text) => text.includes("memshade"))).toEqual([]);
    expect(requested!.filter((path) => path.includes("memshade"))).toEqual([]);
    expect(readFileSync(join(out, "report.html"), "utf8")).toContain("library.wasm");
  });

  it("is told by what to reach the browser", async () => {
    const cwd = newFolder();
    const { code, stderr } = await memshade(
      ["browser", "--as-browser", "--", CHROMIUM, "--remote-debugging-port=0"],
      { cwd },
    );
    expect(stderr).toMatch(
      /^memshade: the client connects to the browser by --remote-debugging-port=0: .*pipe.*\n$/,
    );
    expect(code).toBe(2);
  });
});
