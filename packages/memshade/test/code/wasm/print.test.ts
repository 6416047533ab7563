import { describe, expect, it } from "vitest";
import { decodeModule, functionName, printInstruction, readNames } from "../../../src/code/wasm/index.ts";
import { assemble, KITCHEN_SINK } from "./support.ts";

function printed(text: string): string[] {
  const bytes = assemble(text, { names: true });
  const module = decodeModule(bytes);
  const lines: string[] = [];
  for (const { codeStart, end } of module.bodies) {
    let position = codeStart;
    while (position < end) {
      const next = printInstruction(
        bytes,
        position,
        (index) => functionName(module, readNames(module), index)!,
      );
      lines.push(next.text);
      position = next.end;
    }
    expect(position).toBe(end);
  }
  return lines;
}

describe("an instruction as text", () => {
  it("has what the text format has, but for alignments and what is as usual", () => {
    expect(
      printed(`(module (memory 1) (func $f (param i32) (result i64)
        block (result i32) local.get 0 br_if 0 i32.const -5 end
        i32.load offset=300 align=1 drop
        local.get 0 i64.const -9000000000 i64.store
        f32.const -0.5 drop f64.const 1e300 drop
        local.get 0 i32.const 0 i32.const 200 memory.fill
        loop local.get 0 br_table 0 1 0 end
        local.get 0 call $f))`),
    ).toEqual([
      "block (result i32)",
      "local.get 0",
      "br_if 0",
      "i32.const -5",
      "end",
      "i32.load offset=300",
      "drop",
      "local.get 0",
      "i64.const -9000000000",
      "i64.store",
      "f32.const -0.5",
      "drop",
      "f64.const 1e+300",
      "drop",
      "local.get 0",
      "i32.const 0",
      "i32.const 200",
      "memory.fill",
      "loop",
      "local.get 0",
      "br_table 0 1 0",
      "end",
      "local.get 0",
      "call f",
      "end",
    ]);
  });

  it("is read to its end, whatever it is", () => {
    const lines = printed(KITCHEN_SINK);
    expect(lines).toContain("i64.store32 1 offset=4294967296");
    expect(lines).toContain("call_indirect (type 0)");
    expect(lines.filter((line) => /undefined|NaN NaN/.test(line))).toEqual([]);
  });
});
