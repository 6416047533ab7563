import { existsSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll } from "vitest";
import { bundleAgent } from "../../../../../scripts/bundle.ts";
import type { Run } from "../../../../../src/profile/model/run.ts";
import {
  newFolder,
  type Outcome,
  readRun,
  type Started,
  startMemshade,
} from "../../../../cli/support/command-line.ts";

export const CHROMIUM = process.env.CHROME_PATH ?? "/usr/bin/chromium";
export const isInstalled = existsSync(CHROMIUM);
if (!isInstalled)
  console.warn("SKIPPED: Chromium is not installed, no web page is profiled (Debian: chromium)");
else await bundleAgent();

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html",
  js: "text/javascript",
  mjs: "text/javascript",
  wasm: "application/wasm",
};

/** Files of a site by path; `/` is the page. */
export type Site = Readonly<Record<string, string | Uint8Array>>;

export interface SiteOptions {
  /** True if pages may share memory between threads. */
  isolated?: boolean;
  headers?: Readonly<Record<string, string>>;
}

/** A server for a site. Pages report by `fetch("/told", { method: "POST", body })`. */
export interface Served {
  url: string;
  told: string[];
  next(): Promise<string>;
}

const closing: (() => void)[] = [];
afterAll(() => {
  for (const close of closing) close();
});

export async function serve(
  site: Site,
  { isolated = false, headers = {} }: SiteOptions = {},
): Promise<Served> {
  const waiting: ((text: string) => void)[] = [];
  let taken = 0;
  const served: Served = {
    url: "",
    told: [],
    next: () =>
      taken < served.told.length
        ? Promise.resolve(served.told[taken++])
        : new Promise((done) => {
            taken++;
            waiting.push(done);
          }),
  };
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url!, "http://localhost");
    if (pathname === "/told") {
      const text = await bodyOf(request);
      served.told.push(text);
      waiting.shift()?.(text);
      response.end();
      return;
    }
    answer(response, pathname, site[pathname], {
      ...(isolated
        ? { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" }
        : {}),
      "Cross-Origin-Resource-Policy": "cross-origin",
      ...headers,
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  served.url = `http://localhost:${(server.address() as AddressInfo).port}/`;
  return served;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

function answer(
  response: ServerResponse,
  path: string,
  contents: string | Uint8Array | undefined,
  headers: Readonly<Record<string, string>>,
): void {
  const type = path.endsWith("/")
    ? "text/html"
    : (TYPES[path.slice(path.lastIndexOf(".") + 1)] ?? "text/plain");
  response.writeHead(contents === undefined ? 404 : 200, { ...headers, "Content-Type": type });
  response.end(contents);
}

export interface Browsed extends Outcome {
  told: string;
  /** Folder of the run, and the content of its `run.json`; undefined if there is none. */
  folder: string;
  run: Run | undefined;
}

/** Opens a page with memshade, and ends the run after the page's first report. */
export async function browse(
  site: Site,
  { args = [], ...options }: SiteOptions & { args?: readonly string[] } = {},
): Promise<Browsed> {
  return browseAt(await serve(site, options), args);
}

export async function browseAt(served: Served, args: readonly string[] = []): Promise<Browsed> {
  const { started, folder } = open(served.url, args);
  const told = await Promise.race([
    served.next(),
    started.ended.then(({ stderr }) => {
      throw new Error(`it ended before the page told anything: ${stderr}`);
    }),
  ]);
  started.child.kill("SIGINT");
  return { ...(await ended(started, folder)), told };
}

export function open(url: string, args: readonly string[] = []): { started: Started; folder: string } {
  const folder = join(newFolder(), "run");
  const started = startMemshade(
    ["browser", "--headless", "--browser", CHROMIUM, "--out", folder, ...args, url],
    { cwd: newFolder(), input: "" },
  );
  return { started, folder };
}

export async function ended(started: Started, folder: string): Promise<Omit<Browsed, "told">> {
  const outcome = await started.ended;
  return { ...outcome, folder, run: existsSync(join(folder, "run.json")) ? readRun(folder) : undefined };
}
