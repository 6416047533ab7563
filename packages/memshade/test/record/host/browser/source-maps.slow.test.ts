import { describe, expect, it } from "vitest";
import { assemble, LIBRARY } from "../../../cli/support/programs.ts";
import { browse, isInstalled } from "./support/browse.ts";

/** Maps the whole script to the second line of `src/app.ts`. */
const MAP = { version: 3, sources: ["../src/app.ts"], names: [], mappings: "AACA" };
const SCRIPT = `WebAssembly.instantiateStreaming(fetch("/library.wasm"), { host: { notify() {} } }).then(function start({ instance }) { instance.exports.fill(3); fetch("/told", { method: "POST", body: "done" }); });`;

describe.skipIf(!isInstalled)("callers in a page's scripts", () => {
  it.each([
    ["beside the script", "/dist/app.js.map", "app.js.map"],
    ["inside of it", "/unused", `data:application/json;base64,${btoa(JSON.stringify(MAP))}`],
  ])("stand where they were written: source map %s", async (_where, path, url) => {
    const { run, stderr } = await browse({
      "/": `<!doctype html><script src="/dist/app.js"></script>`,
      "/dist/app.js": `${SCRIPT}\n//# sourceMappingURL=${url}`,
      [path]: JSON.stringify(MAP),
      "/library.wasm": assemble(LIBRARY),
    });
    const frame = run?.host?.frames.find(({ name }) => name === "start");
    expect(frame, stderr).toMatchObject({
      file: expect.stringMatching(/^http:.*\/dist\/app\.js$/),
      source: { file: expect.stringMatching(/src\/app\.ts$/), line: 2 },
    });
  });
});
