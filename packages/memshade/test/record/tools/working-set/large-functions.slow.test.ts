import { expect, it } from "vitest";
import {
  decodeModule,
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
} from "../../../../src/code/wasm/index.ts";
import * as Op from "../../../../src/code/wasm/op.generated.ts";
import { LARGE_FUNCTION_BYTES } from "../../../../src/record/rewrite/facts/size-limits.ts";
import { instrument, type WorkingSetLayout } from "../../../../src/record/tools/index.ts";
import { wat } from "../../../support/assemble.ts";

const STORES = 20_000;
const PAGES = 41;

/** Stores of words 128 bytes apart, at addresses without a common value, in one function or in many. */
function module(inOne: boolean): Uint8Array {
  const stores = Array.from(
    { length: STORES },
    (_, index) => `(i32.store (i32.or (local.get $p) (i32.const ${index * 128})) (i32.const 1))`,
  );
  const size = inOne ? STORES : STORES / 100;
  const functions = Array.from({ length: STORES / size }, (_, index) => {
    return `(func $f${index} (param $p i32) ${stores.slice(index * size, (index + 1) * size).join("")})`;
  });
  const calls = functions.map((_, index) => `(call $f${index} (local.get $p))`);
  return wat(`(module (memory (export "memory") ${PAGES} ${PAGES}) ${functions.join("\n")}
    (func (export "run") (param $p i32) ${calls.join("")}))`);
}

/** Branches in the largest function of the rewritten module, and the lines that a run writes. */
function followed(bytes: Uint8Array, start: number) {
  const { bytes: rewritten, info } = instrument(bytes, { tools: ["workingset"] });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(rewritten as BufferSource));
  (instance.exports.run as (start: number) => void)(start);
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  const { buffer } = instance.exports["memshade.workingset"] as WebAssembly.Memory;
  const planes = [layout.written, layout.both].map((at) => new Uint8Array(buffer, at, PAGES * 1024));
  const lines = [...planes[0].keys()].filter((line) => planes.some((plane) => plane[line] !== 0));
  return { lines, branches: branchesIn(rewritten) };
}

function branchesIn(bytes: Uint8Array): number {
  const { bodies } = decodeModule(bytes);
  const body = bodies.toSorted((a, b) => b.end - b.start - (a.end - a.start))[0];
  let branches = 0;
  for (let at = body.codeStart; at < body.end; ) {
    const op = opcodeIdAt(bytes, at);
    if (op === Op.IF) branches++;
    at = skipImmediates(bytes, skipOpcode(bytes, at), IMMEDIATE_KIND[op]);
  }
  return branches;
}

it("a large function gets no branch at each access, and has the lines that small functions have", () => {
  const [large, small] = [module(true), module(false)];
  const body = decodeModule(large).bodies[0];
  expect(body.end - body.start).toBeGreaterThan(LARGE_FUNCTION_BYTES);
  // At the second start address, words cross the borders of lines.
  for (const start of [64, 62]) {
    const expected = new Set<number>();
    for (let index = 0; index < STORES; index++)
      for (const end of [0, 3]) expected.add((start + index * 128 + end) >> 6);
    const lines = [...expected].sort((a, b) => a - b);
    const [one, many] = [followed(large, start), followed(small, start)];
    expect(one.lines).toEqual(lines);
    expect(many.lines).toEqual(lines);
    expect(one.branches).toBeLessThan(10);
    expect(many.branches).toBeGreaterThan(50);
  }
});
