import binaryen from "binaryen";
import { describe, expect, it } from "vitest";
import { decodeModule, moduleFeatures } from "../../src/wasm/index.ts";
import { assemble } from "./support.ts";

const featuresOf = (bytes: Uint8Array) => [...moduleFeatures(decodeModule(bytes))].sort();

describe("moduleFeatures", () => {
  it.each<[feature: string, fields: string]>([
    ["", "(memory 1) (func (param i32) (result i32) local.get 0 i32.load)"],
    ["sign-extension", "(func (param i32) (result i32) local.get 0 i32.extend8_s)"],
    ["saturating-float-to-int", "(func (param f32) (result i32) local.get 0 i32.trunc_sat_f32_s)"],
    ["bulk-memory", `(memory 1) (data "passive")`],
    ["bulk-memory", "(memory 1) (func i32.const 0 i32.const 0 i32.const 0 memory.fill)"],
    ["reference-types", "(table 1 externref)"],
    ["reference-types", "(func (param externref))"],
    ["simd", "(global v128 (v128.const i64x2 0 0))"],
    ["simd", "(func (param v128))"],
    ["threads", `(memory 1 2 shared)`],
    ["threads", "(func atomic.fence)"],
    ["tail-call", "(func return_call 0)"],
    ["exceptions", "(tag)"],
    ["legacy-exceptions", "(func try catch_all end)"],
    ["multi-value", "(func (result i32 i32) i32.const 0 i32.const 0)"],
    ["multi-value", "(func i32.const 0 (loop (param i32) drop))"],
    ["mutable-globals", `(global (export "g") (mut i32) (i32.const 0))`],
    ["mutable-globals", `(import "a" "b" (global (mut i32)))`],
    ["memory64", "(memory i64 1)"],
    ["multi-memory", "(memory 1) (memory 1)"],
    ["extended-const", "(global i32 (i32.add (i32.const 1) (i32.const 2)))"],
  ])("%s in %s", (feature, fields) => {
    expect(featuresOf(assemble(`(module ${fields})`))).toEqual(feature === "" ? [] : [feature]);
  });

  it.each<[feature: string, fields: string]>([
    ["gc", "(func (result structref) (struct.new_default (type 0))) (type $s (struct (field i32)))"],
    ["typed-function-references", "(func (param (ref func)))"],
    ["relaxed-simd", "(func (param v128) (drop (i8x16.relaxed_swizzle (local.get 0) (local.get 0))))"],
  ])("%s among others in %s", (feature, fields) => {
    const text = fields.replace("(type 0)", "$s");
    const built = binaryen.parseText(`(module ${text})`);
    built.setFeatures(binaryen.Features.All);
    const bytes = built.emitBinary();
    built.dispose();
    expect(featuresOf(bytes)).toContain(feature);
  });
});
