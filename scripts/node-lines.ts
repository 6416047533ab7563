// Runs the demo, a WASI program and an npm package with the newest Node of every supported line, because engines differ in modules with
// several memories. Fetches each Node through npm (120 MB) on its first use. Run `npm run build` first.
// Usage: `npm run node-lines`, or with the lines to try: `npm run node-lines -- 22 26`.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageFile, ROOT } from "./tools.ts";

/** The newest version of each line at the last update of this list. */
const NEWEST = ["22.23.5", "24.22.3", "25.9.0", "26.12.1"];

const PACKAGE = `node-linux-${process.arch}`;
const CACHE = packageFile(".cache/node-lines");
const MEMSHADE = join(ROOT, "packages/memshade/bin/memshade.js");
/** A WASI program whose blocks are known. */
const SHOP = join(ROOT, "packages/memshade/demo/shop.wasm");
const HAS_BLOCKS = ["--limit", "blocks>0"];

const WITH_NODE_WASI = `
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
const wasi = new WASI({ version: "preview1", returnOnExit: true });
const module = await WebAssembly.compile(readFileSync(${JSON.stringify(SHOP)}));
process.exitCode = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));`;

const WITH_NPM_PACKAGE = `
import initialize from ${JSON.stringify(import.meta.resolve("sql.js"))};
const { Database } = await initialize();
const database = new Database();
database.run("create table numbers (n)");
for (let n = 0; n < 100; n++) database.run("insert into numbers values (?)", [n]);
const [{ values }] = database.exec("select sum(n) from numbers");
if (values[0][0] !== 4950) throw new Error("another sum: " + values[0][0]);`;

const WITH_LIBRARY = `
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
import { profile } from ${JSON.stringify(join(ROOT, "packages/memshade/dist/index.js"))};
const { run } = await profile(readFileSync(${JSON.stringify(SHOP)}), async (instantiate) => {
  const wasi = new WASI({ version: "preview1", returnOnExit: true });
  wasi.start(await instantiate(wasi.getImportObject()));
});
if (!(run.heap.allocations > 0)) throw new Error("no allocation was recorded");`;

/** Path of a Node of this version, fetched if needed. */
function fetchNode(version: string): string {
  const folder = join(CACHE, version);
  const node = join(folder, "package/bin/node");
  if (existsSync(node)) return node;
  mkdirSync(CACHE, { recursive: true });
  const partial = mkdtempSync(join(CACHE, "partial-"));
  try {
    run("npm", ["pack", "--silent", `${PACKAGE}@${version}`], partial);
    run("tar", ["xzf", `${PACKAGE}-${version}.tgz`, "package/bin/node"], partial);
    rmSync(folder, { recursive: true, force: true });
    renameSync(partial, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  return node;
}

/** @throws Error with the command's output, unless the command succeeds */
function run(command: string, args: readonly string[], cwd: string): void {
  const { status, signal, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status === 0) return;
  const ending = error?.message ?? signal ?? `exit code ${status}`;
  throw new Error(`${[command, ...args].join(" ")}: ${ending}\n${stdout ?? ""}${stderr ?? ""}`);
}

function tryNode(node: string, folder: string): void {
  const memshade = (...args: string[]): void => run(node, [MEMSHADE, ...args], folder);
  const withScript = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return name;
  };
  run(node, ["--version"], folder);
  memshade("demo");
  for (const tools of ["heap", "heap,waste,workingset", "waste"]) {
    memshade("run", "--tool", tools, "--out", "wasi", SHOP);
    if (tools !== "waste") memshade("check", ...HAS_BLOCKS, "wasi");
    memshade("node", "--tool", tools, "--out", "wasi", withScript("wasi.mjs", WITH_NODE_WASI));
    if (tools !== "waste") memshade("check", ...HAS_BLOCKS, "wasi");
  }
  memshade("node", "--out", "package", withScript("package.mjs", WITH_NPM_PACKAGE));
  memshade("check", ...HAS_BLOCKS, "package");
  run(node, [withScript("library.mjs", WITH_LIBRARY)], folder);
}

const lines = process.argv.slice(2);
const chosen = NEWEST.filter((version) => lines.length === 0 || lines.includes(version.split(".")[0]));
if (chosen.length === 0) {
  console.error(`usage: npm run node-lines -- [line of Node]…: there are ${NEWEST.join(", ")}`);
  process.exit(2);
}
for (const version of chosen) {
  const folder = mkdtempSync(join(tmpdir(), "memshade-node-"));
  try {
    tryNode(fetchNode(version), folder);
    console.log(`Node ${version}: ok`);
  } catch (error) {
    console.error(`Node ${version}: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
