import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Frame } from "../../../src/code/unwind/index.ts";
import { sharedPath } from "../../shared-path.ts";
import { openCoreFixture } from "./core-fixture.ts";

/** A frame as a debugger sees it; numbers in hexadecimal. */
interface ExpectedFrame {
  pc: string;
  kind: "normal" | "signal";
  cfa?: string;
  regs: Record<string, string>;
  stop?: string;
}

interface Expected {
  threads: { lwp: number; frames: ExpectedFrame[] }[];
}

const CORES = [
  ["recursion", "core", "expected"],
  ["frames-mix", "core", "expected"],
  ["signal-callback", "core", "expected"],
  ["threads", "core", "expected"],
  ["aarch64-frames", "core", "expected"],
  ["plt-dynamic", "core.plt-entry", "expected.plt-entry"],
  ["plt-dynamic", "core.plt-pushed", "expected.plt-pushed"],
  ["plt-dynamic", "core.plt0-pushed", "expected.plt0-pushed"],
  ["plt-dynamic", "core.dl-fixup", "expected.dl-fixup"],
] as const;

/** Fields of a frame that the debugger gave, from our frame. */
function asExpected(frame: Frame, { regs, cfa, stop }: ExpectedFrame, end: string): ExpectedFrame {
  const registers = frame.registers!.toObject();
  return {
    pc: hexadecimal(frame.pc),
    kind: frame.kind,
    ...(cfa !== undefined && { cfa: hexadecimal(frame.cfa ?? -1) }),
    regs: Object.fromEntries(Object.keys(regs).map((name) => [name, hexadecimal(registers[name] ?? -1)])),
    ...(stop !== undefined && { stop: end }),
  };
}

function hexadecimal(value: number | bigint): string {
  return `0x${value.toString(16)}`;
}

const folder = sharedPath("fixtures/unwind");

describe.skipIf(folder === undefined)("stacks of core dumps, as a debugger shows them", () => {
  for (const [name, core, expectedName] of CORES)
    for (const lazy of [false, true])
      it(`${name}/${core}${lazy ? ", reading FDEs on demand" : ""}`, ({ skip }) => {
        const fixture = openCoreFixture(join(folder!, name, `${core}.gz`), { registers: true }, { lazy });
        const missing = fixture.missing.filter((file) => /\/(libc|ld-linux)/.test(file));
        if (missing.length > 0) {
          console.warn(`SKIPPED: ${core} needs ${missing.join(", ")}`);
          skip();
        }
        const text = readFileSync(join(folder!, name, `${expectedName}.json`), "utf8");
        const expected = JSON.parse(text) as Expected;
        expect(fixture.threads.map(({ lwp }) => lwp).sort()).toEqual(
          expected.threads.map(({ lwp }) => lwp).sort(),
        );
        for (const { lwp, frames } of expected.threads) {
          const { registers } = fixture.threads.find((thread) => thread.lwp === lwp)!;
          const stack = fixture.unwinder.unwind(registers, fixture.readMemory);
          expect(stack.frames).toHaveLength(frames.length);
          const seen = stack.frames.map((frame, i) => asExpected(frame, frames[i], stack.end));
          const told = frames.map(({ pc, kind, cfa, regs, stop }) => ({
            pc,
            kind,
            ...(cfa !== undefined && { cfa }),
            regs,
            ...(stop !== undefined && { stop }),
          }));
          expect(seen).toEqual(told);
        }
      });
});
