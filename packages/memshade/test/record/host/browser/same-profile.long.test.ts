import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade, newFolder, readRun } from "../../../cli/support/command-line.ts";
import { assemble } from "../../../cli/support/programs.ts";
import { browse, browseAt, isInstalled, serve } from "./support/browse.ts";

const SQL_JS = dirname(createRequire(import.meta.url).resolve("sql.js"));
const GLUE = readFileSync(join(SQL_JS, "sql-wasm-browser.js"), "utf8");
const MODULE = new Uint8Array(readFileSync(join(SQL_JS, "sql-wasm-browser.wasm")));

/** Work that the page and its script make SQLite do. The name that sql.js gives the database at random would have nine or ten digits. */
const TOUR = `
Math.random = () => 0.5;
async function tour(initSqlJs, options) {
  const SQL = await initSqlJs(options);
  const database = new SQL.Database();
  database.exec("CREATE TABLE trip (city TEXT, price REAL)");
  for (let i = 0; i < 300; i++) database.exec("INSERT INTO trip VALUES ('city " + i % 7 + "', " + i + ")");
  return JSON.stringify(database.exec("SELECT city, sum(price) FROM trip GROUP BY city ORDER BY 2 DESC LIMIT 1")[0].values);
}`;

const SITE = {
  "/": `<!doctype html><script src="/sql.js"></script><script src="/tour.js"></script>`,
  "/sql.js": GLUE,
  "/sql-wasm-browser.wasm": MODULE,
  "/tour.js": `${TOUR} tour(initSqlJs).then((body) => fetch("/told", { method: "POST", body }));`,
};

describe.skipIf(!isInstalled)("sql.js in a page and under memshade node", () => {
  it("has the same answer and the same heap", async () => {
    const browsed = await browse(SITE);
    const cwd = newFolder();
    writeFileSync(join(cwd, "sql.js"), GLUE);
    writeFileSync(join(cwd, "sql.wasm"), MODULE);
    writeFileSync(
      join(cwd, "tour.cjs"),
      `${TOUR} tour(require("./sql.js"), { wasmBinary: require("fs").readFileSync("sql.wasm") }).then(console.log);`,
    );
    const node = await memshade(["node", "--out", "run", "tour.cjs"], { cwd });
    expect(browsed.told).toBe(node.stdout.trim());
    const { heap, modules } = readRun(join(cwd, "run"));
    const inPage = browsed.run!;
    const figures = ({
      allocations,
      allocatedBytes,
      peakBytes,
      liveBytes,
      liveBlocks,
    }: NonNullable<typeof heap>) => ({
      allocations,
      allocatedBytes,
      peakBytes,
      liveBytes,
      liveBlocks,
    });
    expect(figures(inPage.heap!)).toEqual(figures(heap!));
    expect(inPage.modules[0].buildId).toBe(modules[0].buildId);
    expect(inPage.modules[0].allocator).toEqual(modules[0].allocator);
  });

  it("is the same byte for byte in two runs, for all tools", async () => {
    const args = ["--tool", "heap,waste,workingset"];
    const served = await serve(SITE);
    const [first, second] = [await browseAt(served, args), await browseAt(served, args)];
    // Measures of the process differ in each run, and the page shows them.
    const files = readdirSync(first.folder).filter(
      (name) => !["measured.json", "report.html"].includes(name),
    );
    expect(files).toEqual(
      expect.arrayContaining(["heap.memprofraw", "run.json", "waste.json", "workingset.json"]),
    );
    for (const name of files)
      expect(
        readFileSync(join(first.folder, name)).equals(readFileSync(join(second.folder, name))),
        name,
      ).toBe(true);
  });
});

/** Allocates blocks one after the other, and grows the memory by a page when it is full. */
const GROWING = `(module
  (memory (export "memory") 1 40)
  (global $top (mut i32) (i32.const 1024))
  (func $malloc (export "malloc") (param $bytes i32) (result i32)
    (local $block i32)
    (local.set $block (global.get $top))
    (global.set $top (i32.add (local.get $block) (local.get $bytes)))
    (block $fits (loop $more
      (br_if $fits (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
      (if (i32.lt_s (memory.grow (i32.const 1)) (i32.const 0)) (then (return (i32.const 0))))
      (br $more)))
    (local.get $block))
  (func (export "free") (param i32))
  (func (export "fill") (param $bytes i32) (result i32)
    (local $block i32)
    (local.set $block (call $malloc (local.get $bytes)))
    (if (local.get $block) (then
      (i32.store (i32.sub (i32.add (local.get $block) (local.get $bytes)) (i32.const 8)) (i32.const 7))))
    (local.get $block)))`;

/** Grows the memory by the module's own instruction, then by the page's call, then beyond the maximum. */
const GROW = `
function grow({ memory, fill }) {
  const pages = (buffer) => buffer.byteLength / 65536;
  const first = memory.buffer;
  const told = [fill(800000), pages(first), pages(memory.buffer), memory.grow(4), pages(memory.buffer)];
  told.push(fill(400000), pages(memory.buffer), fill(4000000));
  try { memory.grow(50); } catch (error) { told.push(error.name); }
  return told.join(" ");
}`;

describe.skipIf(!isInstalled)("a memory that grows", () => {
  it("grows in a page as it does under memshade node, and blocks beyond its first end are followed", async () => {
    const bytes = assemble(GROWING);
    const browsed = await browse({
      "/growing.wasm": bytes,
      "/": `<!doctype html><script>${GROW}
        WebAssembly.instantiateStreaming(fetch("/growing.wasm"))
          .then(({ instance }) => fetch("/told", { method: "POST", body: grow(instance.exports) }));</script>`,
    });
    const cwd = newFolder();
    writeFileSync(join(cwd, "growing.wasm"), bytes);
    writeFileSync(
      join(cwd, "grow.cjs"),
      `${GROW} const bytes = require("fs").readFileSync("growing.wasm");
      console.log(grow(new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports));`,
    );
    const node = await memshade(["node", "--out", "run", "grow.cjs"], { cwd });
    expect(browsed.told).toBe("1024 0 13 13 17 801024 19 0 RangeError");
    expect(node.stdout.trim()).toBe(browsed.told);
    const { allocations, allocatedBytes, peakBytes, heapAccesses } = readRun(join(cwd, "run")).heap!;
    expect({ allocations, allocatedBytes }).toEqual({ allocations: 2, allocatedBytes: 1_200_000 });
    expect(browsed.run!.heap).toMatchObject({ allocations, allocatedBytes, peakBytes, heapAccesses });
    expect(heapAccesses).toBe(2);
  });
});
