import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade, newFolder, readRun } from "../../cli/support/command-line.ts";
import { browse, browseAt, isInstalled, serve } from "./support/browse.ts";

const SQL_JS = dirname(createRequire(import.meta.url).resolve("sql.js"));
const GLUE = readFileSync(join(SQL_JS, "sql-wasm-browser.js"), "utf8");
const MODULE = new Uint8Array(readFileSync(join(SQL_JS, "sql-wasm-browser.wasm")));

/** What page and script let SQLite do. The name of the database, which sql.js draws by lot, would have nine digits or ten. */
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
    // What the process took is never the same twice; the page shows it.
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
