import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { sharedPath } from "../shared-path.ts";
import { memshade, newFolder } from "./support/command-line.ts";

const PROGRAM = fileURLToPath(new URL("../fixtures/programs/allocation/lifecycle.wasm", import.meta.url));

/** A title for the window, its end, red by C1, and right-to-left text. The length equals that of the replaced name. */
const HOSTILE = "\u001b]0;\u0007\u009b1m\u202e".slice(0, 11);
const OBEYED = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/u;
const COLOURS = new RegExp(`${String.fromCharCode(0x1b)}\\[[\\d;]*m`, "g");

function hostileProgram(): Buffer {
  const [name, hostile] = [Buffer.from("short_lived"), Buffer.from(HOSTILE)];
  const bytes = readFileSync(PROGRAM);
  const padded = Buffer.concat([hostile, Buffer.alloc(name.length, "x")]).subarray(0, name.length);
  const at = bytes.lastIndexOf(name);
  expect(at).toBeGreaterThan(0);
  padded.copy(bytes, at);
  return bytes;
}

describe("names that terminals would obey", () => {
  const cwd = newFolder();

  beforeAll(async () => {
    writeFileSync(join(cwd, "app.wasm"), hostileProgram());
    for (const tool of ["heap", "waste"])
      expect((await memshade(["run", "--tool", tool, "--out", tool, "app.wasm"], { cwd })).code).toBe(0);
  });

  it.each([
    ["run", "--out", "again", "app.wasm"],
    ["report", "heap"],
    ["report", "--json", "heap"],
    ["report", "--color", "always", "heap"],
    ["report", "waste"],
    ["waste-print", "waste"],
    ["top", "heap"],
    ["tree", "heap"],
    ["export", "heap", "--format", "folded"],
    ["check", "heap", "--limit", "left<1B"],
    ["check", "heap", "--limit", "left<1B", "--format", "github"],
    ["check", "heap", "--limit", "left<1B", "--format", "sarif"],
    ["check", "heap", "--limit", "left<1B", "--format", "junit"],
    ["symbolize", "--binary", "app.wasm", "0x6e7"],
    ["symbolize", "--json", "--binary", "app.wasm", "0x6e7"],
    ["report", "no\u001b[2Kfile"],
    ["no\u001b[2Kverb"],
  ])("do not reach them: %s %s %s %s", async (...args) => {
    const { stdout, stderr } = await memshade(args, { cwd });
    expect(stdout.length + stderr.length).toBeGreaterThan(0);
    expect(stdout.replace(COLOURS, "")).not.toMatch(OBEYED);
    expect(stderr).not.toMatch(OBEYED);
  });

  it("do not reach them out of a dump", async () => {
    const dump = sharedPath("fixtures/outside/hostile/escape.dmp");
    if (dump === undefined) return;
    const { stdout, stderr } = await memshade(["unwind", dump], { cwd });
    expect(stdout).toContain("Thread 1");
    expect(stdout + stderr).not.toMatch(OBEYED);
  });

  it.each([
    ["report"],
    ["top"],
    ["tree"],
    ["export", "--format", "folded", "-o", "-"],
    ["check", "--limit", "left<1B", "--format", "github"],
  ])("do not reach them out of files of other tools, colours neither: %s %s %s", async (verb, ...options) => {
    const bad = `\u001b[41m${HOSTILE}`;
    const paths = `s /bin/app${bad}\ns fn${bad}\ns f${bad}.c\ni 1000 1 2 3 5\nt 1 0\na 8 1\n+ 0\n`;
    writeFileSync(join(cwd, "heaptrack"), `v 10400 2\nX app${bad}\n${paths}`);
    const point = { tb: 8, tbk: 1, tl: 1, mb: 8, mbk: 1, gb: 8, gbk: 1, eb: 8, ebk: 1, fs: [0] };
    const dhat = { dhatFileVersion: 2, mode: "heap", bklt: true, bkacc: false, tu: `ticks${bad}`, cmd: bad };
    const frame = `0x10: fn${bad} (f${bad}.c:5)`;
    writeFileSync(join(cwd, "dhat.json"), JSON.stringify({ ...dhat, pps: [point], ftbl: [frame] }));
    for (const file of ["heaptrack", "dhat.json"]) {
      const { stdout, stderr } = await memshade([verb!, file, ...options], { cwd });
      expect(stdout.length).toBeGreaterThan(0);
      expect(stdout + stderr).not.toMatch(OBEYED);
    }
  });
});
