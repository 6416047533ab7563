import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { memshade, newFolder } from "./support/command-line.ts";
import { ALLOCATOR, writeProgram } from "./support/programs.ts";

// A program with its own heap inside one block of malloc, as PHP has: blocks of 32 bytes and a free list.
const ARENA = `(module (memory (export "memory") 4)
  ${ALLOCATOR}
  (global $arena (mut i32) (i32.const 0))
  (global $end (mut i32) (i32.const 0))
  (global $free_list (mut i32) (i32.const 0))
  (func $_emalloc (export "_emalloc") (param $size i32) (result i32) (local $block i32)
    (if (i32.eqz (global.get $arena)) (then
      (global.set $arena (call $malloc (i32.const 65536)))
      (global.set $end (global.get $arena))))
    (local.set $block (global.get $free_list))
    (if (local.get $block)
      (then (global.set $free_list (i32.load (local.get $block))))
      (else
        (local.set $block (global.get $end))
        (global.set $end (i32.add (global.get $end) (i32.const 32)))))
    (local.get $block))
  (func $_efree (export "_efree") (param $block i32)
    (i32.store (local.get $block) (global.get $free_list))
    (global.set $free_list (local.get $block)))
  (func (export "work") (param $count i32) (local $kept i32)
    (drop (call $malloc (i32.const 100)))
    (local.set $kept (call $_emalloc (i32.const 24)))
    (loop $more
      (call $_efree (call $_emalloc (i32.const 16)))
      (br_if $more (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))))`;
const OTHER = `(module (memory 1) (func $other_alloc (export "other_alloc") (param i32) (result i32) (i32.const 8)))`;

describe("memshade node --allocator", () => {
  let cwd: string;
  const run = (...options: string[]) => memshade(["node", "--out", "run", ...options, "app.cjs"], { cwd });
  const summary = async () => (await memshade(["report", "run"], { cwd })).stdout.replace(/\s+/g, " ");

  beforeAll(() => {
    cwd = newFolder();
    writeProgram(cwd, "arena.wasm", ARENA);
    writeProgram(cwd, "other.wasm", OTHER);
    writeFileSync(
      join(cwd, "app.cjs"),
      `const load = (name) => new WebAssembly.Instance(new WebAssembly.Module(require("fs").readFileSync(name))).exports;
       load("other.wasm");
       load("arena.wasm").work(50);
       console.log("ran");`,
    );
  });

  it("is told by the report what to type where most of the heap is one block, and that works", async () => {
    expect(await run()).toMatchObject({ code: 0, stdout: "ran\n" });
    const told = await summary();
    expect(told).toContain("One block of 64.0 KiB is 99.8 % of the peak");
    const option = /--allocator (\S*\w)/.exec(told)?.[1];
    expect(option).toBe("malloc=_emalloc,free=_efree");
    expect(await run("--allocator", option!)).toMatchObject({ code: 0 });
    const inside = await summary();
    expect(inside).toContain("in 51 blocks, 50 of them freed");
    expect(inside).toContain("_emalloc, _efree, as --allocator says, confirmed by the run");
    expect(inside).not.toContain("Read this first");
  });

  it.each([
    ["mallok=_emalloc", '"mallok" is not one of malloc, calloc'],
    ["malloc", '"malloc" is not of the form malloc=NAME'],
    ["malloc=_emalloc,free=_emalloc", "_emalloc is given twice"],
    ["free=_efree", "name a function that allocates, too"],
    ["malloc=_emalloc:0:1", "takes one position (size)"],
  ])("ends with 2 before the program starts for %s", async (option, message) => {
    const { code, stdout, stderr } = await run("--allocator", option);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr.trimEnd()).not.toContain("\n");
  });

  it.each([
    ["malloc=_emaloc,free=_efree", "the module has no function"],
    ["malloc=#99,free=#0", "there is no function #99"],
    ["malloc=_efree,free=_emalloc", "the module has no function"],
    ["malloc=work,free=_efree", "the module has no function"],
  ])("ends with 2 if it fits no module: %s", async (option, message) => {
    const { code, stdout, stderr } = await run("--allocator", option);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "ran\n" });
    expect(stderr).toContain(message);
    expect(stderr).toContain(
      "--allocator fits no module of the program: the allocator was searched for instead.",
    );
    expect(await summary()).toContain("--allocator fits no module of the program");
    expect(await summary()).toContain("found by its exports");
  });

  it("leaves the modules alone that it does not fit, as long as it fits one", async () => {
    for (const option of ["malloc=_emalloc,free=_efree", "malloc=other_alloc"])
      expect(await run("--allocator", option)).toMatchObject({ code: 0 });
    expect(await summary()).toContain("found by its exports");
  });
});
