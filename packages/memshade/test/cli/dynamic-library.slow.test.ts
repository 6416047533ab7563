import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readRaw } from "../../src/profile/formats/memprof-raw/index.ts";
import { memshade, newFolder, onlyRun, runFolders } from "./support/command-line.ts";
import { assemble } from "./support/programs.ts";

const MAIN = assemble(`(module
  (memory (export "memory") 2 4)
  (global $top (mut i32) (i32.const 4096))
  (func $malloc (export "malloc") (param $size i32) (result i32)
    (local $block i32)
    (local.set $block (global.get $top))
    (global.set $top (i32.add (local.get $block) (i32.and (i32.add (local.get $size) (i32.const 31)) (i32.const -16))))
    (local.get $block))
  (func $free (export "free") (param i32))
  (func (export "make") (param $size i32) (result i32) (call $malloc (local.get $size)))
  (func (export "drop") (param $block i32) (call $free (local.get $block))))`);

const LIBRARY = assemble(`(module
  (import "env" "memory" (memory 1))
  (import "env" "malloc" (func $malloc (param i32) (result i32)))
  (func (export "fill") (param $block i32) (param $bytes i32)
    (memory.fill (local.get $block) (i32.const 7) (local.get $bytes)))
  (func (export "sum") (param $block i32) (param $words i32) (result i32) (local $sum i32)
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (i32.load (local.get $block))))
      (local.set $block (i32.add (local.get $block) (i32.const 4)))
      (br_if $next (local.tee $words (i32.sub (local.get $words) (i32.const 1)))))
    (local.get $sum))
  (func $large ${"(nop)".repeat(200)})
  (func (export "own") (result i32) (local $block i32)
    (local.set $block (call $malloc (i32.const 24)))
    (i32.store (local.get $block) (i32.const 1))
    (local.get $block)))`);

const DYLINK = Uint8Array.of(0, 10, 8, ...Buffer.from("dylink.0"), 0);

/** Runs a script over both modules; `library(memory)` loads the second one as emscripten's loader does. */
async function run(script: string, section = DYLINK) {
  const cwd = newFolder();
  writeFileSync(join(cwd, "main.wasm"), MAIN);
  writeFileSync(
    join(cwd, "library.wasm"),
    Buffer.concat([LIBRARY.subarray(0, 8), section, LIBRARY.subarray(8)]),
  );
  writeFileSync(
    join(cwd, "main.cjs"),
    `const { readFileSync } = require("node:fs");
    const load = (name) => new WebAssembly.Module(readFileSync(name));
    const main = () => new WebAssembly.Instance(load("main.wasm")).exports;
    const library = (module, from) => {
      const env = new Proxy({}, { get: (_, name) => from[name] });
      return new WebAssembly.Instance(module, { env }).exports;
    };
    ${script}`,
  );
  const { stdout, stderr, code } = await memshade(["node", "main.cjs"], { cwd });
  expect(code, stderr).toBe(0);
  const folder = join(cwd, "memshade.out", runFolders(cwd)[0]);
  const { contexts } = readRaw(new Uint8Array(readFileSync(join(folder, "heap.memprofraw"))));
  const sum = (field: "totalSize" | "totalAccessCount") =>
    contexts.reduce((total, { mib }) => total + Number(mib[field]), 0);
  return { stdout, ...onlyRun(cwd), bytes: sum("totalSize"), accesses: sum("totalAccessCount") };
}

const USE = `const { memory, malloc, make, drop } = main();
  const wasm = library(load("library.wasm"), { memory, malloc });
  const block = make(400);
  wasm.fill(block, 400);
  console.log(wasm.sum(block, 100), WebAssembly.Module.imports(load("library.wasm")).length);
  drop(block);
  drop(wasm.own());`;

describe("a dynamic library in the memory of another module", () => {
  it("counts its accesses to that module's blocks", async () => {
    const { stdout, bytes, accesses, modules } = await run(USE);
    expect(stdout).toBe(`${(0x07070707 * 100) | 0} 2\n`);
    expect({ bytes, accesses }).toEqual({ bytes: 424, accesses: 50 + 100 + 1 });
    expect(modules[1].allocator).toMatchObject({
      how: "none",
      refused: expect.stringMatching(
        /^The module is a dynamic library: the module whose memory it uses records its accesses/,
      ),
    });
  });

  it("counts in the tables of the instance whose memory it has", async () => {
    const { bytes, accesses } = await run(`
      const compiled = load("main.wasm");
      const [first, second] = [1, 2].map(() => new WebAssembly.Instance(compiled).exports);
      const wasm = library(load("library.wasm"), first);
      const [used, unused] = [first.make(40), second.make(80)];
      wasm.sum(used, 10);
      first.drop(used); second.drop(unused);`);
    expect({ bytes, accesses }).toEqual({ bytes: 120, accesses: 10 });
  });

  it("is followed alone if it comes before the module that it is loaded into", async () => {
    const { bytes, accesses, modules } = await run(`const early = load("library.wasm");
      const { memory, malloc, make } = main();
      library(early, { memory, malloc }).sum(make(40), 10);`);
    expect({ bytes, accesses }).toEqual({ bytes: 40, accesses: 0 });
    expect(modules.map(({ allocator }) => allocator.refused ?? "")).toContainEqual(
      expect.stringContaining("but not its accesses to them"),
    );
  });

  it("is an ordinary module without the section that says so", async () => {
    const { bytes, accesses } = await run(USE, Uint8Array.of());
    expect({ bytes, accesses }).toEqual({ bytes: 424, accesses: 0 });
  });
});
