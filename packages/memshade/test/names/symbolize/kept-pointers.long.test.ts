import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { WasteFile } from "../../../src/profile/model/waste.ts";
import { memshade, newFolder } from "../../cli/support/command-line.ts";

const SOURCE = fileURLToPath(new URL("programs/kept-pointers.cpp", import.meta.url));
const OPTIONS = ["--target=wasm32-wasi", "--sysroot=/usr", "-g", "--no-wasm-opt", "-fno-exceptions"];

function compiled(place: string, level: string): string {
  const program = join(newFolder(), `${place}.wasm`);
  const { status, stderr } = spawnSync(
    "clang++-22",
    [...OPTIONS, level, `-D${place}`, SOURCE, "-o", program],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(stderr);
  return program;
}

const canBuild =
  spawnSync("clang++-22", ["--version"]).status === 0 && existsSync("/usr/lib/wasm32-wasi/libc++.a");
if (!canBuild)
  console.warn("SKIPPED: clang++-22 with WASI libraries is not installed, no array of C++ is followed");

const PRODUCT = { name: "Product", size: 48 };

describe.skipIf(!canBuild)("the members of an array of more than 1 MiB", () => {
  async function blockOf(program: string, ...options: string[]) {
    const cwd = join(program, "..");
    const ran = await memshade(["run", "--tool", "waste", ...options, "--out", "run", program], { cwd });
    expect(ran.code, ran.stderr).toBe(0);
    const { blocks = [], objects = [] }: WasteFile = JSON.parse(
      readFileSync(join(cwd, "run", "waste.json"), "utf8"),
    );
    const large = ({ bytes }: { bytes: number }) => bytes > 1e6;
    return { cwd, block: blocks.find(large)!, object: objects.find(large)! };
  }

  it.each([
    ["DECLARED", "variable"],
    ["MEMBER", "member"],
    ["STATIC", "member"],
    ["REFERENCE", "member"],
    ["NESTED", "member"],
    ["UNIQUE", "member"],
    ["CALLOC", "member"],
    ["VECTOR", "container"],
    ["LOCAL", "pointer"],
  ])("have names by its beginning, wherever the pointer is kept: %s", async (place, by) => {
    for (const level of ["-O1", "-O2"]) {
      const { block } = await blockOf(compiled(place, level));
      expect(block).toMatchObject({ size: 1_920_000, followed: 2 ** 20, element: 48 });
      expect(block.fields).toEqual([{ name: "stock", type: "int", offset: 16, size: 4, written: true }]);
      // An inlined function's block is declared in its caller.
      expect(block.type).toMatchObject(level === "-O1" ? { ...PRODUCT, by } : PRODUCT);
    }
  });

  it("are told with how much was followed", async () => {
    const { cwd } = await blockOf(compiled("MEMBER", "-O1"));
    const { stdout } = await memshade(["report", "run"], { cwd });
    const report = stdout.replace(/\s+/g, " ");
    expect(report).toContain("Product.stock: 4 of 48 bytes are stored to and never read, in the 1 block");
    expect(report).toContain("(the first 1.00 MiB of each was followed): 156 KiB.");
  });

  it("have the counts of what is told apart, and none of what lies behind", async () => {
    const { block, object } = await blockOf(compiled("MEMBER", "-O1"), "--objects");
    expect(block).toMatchObject({ followed: 4096, type: { name: "Product", by: "member" } });
    // 85 whole elements, and the first 16 bytes of one more.
    const writes = Object.fromEntries(object.fields.map(({ name, writes }) => [name, writes]));
    expect(writes).toEqual({ id: 86 * 8, price: 86 * 8, stock: 85 * 4, weight: 85 * 4, name: 85 });
  });
});
