import { describe, expect, it } from "vitest";
import {
  type CompositeType,
  F64,
  I32,
  I64,
  PACKED_I8,
  PACKED_I16,
  V128,
} from "../../../../src/code/wasm/index.ts";
import { collectGarbage } from "../../../../src/record/host/instance/host-calls.ts";
import { SizeModel } from "../../../../src/record/tools/objects/size-model.ts";
import { binaryenTool, watByBinaryen } from "../../../support/assemble.ts";

const ANYREF = 0x6e;
const struct = (...types: number[]): CompositeType => ({
  kind: "struct",
  fields: types.map((type) => ({ type, mutable: true })),
});
const array = (type: number): CompositeType => ({ kind: "array", field: { type, mutable: true } });

describe("the model of sizes", () => {
  it.each([
    ["without fields", [], 8],
    ["of a reference and an integer", [ANYREF, I32], 16],
    ["of packed fields", [PACKED_I8, PACKED_I8, PACKED_I16], 12],
    ["with a gap that a later field fills", [PACKED_I8, I32, PACKED_I16], 16],
    ["of wide fields", [I64, F64, V128], 40],
  ])("has a struct %s", (_, types, bytes) => {
    expect(new SizeModel(4).fixedBytes(struct(...types))).toBe(bytes);
  });

  it("has headers of two words, and a third one for lengths", () => {
    expect(new SizeModel(4).fixedBytes(array(PACKED_I8))).toBe(12);
    expect(new SizeModel(8).fixedBytes(array(PACKED_I8))).toBe(24);
    expect(new SizeModel(8).fixedBytes(struct(I32))).toBe(24);
    expect(new SizeModel(8).elementBytes(array(ANYREF))).toBe(8);
  });

  const COUNT = 100_000;
  const TEXTS: readonly [string, CompositeType][] = [
    ["(field i32) (field (ref null any))", struct(I32, ANYREF)],
    ["(field i8) (field i64) (field i16) (field f64)", struct(PACKED_I8, I64, PACKED_I16, F64)],
    ["(field i8) (field i8) (field i32) (field i32)", struct(PACKED_I8, PACKED_I8, I32, I32)],
  ];
  // Node does not compress pointers.
  it.skipIf(binaryenTool("wasm-as") === undefined).each(TEXTS)(
    "is what Node takes for a struct of %s",
    (fields, type) => {
      const module =
        watByBinaryen(`(module (type $t (struct ${fields})) (type $all (array (mut (ref null $t))))
      (global $kept (mut (ref null $all)) (ref.null $all))
      (func (export "begin") (global.set $kept (array.new_default $all (i32.const ${COUNT}))))
      (func (export "make") (local $i i32)
        (loop $next (array.set $all (global.get $kept) (local.get $i) (struct.new_default $t))
          (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const ${COUNT}))))))`);
      const instance = new WebAssembly.Instance(new WebAssembly.Module(module as BufferSource));
      const { begin, make } = instance.exports as Record<string, () => void>;
      const used = (): number => {
        collectGarbage();
        return process.memoryUsage().heapUsed;
      };
      begin!();
      const before = used();
      make!();
      const each = (used() - before) / COUNT;
      expect(Math.abs(each - new SizeModel(8).fixedBytes(type))).toBeLessThan(4);
    },
  );
});
