/** Pages that report their results, opened in Chromium alone and by memshade. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const CHROMIUM = process.env.CHROME_PATH ?? "/usr/bin/chromium";
export const MEMSHADE = fileURLToPath(new URL("../../packages/memshade/bin/memshade.js", import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".cjs": "text/javascript",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
};
/** Function `tell`, by which a page reports the result of a promise. */
const TELL = `<script>const tell = (promise) =>
  promise.then(String, (error) => "failed: " + error).then((body) => fetch("/told", { method: "POST", body }));</script>`;

export interface Site {
  url: string;
  /** The page's report. */
  told: Promise<string>;
  close(): void;
}

/**
 * Serves a page until it has reported its result.
 * @param read returns the content of a path; undefined: not found
 * @param path path of the page
 */
export async function serve(
  read: (path: string) => string | Buffer | undefined,
  path: string,
  isIsolated = false,
): Promise<Site> {
  let tell!: (text: string) => void;
  const told = new Promise<string>((done) => {
    tell = done;
  });
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url!, "http://localhost");
    if (pathname === "/told") {
      let text = "";
      for await (const piece of request) text += piece;
      tell(text);
      response.end();
      return;
    }
    const contents = read(pathname);
    const type = TYPES[extname(pathname)] ?? (pathname === "/" ? "text/html" : "application/octet-stream");
    response.writeHead(contents === undefined ? 404 : 200, {
      "Content-Type": type,
      ...(isIsolated
        ? { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" }
        : {}),
    });
    response.end(type === "text/html" ? String(contents).replace("<!doctype html>", `$&${TELL}`) : contents);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}${path}`,
    told: Promise.race([told, late()]),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Rejects after the time limit of a page. */
async function late(): Promise<string> {
  await setTimeout(120_000, undefined, { ref: false });
  return "failed: nothing was told";
}

const ended = (child: ChildProcess): Promise<unknown> => new Promise((done) => child.on("exit", done));

export async function tellPlain({ url, told, close }: Site): Promise<string> {
  const profile = mkdtempSync(join(tmpdir(), "memshade-plain-"));
  const args = ["--headless", "--no-sandbox", "--disable-dev-shm-usage", `--user-data-dir=${profile}`, url];
  const child = spawn(CHROMIUM, args, { stdio: "ignore", detached: true });
  const end = ended(child);
  const text = await told;
  process.kill(-child.pid!, "SIGKILL");
  await end;
  close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  return text;
}

/** @returns the page's report, the folder of the run, and the time of a dump, ms */
export async function tellProfiled(
  { url, told, close }: Site,
  options: readonly string[] = [],
): Promise<{ told: string; folder: string; dumpMs: number }> {
  const folder = join(mkdtempSync(join(tmpdir(), "memshade-page-")), "run");
  const args = ["browser", "--headless", "--browser", CHROMIUM, "--out", folder, ...options, url];
  const child = spawn(process.execPath, [MEMSHADE, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  const end = ended(child);
  const text = await told;
  const start = performance.now();
  const dumped = new Promise<void>((done) =>
    child.stderr.on("data", (data) => {
      if (/dump written|nothing to dump/.test(String(data))) done();
    }),
  );
  child.kill("SIGUSR2");
  await Promise.race([dumped, end]);
  const dumpMs = performance.now() - start;
  child.kill("SIGINT");
  await end;
  close();
  return { told: text, folder, dumpMs };
}
