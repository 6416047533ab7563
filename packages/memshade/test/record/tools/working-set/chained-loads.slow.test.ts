import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { instrument, type WorkingSetLayout } from "../../../../src/record/tools/index.ts";
import { wat } from "../../../support/assemble.ts";

const WORDS = 4096;
/** Content of the word at an address: another word's address. */
const wordAt = (address: number): number => ((address * 40503 + 77) % WORDS) & ~3;

function linesRead(module: Uint8Array, operands: readonly number[]): number[] {
  const { bytes, info } = instrument(module, { tools: ["workingset"] });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
  const words = new Uint32Array((exports.memory as WebAssembly.Memory).buffer);
  for (let address = 0; address < 2 * WORDS; address += 4) words[address >> 2] = wordAt(address);
  (exports.run as (...all: number[]) => number)(...operands);
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  const { buffer } = exports["memshade.workingset"] as WebAssembly.Memory;
  const planes = [0, layout.both].map((at) => new Uint8Array(buffer, at, (2 * WORDS) / 64));
  return [...planes[0].keys()].filter((line) => planes.some((plane) => plane[line] !== 0));
}

describe("a load whose result is the next one's address", () => {
  it("marks its own line, however long the chain, whatever is kept in locals", () => {
    const link = fc.record({ offset: fc.nat(WORDS / 4 - 1).map((word) => word * 4), isKept: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(link, { minLength: 1, maxLength: 6 }),
        fc.nat(WORDS / 8).map((word) => word * 4),
        (links, start) => {
          const code = links.reduce((address, { offset, isKept }) => {
            const load = `(i32.load offset=${offset} ${address})`;
            return isKept ? `(local.tee $kept ${load})` : load;
          }, "(i32.add (local.get $p) (local.get $q))");
          const module = wat(`(module (memory (export "memory") 1 1)
            (func (export "run") (param $p i32) (param $q i32) (result i32) (local $kept i32) ${code}))`);
          const lines = new Set<number>();
          let address = 2 * start;
          for (const { offset } of links) {
            lines.add((address + offset) >> 6);
            address = wordAt(address + offset);
          }
          expect(linesRead(module, [start, start])).toEqual([...lines].sort((a, b) => a - b));
        },
      ),
      { numRuns: 200 },
    );
  });
});
