/**
 * Measures the cost of profiling a page: its load, the start of a worker, compiling a module, steady work over a module compared with the
 * same
 * under Node, and a dump. Plain and profiled runs alternate; figures are medians.
 * node bench/browser/targets.ts [PAIRS]
 * Prints the rows of the last table in ../BROWSER.md, and the figures of each pair on standard error; a pair takes about a minute.
 * Needs Chromium (`CHROME_PATH`), `npm ci` and a built package.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { median } from "../harness/statistics.ts";
import { MEMSHADE, serve, tellPlain, tellProfiled } from "./pages.ts";

const HERE = fileURLToPath(new URL("./", import.meta.url));
const LIBRARIES = fileURLToPath(new URL("../../node_modules/", import.meta.url));
const SQL = dirname(createRequire(import.meta.url).resolve("sql.js"));
const AGENT = fileURLToPath(new URL("../../packages/memshade/dist/browser-agent.br", import.meta.url));
const pairs = Number(process.argv[2] ?? 5);

/** The page without modules, and its worker. */
const EMPTY = `<!doctype html><script>
  const load = new Promise((done) => addEventListener("load", () => setTimeout(done)));
  const worker = async () => {
    const start = performance.now();
    const answer = await new Promise((done) => {
      new Worker(URL.createObjectURL(new Blob(["postMessage(1)"]))).onmessage = done;
    });
    return performance.now() - start;
  };
  tell(load.then(worker).then((ms) =>
    JSON.stringify({ load: performance.getEntriesByType("navigation")[0].loadEventEnd, worker: ms })));
</script>`;
const WORK = `<!doctype html><script src="/sql/sql-wasm.js"></script><script type="module">
  import { work } from "/sql.mjs";
  const bytes = await (await fetch("/lib/7z-wasm/7zz.wasm")).arrayBuffer();
  const start = performance.now();
  await WebAssembly.compile(bytes);
  const compile = performance.now() - start;
  tell(initSqlJs({ locateFile: (name) => "/sql/" + name }).then((SQL) => JSON.stringify({ compile, work: work(SQL) })));
</script>`;

function read(path: string): string | Buffer | undefined {
  if (path === "/empty.html") return EMPTY;
  if (path === "/work.html") return WORK;
  const file = path.startsWith("/lib/")
    ? join(LIBRARIES, path.slice(5))
    : path.startsWith("/sql/")
      ? join(SQL, path.slice(5))
      : join(HERE, path);
  return existsSync(file) ? readFileSync(file) : undefined;
}

function underNode(options: readonly string[]): number {
  const args = [...options, join(HERE, "sql-node.mjs")];
  return Number(
    execFileSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
  );
}

const tools = ["heap", "waste"] as const;
const figures = new Map<string, number[]>();
const add = (name: string, value: number): void => {
  figures.set(name, [...(figures.get(name) ?? []), value]);
};

for (let pair = 0; pair < pairs; pair++) {
  const plain = { ...JSON.parse(await tellPlain(await serve(read, "/empty.html"))) };
  const empty = JSON.parse((await tellProfiled(await serve(read, "/empty.html"))).told);
  add("load", empty.load - plain.load);
  add("worker", empty.worker - plain.worker);
  const plainWork = JSON.parse(await tellPlain(await serve(read, "/work.html")));
  const plainNode = underNode([]);
  for (const tool of tools) {
    const { told, dumpMs } = await tellProfiled(await serve(read, "/work.html"), ["--tool", tool]);
    const { compile, work } = JSON.parse(told);
    if (tool === "heap") add("compile", compile);
    if (tool === "heap") add("dump", dumpMs);
    add(`${tool} page`, work / plainWork.work);
    const out = join(mkdtempSync(join(tmpdir(), "memshade-node-")), "run");
    add(`${tool} node`, underNode([MEMSHADE, "node", "--quiet", "--tool", tool, "--out", out]) / plainNode);
  }
}

console.error(Object.fromEntries(figures));
const { agent } = JSON.parse(brotliDecompressSync(readFileSync(AGENT)).toString());
const ms = (name: string): string => `${Math.round(median(figures.get(name)!))} ms`;
const ratio = (name: string): string => `${median(figures.get(name)!).toFixed(2)}x`;
console.log(`| agent, minified | 40 KB | ${(agent.length / 1024).toFixed(1)} KB |
| page without WebAssembly: its load | +15 ms | ${ms("load")} |
| the start of its worker | +10 ms | ${ms("worker")} |
| module of 1.6 MB, from the call that compiles it to the module | 300 ms | ${ms("compile")} |
${tools.map((tool) => `| SQLite at work, ${tool}, over plain; the same under \`memshade node\` | ± 10 % | ${ratio(`${tool} page`)}; ${ratio(`${tool} node`)} |`).join("\n")}
| a dump of it, from the signal to the line that it is written | – | ${ms("dump")} |`);
