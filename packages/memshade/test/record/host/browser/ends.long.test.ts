import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { newFolder, readRun } from "../../../cli/support/command-line.ts";
import { assemble, LIBRARY } from "../../../cli/support/programs.ts";
import { browse, ended, isInstalled, open, serve } from "./support/browse.ts";

const MAKE = `
const tell = (body) => fetch("/told", { method: "POST", body, keepalive: true });
const make = async (notify = () => {}) =>
  (await WebAssembly.instantiateStreaming(fetch("/library.wasm"), { host: { notify } })).instance.exports;`;

const page = (script: string): string =>
  `<!doctype html><meta charset="utf-8"><script>${MAKE}${script}</script>`;
const SITE = { "/library.wasm": assemble(LIBRARY) };
/** Allocates three blocks and one more, notifies its page, and never returns. */
const BUSY = `${MAKE} make(() => postMessage("busy")).then((wasm) => { wasm.fill(3); wasm.spin(); });`;

describe.skipIf(!isInstalled)("the end of a context", () => {
  it.each([
    [
      "a busy worker that is terminated",
      4,
      {
        "/worker.js": BUSY,
        "/": page(`const worker = new Worker("/worker.js");
          worker.onmessage = () => { worker.terminate(); worker.onmessage = () => tell("heard"); setTimeout(tell, 3000, "ended"); };`),
      },
    ],
    [
      "a worker that closes itself",
      2,
      {
        "/worker.js": `${MAKE} make().then((wasm) => { wasm.fill(2); tell("closed"); close(); });`,
        "/": page(`new Worker("/worker.js");`),
      },
    ],
    [
      "a document that another one takes the place of",
      3,
      {
        "/next.html": page(`make().then((wasm) => { wasm.fill(1); tell("next"); });`),
        "/": page(`make().then((wasm) => { wasm.fill(2); location.href = "/next.html"; });`),
      },
    ],
    [
      "a window that its opener closes",
      5,
      {
        "/popup.html": page(`make().then((wasm) => { wasm.fill(5); opener.postMessage("filled", "*"); });`),
        "/": page(
          `const popup = open("/popup.html"); onmessage = () => { popup.close(); setTimeout(tell, 1000, "closed"); };`,
        ),
      },
    ],
  ])("loses nothing of %s", async (_what, allocations, site) => {
    const { run, stderr } = await browse(
      { ...SITE, ...site },
      { args: ["--browser-arg=--disable-popup-blocking"] },
    );
    expect(run?.heap, stderr).toMatchObject({ allocations });
    expect(stderr).not.toContain("lost");
  });

  it.each([
    [
      "page",
      page(`make(() => { const request = new XMLHttpRequest(); request.open("POST", "/told", false); request.send("busy"); })
      .then((wasm) => { wasm.fill(3); wasm.spin(); });`),
      {},
    ],
    [
      "worker",
      page(`new Worker("/worker.js").onmessage = ({ data }) => tell(data);`),
      { "/worker.js": BUSY },
    ],
  ])("finds a busy %s and makes it stop", async (_what, main, more) => {
    const { run, code, stderr } = await browse({ ...SITE, ...more, "/": main });
    expect(run?.heap, stderr).toMatchObject({ allocations: 4 });
    expect(code).toBe(0);
  });

  it("is that of the time that was given", async () => {
    const served = await serve({ ...SITE, "/": page(`make().then((wasm) => { wasm.fill(6); });`) });
    const { started, folder } = open(served.url, ["--for", "8s"]);
    const { run, code, stderr } = await ended(started, folder);
    expect(run?.heap, stderr).toMatchObject({ allocations: 6 });
    expect(run?.end).toEqual({ kind: "exit", exitCode: 0 });
    expect(code).toBe(0);
    expect(stderr).toMatch(/profile written to .*\n/);
    expect(stderr).toMatch(/report page: file:\/\/.*report\.html\n$/);
  });

  it("comes later than a dump, which a busy worker is part of", async () => {
    const served = await serve({
      ...SITE,
      "/worker.js": BUSY,
      "/": page(`new Worker("/worker.js").onmessage = ({ data }) => tell(data);`),
    });
    const { started, folder } = open(served.url);
    expect(await served.next()).toBe("busy");
    started.child.kill("SIGUSR2");
    await started.printed("dump written to");
    started.child.kill("SIGINT");
    expect((await ended(started, folder)).run?.heap).toMatchObject({ allocations: 4 });
    const [dump] = readdirSync(dirname(folder)).filter((name) => name.startsWith("run.dump"));
    expect(readRun(join(dirname(folder), dump!)).heap).toMatchObject({ allocations: 4 });
  });

  it("is numbered behind its dumps where they have the same name but for that", async () => {
    const served = await serve({
      ...SITE,
      "/": page(`make().then((wasm) => { wasm.fill(3); tell("filled"); });`),
    });
    const parent = newFolder();
    const { started } = open(served.url, ["--out", join(parent, "run%n")]);
    expect(await served.next()).toBe("filled");
    started.child.kill("SIGUSR2");
    await started.printed("dump written to");
    started.child.kill("SIGINT");
    const { stderr } = await started.ended;
    expect(stderr).not.toContain("cannot write");
    const ends = ["run1", "run2"].map((name) => readRun(join(parent, name)).end.kind);
    expect(ends).toEqual(["dump", "signal"]);
    expect(readdirSync(parent).sort()).toEqual(["run1", "run2"]);
  });
});
