import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade, newFolder } from "./support/command-line.ts";
import { LIBRARY, writeProgram } from "./support/programs.ts";

const STL = new URL("../fixtures/programs/kernels/stl.wasm", import.meta.url);

/** A folder with a program, and with a cache of its own for the commands that run there. */
function folderOfItsOwn(): { cwd: string; env: Record<string, string>; kept: () => string[] } {
  const cwd = newFolder();
  copyFileSync(STL, join(cwd, "stl.wasm"));
  const cache = join(cwd, "cache");
  const kept = () => (existsSync(cache) ? readdirSync(cache) : []);
  return { cwd, env: { MEMSHADE_CACHE: cache }, kept };
}

/** A command of many functions that load in loops, of which one does so often; behind other code, if there is any. */
function busyProgram(codeInFront = ""): string {
  const fill = (name: string, field: number) =>
    `(func $${name} (param $i i32)
       (loop $again
         (i32.store offset=${field} (local.get $i) (i32.load offset=${field + 4} (local.get $i)))
         (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 4))))))`;
  const others = Array.from({ length: 300 }, (_, i) => fill(`other${i}`, i * 8));
  return `(module
    (memory (export "memory") 2)
    ${codeInFront}
    ${others.join("\n")}
    ${fill("busy", 3000)}
    (func (export "_start")
      ${others.map((_, i) => `(call $other${i} (i32.const 8))`).join("\n")}
      (call $busy (i32.const 60000))))`;
}

const instrumented = (stderr: string) => Number(/\(([\d.]+) times the size\)/.exec(stderr)?.[1]);

describe("what memshade keeps of runs under the waste tool", () => {
  it("makes later runs of the same module faster, and changes nothing that they say", async () => {
    const { cwd, env, kept } = folderOfItsOwn();
    const run = async (...options: string[]): Promise<unknown> => {
      const args = ["run", "--tool", "waste", ...options, "--out", "out", "stl.wasm", "300"];
      expect(await memshade(args, { cwd, env })).toMatchObject({ code: 0 });
      const { command: _, ...said } = JSON.parse(readFileSync(join(cwd, "out", "waste.json"), "utf8"));
      return said;
    };
    const first = await run();
    const [build, name] = kept().sort((a, b) => b.length - a.length);
    expect(name).toMatch(/^[0-9a-f]{64}\.runs$/);
    expect(build).toMatch(/^[0-9a-f]{16}\.[0-9a-f]{64}\.functions$/);
    expect(await run()).toEqual(first);
    expect(await run("--contexts", "--no-pgo")).toEqual(await run("--contexts"));
    expect(kept().sort()).toEqual([name, build].sort());

    const grown = async (...options: string[]) => {
      const args = ["instrument", "--tool", "waste", ...options, "stl.wasm", "-o", "grown.wasm"];
      return instrumented((await memshade(args, { cwd, env })).stderr);
    };
    writeFileSync(join(cwd, "cache", name), "memshade site runs 1\n");
    expect(await grown("--pgo")).toBeLessThan((await grown()) * 0.8);
  });

  it("serves programs that were built anew, whose functions are the same in other places", async () => {
    const { cwd, env } = folderOfItsOwn();
    writeProgram(cwd, "program.wasm", busyProgram());
    writeProgram(cwd, "anew.wasm", busyProgram("(func (result i32) (i32.load (i32.const 8)))"));
    const said = async (...args: string[]): Promise<unknown> => {
      expect(await memshade(["run", "--tool", "waste", "--out", "out", ...args], { cwd, env })).toMatchObject(
        { code: 0 },
      );
      const { command: _, ...rest } = JSON.parse(readFileSync(join(cwd, "out", "waste.json"), "utf8"));
      return rest;
    };
    const grown = async (file: string, ...options: string[]) => {
      const args = ["instrument", "--tool", "waste", ...options, file, "-o", "grown.wasm"];
      return instrumented((await memshade(args, { cwd, env })).stderr);
    };
    const before = await grown("anew.wasm", "--pgo");
    expect(before).toBe(await grown("anew.wasm"));
    await said("program.wasm");
    expect(await grown("anew.wasm", "--pgo")).toBeLessThan(before * 0.8);
    expect(await said("anew.wasm")).toEqual(await said("--no-pgo", "anew.wasm"));
  });

  it("is nothing with --no-pgo, for other tools, and with an empty MEMSHADE_CACHE", async () => {
    const { cwd, env, kept } = folderOfItsOwn();
    const run = (options: string[], environment: Record<string, string>) =>
      memshade(["run", ...options, "--out", "out", "stl.wasm", "100"], { cwd, env: environment });
    for (const [options, environment] of [
      [["--tool", "waste", "--no-pgo"], env],
      [["--tool", "heap"], env],
      [["--tool", "waste"], { MEMSHADE_CACHE: "", HOME: cwd, XDG_CACHE_HOME: cwd }],
    ] as const)
      expect(await run([...options], environment)).toMatchObject({ code: 0 });
    expect(kept()).toEqual([]);
    expect(readdirSync(cwd).sort()).toEqual(["out", "stl.wasm"]);
  });

  it.each([
    ["a file", (cwd: string) => join(cwd, "stl.wasm")],
    ["a place where nobody can make folders", () => "/proc/none/below"],
  ])(
    "is no reason for a run to fail or to say anything when the cache would be in %s",
    async (_, cacheIn) => {
      const { cwd } = folderOfItsOwn();
      const { code, stderr } = await memshade(["run", "--tool", "waste", "--out", "out", "stl.wasm", "100"], {
        cwd,
        env: { MEMSHADE_CACHE: cacheIn(cwd) },
      });
      expect(code).toBe(0);
      expect(stderr).toMatch(/^memshade: profile written to out; [^\n]+\n$/);
    },
  );

  it("comes from memshade node too, for each module that ran", async () => {
    const { cwd, env, kept } = folderOfItsOwn();
    writeProgram(cwd, "library.wasm", LIBRARY);
    writeFileSync(
      join(cwd, "main.mjs"),
      `import { readFileSync } from "node:fs";
       const { instance } = await WebAssembly.instantiate(readFileSync("library.wasm"), { host: { notify() {} } });
       instance.exports.fill(6);
       // What the program does to its surroundings is its own affair.
       process.env.MEMSHADE_CACHE = process.env.HOME = "/nowhere";
       process.chdir("/");`,
    );
    const run = async () => {
      expect(
        await memshade(["node", "--tool", "waste", "--out", "out", "main.mjs"], {
          cwd,
          env: { ...env, MEMSHADE_CACHE: "cache" },
        }),
      ).toMatchObject({
        code: 0,
      });
      return JSON.parse(readFileSync(join(cwd, "out", "waste.json"), "utf8"));
    };
    const { stores } = await run();
    expect(stores.length).toBeGreaterThan(0);
    expect(kept().length).toBe(2);
    expect((await run()).stores).toEqual(stores);
  });
});
