import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { MODULES } from "../../../../../bench/harness/programs.ts";
import type { Run } from "../../../src/profile/model/run.ts";
import { memshade, newFolder } from "../../cli/support/command-line.ts";

const PROGRAMS = fileURLToPath(new URL("../../../../../bench/harness/programs.ts", import.meta.url));
const SCRIPT = `
  const { MODULES } = await import(process.argv[2]);
  const session = await MODULES.find(({ name }) => name === process.argv[3]).load();
  await session.run("small");`;

const isInstalled = ({ files }: (typeof MODULES)[number]) => {
  try {
    files();
    return true;
  } catch {
    return false;
  }
};

/** Packages with a garbage collector of their own, which holds their blocks. */
const COLLECTED = /has its own garbage collector/;

async function expectSeenWhole(text: string, ...args: string[]): Promise<void> {
  const cwd = newFolder();
  const script = join(cwd, "work.mjs");
  writeFileSync(script, text);
  const { code, stderr } = await memshade(["node", "--out", "run", script, ...args], { cwd });
  expect(code, stderr).toBe(0);
  const run = JSON.parse(readFileSync(join(cwd, "run/run.json"), "utf8")) as Run;
  const sentences = [...run.heap!.notTracked!, ...run.modules.flatMap(({ notTracked }) => notTracked)];
  if (sentences.some((sentence) => COLLECTED.test(sentence))) return;
  expect(run.heap!.allocations).toBeGreaterThan(0);
  expect(sentences.filter((sentence) => /handed out over|releases? named/.test(sentence))).toEqual([]);
  for (const { allocator } of run.modules) expect(allocator.confirmed).not.toBe(false);
}

// If all of an allocator is hooked, it returns no block that overlaps a live one, and frees only blocks that it has returned.
describe("the allocators of packages", () => {
  it.each(MODULES.filter(isInstalled))("are seen whole: $name", ({ name }) =>
    expectSeenWhole(SCRIPT, PROGRAMS, name),
  );

  it("are seen whole: binaryen, whose posix_memalign has memalign inside", () =>
    expectSeenWhole(
      `const { default: binaryen } = await import(process.argv[2]);
       for (let i = 0; i < 3; i++) {
         const module = binaryen.parseText('(module (func (export "f") (result i32) (i32.add (i32.const 1) (i32.const 2))))');
         module.optimize();
         module.emitBinary();
         module.dispose();
       }`,
      import.meta.resolve("binaryen"),
    ));
});
