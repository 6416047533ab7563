// Takes the pictures of the report page for the documentation: `node scripts/screenshots.ts`, after a build. The demo's program runs, and
// its page is opened in the system's Chromium, in both colour schemes.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CHROMIUM = "/usr/bin/chromium";
const MOST_BYTES = 200 * 1024;

/** Position in the page for each picture, by name of the picture. */
const PICTURES: Readonly<Record<string, { readonly hash: string; readonly height: number }>> = {
  findings: { hash: "", height: 900 },
  source: { hash: "tab=source&finding=2&weight=dead", height: 760 },
};

const folder = mkdtempSync(join(tmpdir(), "memshade-screenshots-"));
try {
  const file = writeDemoPage();
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu"],
  });
  for (const [name, { hash, height }] of Object.entries(PICTURES))
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await browser.newPage({
        viewport: { width: 1200, height },
        colorScheme,
        reducedMotion: "reduce",
      });
      await page.goto(`${pathToFileURL(file).href}#${hash}`);
      await page.waitForSelector("#view *");
      const path = join(ROOT, "docs", `page-${name}-${colorScheme}.png`);
      await page.screenshot({ path });
      await page.close();
      const { size } = statSync(path);
      if (size > MOST_BYTES) throw new Error(`${path} has ${size} bytes, more than ${MOST_BYTES}`);
      console.log(`docs/page-${name}-${colorScheme}.png: ${size} bytes`);
    }
  await browser.close();
} finally {
  rmSync(folder, { recursive: true });
}

/** Runs the demo's program with all tools, and returns its page. */
function writeDemoPage(): string {
  const demo = join(ROOT, "packages/memshade/demo");
  const memshade = (...args: string[]) =>
    execFileSync(process.execPath, [join(ROOT, "packages/memshade/bin/memshade.js"), ...args], {
      cwd: demo,
      stdio: "ignore",
    });
  const run = join(folder, "run");
  const page = join(folder, "page.html");
  memshade("run", "--tool", "heap,waste,workingset", "--out", run, "shop.wasm");
  memshade("report", run, "--html", page);
  if (!readFileSync(page, "utf8").startsWith("<!doctype html>")) throw new Error(`${page} is no page`);
  return page;
}
