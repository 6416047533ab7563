import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  decodeModule,
  IMMEDIATE_KIND,
  opcodeId,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
} from "../../../src/code/wasm/index.ts";
import { ByteReader } from "../../../src/ground/bytes/reader.ts";
import { BRANCH_HINT_SECTION, branchHints } from "../../../src/record/rewrite/write/branch-hints.ts";
import { instrument } from "../../../src/record/tools/index.ts";

const KERNELS = new URL("../../fixtures/programs/kernels/", import.meta.url);
const BRANCHES = [opcodeId("if"), opcodeId("br_if")];

interface HintedFunction {
  index: number;
  hints: { offset: number; likely: number }[];
}

function readHints(content: Uint8Array): HintedFunction[] {
  const reader = new ByteReader(content);
  const functions = Array.from({ length: reader.u32Leb() }, () => ({
    index: reader.u32Leb(),
    hints: Array.from({ length: reader.u32Leb() }, () => {
      const offset = reader.u32Leb();
      expect(reader.u32Leb()).toBe(1);
      return { offset, likely: reader.u8() };
    }),
  }));
  expect(reader.atEnd).toBe(true);
  return functions;
}

it("hints are told by function, from the start of its body, in order", () => {
  // Two bodies of 4 and 130 bytes; the size of the second takes two bytes.
  const code = new Uint8Array([2, 4, 0, 0, 0, 0, 0x82, 1, ...new Uint8Array(130)]);
  expect(readHints(branchHints(code, [100, 3, 9, 5], 7))).toEqual([
    {
      index: 7,
      hints: [
        { offset: 1, likely: 0 },
        { offset: 3, likely: 0 },
      ],
    },
    {
      index: 8,
      hints: [
        { offset: 1, likely: 0 },
        { offset: 92, likely: 0 },
      ],
    },
  ]);
});

it.each(["parser", "hashmap", "stencil"])("every hint in %s is one for a branch", (name) => {
  const { bytes } = instrument(readFileSync(new URL(`${name}.wasm`, KERNELS)), {
    tools: ["heap", "workingset"],
    workingset: { locality: {} },
  });
  const module = decodeModule(bytes);
  const section = module.customs.find((custom) => custom.name === BRANCH_HINT_SECTION);
  const code = module.sections.find(({ id }) => id === 10);
  if (section?.contentStart === undefined || code === undefined) throw new Error("no hints");
  expect(section.payloadEnd).toBeLessThanOrEqual(code.start);
  const functions = readHints(bytes.subarray(section.contentStart, section.payloadEnd));
  expect(functions.length).toBeGreaterThan(5);
  let last = -1;
  for (const { index, hints } of functions) {
    expect(index).toBeGreaterThan(last);
    last = index;
    const { start, codeStart, end } = module.bodies[index - module.importedFunctionCount];
    const branches = new Set<number>();
    for (let at = codeStart; at < end; ) {
      const op = opcodeIdAt(bytes, at);
      if (BRANCHES.includes(op)) branches.add(at - start);
      at = skipImmediates(bytes, skipOpcode(bytes, at), IMMEDIATE_KIND[op]);
    }
    expect(hints.filter(({ offset }) => !branches.has(offset))).toEqual([]);
    expect(hints.map(({ offset }) => offset)).toEqual(
      [...new Set(hints.map(({ offset }) => offset))].sort((a, b) => a - b),
    );
  }
});
