import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { decode, FLOW, Instruction } from "../../../../src/code/x64/decode/index.ts";
import { Origins } from "../../../../src/record/native/rewrite/origins.ts";
import type { BlockView, Insertion } from "../../../../src/record/native/rewrite/plan.ts";
import { rewriteFile } from "../../../../src/record/native/rewrite/rewrite-file.ts";

const PROGRAM = "/bin/cat";
const isThere = process.platform === "linux" && process.arch === "x64" && existsSync(PROGRAM);
if (!isThere) console.warn(`SKIPPED: there is no ${PROGRAM} for x86-64: origins of new code are not checked`);

describe.skipIf(!isThere)("origins of new code", () => {
  const NOP = 0x90;

  it("lead from the end of each call to that of the old one, whatever stands in front", () => {
    const file = readFileSync(PROGRAM);
    const insertions = (i: number) => Array.from({ length: i % 4 }, () => NOP);
    const {
      bytes,
      origins: kept,
      newText,
    } = rewriteFile(file, ({ first, last }) =>
      Array.from({ length: last - first }, (_, i) => ({ before: first + i, bytes: insertions(first + i) })),
    );
    const origins = new Origins(kept);
    const [instruction, old] = [new Instruction(), new Instruction()];
    let calls = 0;
    // Code addresses are file offsets in this test.
    for (let at = origins.start; at < origins.start + newText; at += instruction.length) {
      decode(bytes, at, instruction);
      const start = origins.originOf(at);
      if (start === at) continue;
      if (bytes[at] !== NOP)
        expect(origins.originOf(at + instruction.length - 1)).toBeGreaterThanOrEqual(start);
      if (instruction.flow !== FLOW.call) continue;
      decode(file, start, old);
      expect(old.flow).toBe(FLOW.call);
      expect(origins.originOf(at + instruction.length - 1)).toBe(start + old.length - 1);
      calls++;
    }
    expect(calls).toBeGreaterThan(50);
    expect(origins.originOf(0x1000)).toBe(0x1000);
  });

  it("lead from cold parts to what they were inserted for", () => {
    const [HALT, EVERY] = [0xf4, 7];
    const parts: { start: number; bytes: number }[] = [];
    const plan = ({ code, first, last }: BlockView): Insertion[] =>
      Array.from({ length: last - first }, (_, i) => first + i)
        .filter((i) => i % EVERY === 0)
        .map((before) => {
          const cold = Array.from({ length: 1 + (before % 3) }, () => HALT);
          parts.push({ start: code.base + code.offsets[before], bytes: cold.length });
          return { before, bytes: [], cold };
        });
    const made = rewriteFile(readFileSync(PROGRAM), Object.assign(plan, { isWalked: true }));
    const origins = new Origins(made.origins);
    const end = made.bytes.lastIndexOf(HALT, origins.start + made.newText) + 1;
    let at = end - parts.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { start, bytes } of parts) {
      expect(origins.originOf(at)).toBeGreaterThanOrEqual(start);
      if (bytes > 1) expect(origins.originOf(at)).toBe(start);
      at += bytes;
    }
    expect(parts.length).toBeGreaterThan(100);
  });

  it("are refused where they are none", () => {
    expect(() => new Origins(new Uint8Array(100))).toThrow(/does not begin/);
    expect(() => new Origins(new Uint8Array(3))).toThrow(/does not begin/);
  });
});
