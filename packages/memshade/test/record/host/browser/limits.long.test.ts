import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { assemble, LIBRARY, READS_A_LOCAL_TOO_MANY } from "../../../cli/support/programs.ts";
import { browse, ended, isInstalled, open, serve } from "./support/browse.ts";

const MAKE = `
const tell = (body) => fetch("/told", { method: "POST", body });
const make = async (notify = () => {}) =>
  (await WebAssembly.instantiateStreaming(fetch("/library.wasm"), { host: { notify } })).instance.exports;`;
const page = (script: string): string =>
  `<!doctype html><meta charset="utf-8"><script>${MAKE}${script}</script>`;
const BYTES = assemble(LIBRARY);
const SITE = { "/library.wasm": BYTES };

function padded(bytes: Uint8Array, more: number): Uint8Array {
  const size: number[] = [];
  for (let rest = more + 2; ; rest = Math.floor(rest / 128)) {
    size.push(rest < 128 ? rest : (rest % 128) + 128);
    if (rest < 128) break;
  }
  return Buffer.concat([bytes, Uint8Array.of(0, ...size, 1, "p".charCodeAt(0)), new Uint8Array(more)]);
}

function renderersOf(memshade: number): number[] {
  const processes = readdirSync("/proc").flatMap((name) => {
    try {
      const stat = readFileSync(join("/proc", name, "stat"), "utf8");
      const [, parent, group] = stat
        .slice(stat.lastIndexOf(")") + 2)
        .split(" ")
        .map(Number);
      const command = readFileSync(join("/proc", name, "cmdline"), "utf8");
      return [{ process: Number(name), parent, group, command }];
    } catch {
      return [];
    }
  });
  const browsers = processes.filter(({ parent }) => parent === memshade).map(({ process }) => process);
  return processes
    .filter(({ group, command }) => browsers.includes(group!) && command.includes("--type=renderer"))
    .map(({ process }) => process);
}

describe.skipIf(!isInstalled)("a page at its limits", () => {
  it("fills tables that are too small, and nothing is counted less", async () => {
    const require = createRequire(import.meta.url);
    const folder = dirname(require.resolve("sql.js"));
    // sql.js names a database by a random number, whose count of digits varies.
    const site = {
      "/sql-wasm.wasm": readFileSync(join(folder, "sql-wasm.wasm")),
      "/sql-wasm.js": readFileSync(join(folder, "sql-wasm.js")),
      "/": `<!doctype html><script src="sql-wasm.js"></script><script>
          Math.random = () => 0.5;
          initSqlJs().then(({ Database }) => {
            const database = new Database();
            database.exec("CREATE TABLE trip (city TEXT, price REAL)");
            for (let i = 0; i < 200; i++) database.exec("INSERT INTO trip VALUES ('city " + (i % 7) + "', " + i + ")");
            return String(database.exec("SELECT count(*) FROM trip")[0].values);
          }).then((body) => fetch("/told", { method: "POST", body }));
        </script>`,
    };
    const { run: whole } = await browse(site);
    const { run, stderr } = await browse(site, { args: ["--max-contexts", "64"] });
    const { allocations, allocatedBytes, peakBytes } = whole!.heap!;
    expect(allocations).toBeGreaterThan(500);
    expect(run?.heap, stderr).toMatchObject({ allocations, allocatedBytes, peakBytes });
  });

  it("makes and drops 200 instances", async () => {
    const { run, stderr } = await browse({
      ...SITE,
      "/": page(`(async () => {
        for (let i = 0; i < 200; i++) (await make()).fill(1);
        tell("done");
      })();`),
    });
    expect(run?.modules, stderr).toMatchObject([{ instances: 200 }]);
    expect(run?.heap).toMatchObject({ allocations: 200 });
    expect(stderr).not.toContain("lost");
  });

  it("compiles a module of 24 MiB, streamed and as bytes", async () => {
    const { run, stderr } = await browse({
      "/library.wasm": padded(BYTES, 24 << 20),
      "/": page(`make().then(async (wasm) => {
        wasm.fill(2);
        const bytes = await (await fetch("/library.wasm")).arrayBuffer();
        (await WebAssembly.instantiate(bytes, { host: { notify() {} } })).instance.exports.fill(3);
        tell("done");
      });`),
    });
    expect(run?.heap, stderr).toMatchObject({ allocations: 5 });
  });

  it("leaves a module that is not valid to the browser", async () => {
    const { told, run, stderr } = await browse({
      "/wrong.wasm": assemble(READS_A_LOCAL_TOO_MANY),
      "/": page(`(async () => {
        const bytes = await (await fetch("/wrong.wasm")).arrayBuffer();
        const errors = [WebAssembly.validate(bytes)];
        for (const compile of [
          () => new WebAssembly.Module(bytes), () => WebAssembly.compile(bytes), () => WebAssembly.instantiate(bytes),
          () => WebAssembly.compileStreaming(fetch("/wrong.wasm")),
        ]) try { await compile(); } catch (error) { errors.push(error.constructor.name); }
        tell(errors.join(" "));
      })();`),
    });
    expect(told, stderr).toBe("false CompileError CompileError CompileError CompileError");
    expect(run).toBeUndefined();
  });

  it.skipIf(process.platform !== "linux")("crashes: what is lost is said", async () => {
    const served = await serve({
      ...SITE,
      "/": page(`make().then((wasm) => { wasm.fill(3); tell("filled"); });`),
    });
    const { started, folder } = open(served.url);
    expect(await served.next()).toBe("filled");
    for (const renderer of renderersOf(started.child.pid!)) process.kill(renderer, "SIGKILL");
    const { stderr, code } = await ended(started, folder);
    expect(stderr).toMatch(/an instance of library\.wasm is lost: the page http:\S+ crashed\n/);
    expect(code).toBe(0);
  });

  it("never stops, and a second signal ends the run at once: what is lost is said", async () => {
    const served = await serve({
      ...SITE,
      "/": page(`make(() => { const request = new XMLHttpRequest(); request.open("POST", "/told", false); request.send("busy"); })
        .then((wasm) => { wasm.fill(3); wasm.spin(); });`),
    });
    const { started, folder } = open(served.url);
    expect(await served.next()).toBe("busy");
    started.child.kill("SIGINT");
    await setTimeout(700);
    started.child.kill("SIGINT");
    const { stderr } = await ended(started, folder);
    expect(stderr).toContain("ended at once: figures that were not read yet are missing\n");
    expect(stderr).toContain(
      "1 instance of library.wasm lost: the run was ended before the tables were read\n",
    );
  });

  it("never comes, and the run can be ended", async () => {
    let isAsked!: () => void;
    const asked = new Promise<void>((done) => {
      isAsked = done;
    });
    const server = createServer(() => isAsked());
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { started, folder } = open(`http://localhost:${(server.address() as AddressInfo).port}/`);
    await asked;
    started.child.kill("SIGINT");
    const { stderr, code } = await ended(started, folder);
    server.closeAllConnections();
    server.close();
    expect(stderr).toContain("no WebAssembly module was instantiated; nothing was written\n");
    expect(code).toBe(0);
  });
});
