import { describe, expect, it } from "vitest";
import { instrument } from "../../../src/tools/index.ts";
import { LoopTable } from "../../../src/tools/waste/pass/loop-table.ts";
import { decodeModule } from "../../../src/wasm/index.ts";
import { wat } from "../../support/assemble.ts";

/** Adds up what `sum` is told to, behind a `memory.init` if there is a segment for it; unrolled by two. */
const moduleOf = (segment: string, init: string) =>
  wat(`(module (memory (export "memory") 1) ${segment}
    (func (export "sum") (param $at i32) (param $end i32) (result i32) (local $sum i32)
      ${init}
      (loop $next
        (local.set $sum (i32.add (local.get $sum) (i32.load (local.get $at))))
        (local.set $sum (i32.add (local.get $sum) (i32.load offset=4 (local.get $at))))
        (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8))) (local.get $end))))
      (local.get $sum)))`);

const INIT = "(memory.init $text (i32.const 64) (i32.const 0) (i32.const 16))";
const TEXT = `(data $text "\\01\\00\\00\\00\\02\\00\\00\\00\\03\\00\\00\\00\\04\\00\\00\\00")`;

describe("what is known of loops beforehand", () => {
  it("has the addresses that it said, and what was marked later", () => {
    const table = new LoopTable(65_536, 32);
    expect(table.segments(1)).toEqual([]);
    expect(table.add([1, 2, 3])).toBe(65_536);
    const second = table.add([4, -1]) as number;
    expect(second).toBe(65_548);
    table.mark(second, 96);
    const [{ flags, memory, content }] = table.segments(7);
    expect({ flags, memory }).toEqual({ flags: 2, memory: 7 });
    expect([...new Uint32Array(content.slice().buffer)]).toEqual([1, 2, 3, 100, 0xffffffff]);
    expect(table.endBytes).toBe(65_556);
  });

  it("does not take what it has no room for, and goes on with what it has", () => {
    const table = new LoopTable(0, 16);
    expect(table.add([1, 2, 3])).toBe(0);
    expect(table.add([4, 5])).toBeUndefined();
    expect(table.add([6])).toBe(12);
    expect(table.endBytes).toBe(16);
  });

  // With contexts, what the host calls is written behind all other functions.
  for (const [what, segment, init, announced] of [
    ["without data", "", "", undefined],
    ["with data", `(data (i32.const 64) "\\01\\00\\00\\00\\09")`, "", undefined],
    ["with data that code puts into memory", TEXT, INIT, 2],
  ] as const)
    it.each([
      ["sites", {}],
      ["contexts", { contexts: true }],
    ])(`stands in a segment of its own behind those of the program, in modules ${what}, by %s`, (_, keys) => {
      const plain = moduleOf(segment, init);
      const { bytes, info } = instrument(plain, { tools: ["waste"], waste: { host: "exact", ...keys } });
      const own = decodeModule(plain).data.length;
      const { data, dataCount } = decodeModule(bytes);
      expect(data.length).toBe(own + 1);
      expect(data[own]).toMatchObject({ mode: "active", memory: 1 });
      expect(dataCount).toBe(announced);
      const results = [plain, bytes].map((module) => {
        const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module as BufferSource));
        return { sum: (exports.sum as (at: number, end: number) => number)(64, 80), exports };
      });
      expect(results[1].sum).toBe(results[0].sum);
      const tool = results[1].exports["memshade.waste"] as WebAssembly.Memory;
      const end = info.toolLayouts?.waste?.endBytes as number;
      // Two loads: size 4 in the only unit, eight bytes per trip, the second four bytes behind the first.
      const words = new DataView(tool.buffer, end, 32);
      expect(words.getUint32(0, true)).toBe(2);
      expect([8, 20].map((at) => words.getUint32(at, true) & 1023)).toEqual([4, 4]);
      expect([12, 24].map((at) => words.getInt32(at, true))).toEqual([8, 8]);
      expect([16, 28].map((at) => words.getUint32(at, true))).toEqual([0, 4]);
    });
});
