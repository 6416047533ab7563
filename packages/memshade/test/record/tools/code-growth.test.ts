import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { decodeModule, SectionId, sectionPayload } from "../../../src/code/wasm/index.ts";
import { type InstrumentOptions, instrument } from "../../../src/record/tools/index.ts";
import { wat } from "../../support/assemble.ts";

const KERNELS = new URL("../../fixtures/programs/kernels/", import.meta.url);
const kernels = readdirSync(KERNELS).filter((name) => name.endsWith(".wasm"));

function codeBytes(bytes: Uint8Array): number {
  return sectionPayload(decodeModule(bytes), SectionId.Code)?.length ?? 0;
}

function added(bytes: Uint8Array, options: InstrumentOptions): number {
  return codeBytes(instrument(bytes, options).bytes) - codeBytes(bytes);
}

describe("the code of a small program", () => {
  it.each(kernels)("grows to at most 2.1 times its size: %s", (name) => {
    const bytes = readFileSync(new URL(name, KERNELS));
    expect(added(bytes, {}) / codeBytes(bytes)).toBeLessThan(1.1);
  });
});

describe("what a module has no use for", () => {
  const program = (body: string) =>
    wat(`(module (memory 1)
      (func $malloc (param i32) (result i32) (i32.const 16))
      (func $free (param i32))
      (func (export "run") (param i32 i32) (drop (call $malloc (i32.const 8))) (call $free (i32.const 16)) ${body}))`);
  const options = { allocator: "malloc=malloc,free=free" };
  const access = "(i32.store (local.get 0) (i32.const 1))";
  it("is not merged into it: where accesses alone are counted, what follows blocks", () => {
    expect(added(program(access), { ...options, countersOnly: true })).toBeLessThan(500);
  });
});
