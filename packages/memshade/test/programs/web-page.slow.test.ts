import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openForPage } from "../../scripts/bundle.ts";
import { profileFiles, type WatchedInstance, watchInstance } from "../../src/record/host/loader.ts";
import { instrument } from "../../src/record/tools/index.ts";

const CHROMIUM = "/usr/bin/chromium";
const installed = existsSync(CHROMIUM);
if (!installed)
  console.warn("SKIPPED: Chromium is not installed, no profile is taken in a web page (Debian: chromium)");

const LOADER = fileURLToPath(new URL("../../src/record/host/loader.ts", import.meta.url));
const SQL_JS = dirname(createRequire(import.meta.url).resolve("sql.js"));
const ORIGINAL = new Uint8Array(readFileSync(join(SQL_JS, "sql-wasm-browser.wasm")));
const PROFILED = instrument(ORIGINAL, { name: "sql.wasm", tools: ["heap", "waste", "workingset"] }).bytes;

/**
 * Work of SQLite for page and test. It runs in both, so it refers to nothing in this file. The name that sql.js gives the database
 * at random would have nine or ten digits.
 */
function fillTable(SQL: { Database: new () => { exec(query: string): { values: unknown[][] }[] } }) {
  Math.random = () => 0.5;
  const database = new SQL.Database();
  database.exec("CREATE TABLE trip (city TEXT, price REAL)");
  for (let i = 0; i < 300; i++) database.exec(`INSERT INTO trip VALUES ('city ${i % 7}', ${i})`);
  return database.exec("SELECT city, sum(price) FROM trip GROUP BY city ORDER BY 2 DESC LIMIT 1")[0].values;
}

const PAGE = `<!doctype html><script src="/sql.js"></script><script type="module">
import { profileFiles, watchInstance } from "/loader.js";
${fillTable}
window.run = async () => {
  let watched;
  const original = new Uint8Array(await (await fetch("/sql.wasm")).arrayBuffer());
  const SQL = await initSqlJs({
    instantiateWasm(imports, done) {
      WebAssembly.instantiateStreaming(fetch("/profiled.wasm"), imports).then(({ module, instance }) => {
        watched = watchInstance(instance, module, { original, program: "page" });
        done(instance, module);
      });
      return {};
    },
  });
  const answer = fillTable(SQL);
  const files = profileFiles(watched.readProfile());
  const asText = (contents) =>
    typeof contents === "string" ? contents : Array.from(contents, (byte) => String.fromCharCode(byte)).join("");
  return { answer, files: files.map(({ name, contents }) => [name, asText(contents)]) };
};
</script>`;

function contentsOf(path: string, loader: string): [type: string, contents: string | Uint8Array] | undefined {
  if (path === "/") return ["text/html", PAGE];
  if (path === "/sql.js")
    return ["text/javascript", readFileSync(join(SQL_JS, "sql-wasm-browser.js"), "utf8")];
  if (path === "/sql.wasm") return ["application/wasm", ORIGINAL];
  if (path === "/profiled.wasm") return ["application/wasm", PROFILED];
  return path === "/loader.js" ? ["text/javascript", loader] : undefined;
}

/** SQLite's answers, and the files of the run with their bytes as characters. */
interface Outcome {
  answer: unknown;
  files: [name: string, contents: string][];
}

describe.skipIf(!installed)("sql.js in a web page", () => {
  let server: Server;
  let browser: Browser;
  beforeAll(async () => {
    const { output } = await (await openForPage(LOADER)).generate({ format: "esm" });
    expect(output[0].imports).toEqual([]);
    server = createServer((request, response) => {
      const [type, contents] = contentsOf(request.url ?? "", output[0].code) ?? ["text/plain", undefined];
      response.writeHead(contents === undefined ? 404 : 200, { "content-type": type }).end(contents);
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
      ],
    });
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  it("gives the profiles that the same work gives in Node", async () => {
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.waitForFunction("window.run !== undefined");
    const inPage = (await page.evaluate("window.run()")) as Outcome;
    expect(errors).toEqual([]);

    const inNode = await runInNode();
    expect(inPage.answer).toEqual([["city 5", 6536]]);
    expect(inNode.answer).toEqual(inPage.answer);
    expect(inPage.files.map(([name]) => name)).toEqual(inNode.files.map(([name]) => name));
    for (const [index, [name, contents]] of inPage.files.entries()) {
      expect(contents.length, name).toBeGreaterThan(100);
      expect(contents, name).toBe(inNode.files[index][1]);
    }
  });
});

/** The same in Node with the same glue code, which treats any environment without `process` as a page's worker. */
async function runInNode(): Promise<Outcome> {
  const glue = readFileSync(join(SQL_JS, "sql-wasm-browser.js"), "utf8");
  const initSqlJs = new Function(
    "process",
    "window",
    "self",
    "module",
    "exports",
    `${glue}; return initSqlJs;`,
  )(undefined, globalThis, globalThis);
  let watched: WatchedInstance | undefined;
  const SQL = await initSqlJs({
    instantiateWasm(imports: WebAssembly.Imports, done: (instance: WebAssembly.Instance) => void) {
      WebAssembly.instantiate(PROFILED as BufferSource, imports).then(({ module, instance }) => {
        watched = watchInstance(instance, module, { original: ORIGINAL, program: "page" });
        done(instance);
      });
      return {};
    },
  });
  const answer = fillTable(SQL);
  if (watched === undefined) throw new Error("the glue code did not ask for its instance");
  return {
    answer,
    files: profileFiles(watched.readProfile()).map(({ name, contents }) => [name, asText(contents)]),
  };
}

function asText(contents: string | Uint8Array): string {
  return typeof contents === "string" ? contents : Buffer.from(contents).toString("latin1");
}
