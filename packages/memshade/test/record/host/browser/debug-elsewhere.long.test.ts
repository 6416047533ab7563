import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { decodeModule } from "../../../../src/code/wasm/index.ts";
import type { Run } from "../../../../src/profile/model/run.ts";
import { memshade, newFolder } from "../../../cli/support/command-line.ts";
import { browse, isInstalled } from "./support/browse.ts";

const PROGRAMS = new URL("../../../fixtures/programs/", import.meta.url);
const read = (name: string) => new Uint8Array(readFileSync(new URL(name, PROGRAMS)));

/** A page that fetches a module in one of the ways that pages use, and runs it. */
const page = (make: string): string => `<!doctype html><script>
  ${make}.then(({ instance }) => instance.exports._start()).then(() => "done", String)
    .then((body) => fetch("/told", { method: "POST", body }));
</script>`;
const STREAMED = page(`WebAssembly.instantiateStreaming(fetch("/build/app.wasm"), { env: { abort() {} } })`);
const AS_BYTES = page(
  `fetch("/build/app.wasm").then((answer) => answer.arrayBuffer()).then((bytes) => WebAssembly.instantiate(bytes, {}))`,
);

/** A module without names and debug information, with a section that gives their URL. */
function pointing(bytes: Uint8Array, url: string): Uint8Array {
  const text = [...Buffer.from("external_debug_info")];
  const content = [text.length, ...text, url.length, ...Buffer.from(url)];
  const kept = decodeModule(bytes).sections.filter(({ id }) => id !== 0);
  return Uint8Array.from([
    ...bytes.subarray(0, 8),
    ...kept.flatMap(({ start, payloadEnd }) => [...bytes.subarray(start, payloadEnd)]),
    0,
    content.length,
    ...content,
  ]);
}

function placesOf(run: Run | undefined): string[] {
  return (run?.modules[0]?.places ?? []).flatMap(({ frames }) =>
    frames.map(({ function: name, file, line }) => `${name} ${file?.replace(/^\.\//, "")}:${line}`),
  );
}

describe.skipIf(!isInstalled)("debug information that a page's module has elsewhere", () => {
  const whole = read("debug/c-blocks.wasm");

  it.each([
    ["streamed", STREAMED],
    ["fetched as bytes", AS_BYTES],
  ])("is found by its address, beside the module: %s", async (_how, html) => {
    const { run, stderr, folder, told } = await browse({
      "/": html,
      "/build/app.wasm": pointing(whole, "../debug/app.debug.wasm"),
      "/debug/app.debug.wasm": whole,
    });
    expect(placesOf(run), `${told}: ${stderr}`).toEqual(
      expect.arrayContaining(["move debug/c-blocks.c:47", "list debug/c-blocks.c:56"]),
    );
    const { stdout } = await memshade(["report", folder], { cwd: newFolder() });
    expect(stdout).toMatch(/move .*c-blocks\.c:47/);
  });

  it("is missed in a sentence where it is not there", async () => {
    const { run, stderr } = await browse({
      "/": STREAMED,
      "/build/app.wasm": pointing(whole, "nowhere.wasm"),
    });
    expect(run?.heap).toMatchObject({ allocations: 5 });
    expect(stderr).toContain(
      "app.wasm has its debug information in nowhere.wasm, which was not found: source lines may be missing.\n",
    );
  });

  it.each([
    ["whose package is there", true],
    ["whose package is missed", false],
  ])("may be split, %s", async (_what, isThere) => {
    const { run, stderr } = await browse({
      "/": STREAMED,
      "/build/app.wasm": read("debug/c-blocks.split.wasm"),
      ...(isThere ? { "/build/app.wasm.dwp": read("debug/c-blocks.split.wasm.dwp") } : {}),
    });
    expect(placesOf(run), stderr).toContain("move debug/c-blocks.c:47");
    expect(stderr.includes("/build/app.wasm.dwp was not found: inlined functions are unknown.\n")).toBe(
      !isThere,
    );
  });

  it("may be a source map", async () => {
    const folder = newFolder();
    writeFileSync(
      join(folder, "app.ts"),
      "export function _start(): i32 {\n  let sum = 0;\n  for (let i = 0; i < 9; i++)\n    sum += new Array<i32>(i).length;\n  return sum;\n}\n",
    );
    const compiler = createRequire(import.meta.url).resolve("assemblyscript/bin/asc.js");
    const made = spawnSync(
      process.execPath,
      [compiler, "app.ts", "-o", "app.wasm", "--sourceMap", "--debug"],
      { cwd: folder, encoding: "utf8" },
    );
    expect(made).toMatchObject({ status: 0, stderr: "" });
    const { run, stderr } = await browse({
      "/": STREAMED,
      "/build/app.wasm": readFileSync(join(folder, "app.wasm")),
      "/build/app.wasm.map": readFileSync(join(folder, "app.wasm.map")),
    });
    expect(placesOf(run).join("\n"), stderr).toMatch(/app\.ts:4/);
  });
});
