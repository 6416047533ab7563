import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Module, ModuleMap } from "../../../src/code/unwind/index.ts";
import { WalkEnd } from "../../../src/record/native/layout.ts";
import { tablesFile } from "../../../src/record/native/tables/tables-file.ts";
import { openCoreFixture } from "../../code/unwind/core-fixture.ts";
import { sharedPath } from "../../shared-path.ts";
import { FakeProcess } from "./support/fake-process.ts";

const CORES = [
  ["recursion", "core"],
  ["frames-mix", "core"],
  ["signal-callback", "core"],
  ["threads", "core"],
  ["plt-dynamic", "core.plt-entry"],
] as const;

const folder = sharedPath("fixtures/unwind");
const HEAP = 0x5000_0000;

/** Objects as the loader lists them: all mappings of a file are one. */
function loadObjects(process: FakeProcess, modules: readonly Module[]): void {
  const names = new Set(modules.map(({ name }) => name));
  for (const name of names) {
    const parts = modules.filter((module) => module.name === name);
    const { bias, table } = parts[0];
    const start = Math.min(...parts.map((part) => part.start));
    const end = Math.max(...parts.map((part) => part.end));
    process.load({ start, end, bias, name: name! }, tablesFile(table!));
  }
}

function codeAt(modules: ModuleMap, address: number, length: number): Uint8Array | undefined {
  const module = modules.find(address);
  return module?.readCode?.(address - module.bias, length);
}

describe.skipIf(folder === undefined)("stacks of core dumps, walked from inside", () => {
  for (const [name, core] of CORES)
    it(`${name}/${core}: each frame leads to the callers that the unwinder of dumps finds`, ({ skip }) => {
      const fixture = openCoreFixture(join(folder!, name, `${core}.gz`), { registers: true });
      if (fixture.missing.some((file) => /\/(libc|ld-linux)/.test(file))) skip();
      const process = new FakeProcess();
      process.memory.readElse = (address, length) =>
        fixture.readMemory(address, length) ?? codeAt(fixture.unwinder.modules, address, length);
      loadObjects(process, fixture.unwinder.modules.all);
      let block = HEAP;
      process.library = { malloc: () => (block += 64) };
      let walked = 0;
      for (const { registers } of fixture.threads) {
        const { frames, end } = fixture.unwinder.unwind(registers, fixture.readMemory);
        for (let i = 1; i < frames.length; i++) {
          // A hook is called, not interrupted.
          if (frames[i - 1].kind === "signal") continue;
          const { rip, rsp, rbp } = frames[i].registers!.toObject();
          if (rbp === undefined || rip === 0n) continue;
          process.site = { address: Number(rip), place: Number(rsp) - 8, framePointer: Number(rbp) };
          process.hooks.malloc(8n);
          expect(process.stack()).toEqual({
            frames: frames.slice(i).map(({ pc }) => pc),
            end: end === "outermost" || end === "zero" ? WalkEnd.whole : WalkEnd.lost,
          });
          walked++;
        }
      }
      expect(walked).toBeGreaterThan(3);
    });
});
