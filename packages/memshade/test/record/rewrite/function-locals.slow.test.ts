import { describe, expect, it, test } from "vitest";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";
import { instrument } from "../../../src/record/tools/index.ts";
import { wat } from "../../support/assemble.ts";
import { TOOL_VARIANTS } from "../../support/tool-variants.ts";

/** A module with a memory and a function that declares `count` i32 locals (LEB bytes) and loads from address 0. */
function moduleWithLocals(count: readonly number[]): Uint8Array {
  const body = [1, ...count, 0x7f, 0x41, 0, 0x28, 2, 0, 0x1a, 0x0b];
  const code = [1, body.length, ...body];
  return Uint8Array.of(
    0,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    1,
    4,
    1,
    0x60,
    0,
    0,
    3,
    2,
    1,
    0,
    5,
    3,
    1,
    0,
    1,
    10,
    code.length,
    ...code,
  );
}

test("a function with nearly as many locals as engines accept is rewritten", () => {
  const { bytes } = instrument(moduleWithLocals([0xc8, 0x86, 0x03]), { countersOnly: true });
  expect(WebAssembly.validate(bytes as BufferSource)).toBe(true);
});

test("four billion locals end in an error at once", () => {
  expect(() => instrument(moduleWithLocals([0xff, 0xff, 0xff, 0xff, 0x0f]), { countersOnly: true })).toThrow(
    FormatError,
  );
});

/** A module whose function `run` has the largest allowed number of locals, stores and loads, and calls another such function. */
function moduleAtTheLimit(locals: number): Uint8Array {
  return wat(`(module
    (memory (export "memory") 1)
    (func $small (param i32) (result i32) (i32.store (local.get 0) (i32.const 7)) (i32.load (local.get 0)))
    (func $large (export "run") (param i32) (result i32) (local ${"i32 ".repeat(locals - 1)})
      (i32.store offset=64 (i32.mul (local.get 0) (i32.const 4)) (i32.const 5))
      (i32.add (call $small (local.get 0)) (i32.load offset=64 (i32.mul (local.get 0) (i32.const 4))))))`);
}

/** Variants whose code in such a function needs no further local. */
const WITHOUT_LOCALS = ["allocations", "waste", "waste, few ids", "pairs", "objects"];

describe("a function with all locals that engines accept", () => {
  for (const { name, options } of TOOL_VARIANTS)
    it(`works, and a sentence says so where nothing fits into it (${name})`, () => {
      const { bytes, info } = instrument(moduleAtTheLimit(50_000), options);
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
      expect((exports.run as (address: number) => number)(16)).toBe(12);
      const sentence = info.notTracked.some((text) => text.startsWith("large is not instrumented"));
      if (!WITHOUT_LOCALS.includes(name)) expect(sentence).toBe(true);
    });
});

test("a function that would have more bytes than engines accept stays as it is", () => {
  const store = (i: number) =>
    [0x20, 0, 0x41, 0x80 | (i & 0x7f), 0x80 | ((i >> 7) & 0x7f), i >> 14, 0x6c].concat(0x41, 5, 0x36, 2, 0);
  const stores = Uint8Array.from(Array.from({ length: 250_000 }, (_, i) => store(i)).flat());
  const body = new ByteWriter(stores.length + 2).u8(0).bytes(stores).u8(0x0b).finish();
  const code = new ByteWriter(body.length + 8).u32Leb(1).u32Leb(body.length).bytes(body).finish();
  const module = new ByteWriter(code.length + 64)
    .bytes(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))
    .bytes(Uint8Array.of(1, 5, 1, 0x60, 1, 0x7f, 0, 3, 2, 1, 0, 5, 3, 1, 0, 1, 10))
    .u32Leb(code.length)
    .bytes(code)
    .finish();
  expect(WebAssembly.validate(module as BufferSource)).toBe(true);
  const { bytes, info } = instrument(module, { countersOnly: true });
  expect(WebAssembly.validate(bytes as BufferSource)).toBe(true);
  expect(info.notTracked.join(" ")).toMatch(/#0 is not instrumented/);
});
