import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade, newFolder } from "./support/command-line.ts";
import { LIBRARY, writeProgram } from "./support/programs.ts";

const STL = new URL("../fixtures/programs/kernels/stl.wasm", import.meta.url);

function folderOfItsOwn() {
  const cwd = newFolder();
  copyFileSync(STL, join(cwd, "stl.wasm"));
  const run = async (...options: string[]): Promise<unknown> => {
    const args = ["run", "--tool", "waste", ...options, "--out", "out", "stl.wasm", "300"];
    expect(await memshade(args, { cwd })).toMatchObject({ code: 0 });
    const { command: _, ...said } = JSON.parse(readFileSync(join(cwd, "out", "waste.json"), "utf8"));
    return said;
  };
  return { cwd, run };
}

describe("memshade run --learn", () => {
  it("writes what ran to the file, and changes nothing that later runs say", async () => {
    const { cwd, run } = folderOfItsOwn();
    const first = await run();
    expect(readdirSync(cwd).sort()).toEqual(["out", "stl.wasm"]);
    expect(await run("--learn", "stl.runs")).toEqual(first);
    const learned = readFileSync(join(cwd, "stl.runs"), "utf8");
    expect(learned).toMatch(/^memshade learned runs 1\nmodule [0-9a-f]{64}\n(\d+ \d+\n){100}/);
    expect(await run("--learn", "stl.runs")).toEqual(first);
    expect(readFileSync(join(cwd, "stl.runs"), "utf8")).toBe(learned);
    expect(await run("--contexts", "--learn", "stl.runs")).toEqual(await run("--contexts"));
  });

  it("keeps what is known of other modules, and takes no other file for one of its own", async () => {
    const { cwd, run } = folderOfItsOwn();
    const other = `module ${"0".repeat(64)}\n7 3\n`;
    writeFileSync(join(cwd, "both.runs"), `memshade learned runs 1\n${other}`);
    await run("--learn", "both.runs");
    expect(readFileSync(join(cwd, "both.runs"), "utf8")).toContain(other);
    for (const damaged of [
      "anything",
      "memshade learned runs 1\n7 3\n",
      `memshade learned runs 1\n${other}x y\n`,
    ]) {
      writeFileSync(join(cwd, "other.txt"), damaged);
      const args = ["run", "--tool", "waste", "--learn", "other.txt", "stl.wasm"];
      const { code, stderr } = await memshade(args, { cwd });
      expect(code).toBe(2);
      expect(stderr).toMatch(/^memshade: [^\n]*other\.txt: not a file that --learn has written\n$/);
      expect(readFileSync(join(cwd, "other.txt"), "utf8")).toBe(damaged);
    }
  });

  it("says so before the program starts where the file cannot be written", async () => {
    const { cwd } = folderOfItsOwn();
    const args = ["run", "--tool", "waste", "--learn", "none/stl.runs", "--out", "out", "stl.wasm", "100"];
    const { code, stderr } = await memshade(args, { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^memshade: --learn: cannot write [^\n]*none\/stl\.runs: no such file or folder\n$/,
    );
    expect(existsSync(join(cwd, "out"))).toBe(false);
  });
});

it("memshade node --learn learns of each module that ran", async () => {
  const { cwd } = folderOfItsOwn();
  writeProgram(cwd, "library.wasm", LIBRARY);
  writeFileSync(
    join(cwd, "main.mjs"),
    `import { readFileSync } from "node:fs";
     const { instance } = await WebAssembly.instantiate(readFileSync("library.wasm"), { host: { notify() {} } });
     instance.exports.fill(6);
     process.chdir("/");`,
  );
  const run = async () => {
    const args = ["node", "--tool", "waste", "--learn", "main.runs", "--out", "out", "main.mjs"];
    expect(await memshade(args, { cwd })).toMatchObject({ code: 0 });
    return JSON.parse(readFileSync(join(cwd, "out", "waste.json"), "utf8"));
  };
  const { stores } = await run();
  expect(stores.length).toBeGreaterThan(0);
  expect(readFileSync(join(cwd, "main.runs"), "utf8")).toMatch(
    /^memshade learned runs 1\nmodule .*\n(\d+ \d+\n)+$/,
  );
  expect((await run()).stores).toEqual(stores);
});
