import { describe, expect, it } from "vitest";
import { decodeModule } from "../../../src/code/wasm/index.ts";
import { scanModule } from "../../../src/record/rewrite/facts/module-scan.ts";
import { functionsUnderLoops } from "../../../src/record/rewrite/facts/under-loops.ts";
import { wat } from "../../support/assemble.ts";

function under(text: string): number[] {
  const module = decodeModule(wat(text));
  return [...functionsUnderLoops(module, scanModule(module))];
}

describe("functions that loops call", () => {
  it("are those that are called in a loop, and all that these call", () => {
    const text = `(module
      (func $main call $once loop call $step end call $after)
      (func $once)
      (func $step call $part)
      (func $part)
      (func $after loop end))`;
    expect(under(text)).toEqual([0, 0, 1, 1, 0]);
  });

  it("may be all in tables, where a loop calls through one", () => {
    const text = `(module
      (table 1 funcref) (elem (i32.const 0) $seldom)
      (func $main loop i32.const 0 call_indirect end)
      (func $seldom call $deep)
      (func $deep)
      (func $other))`;
    expect(under(text)).toEqual([0, 1, 1, 0]);
  });

  it("do not count calls through tables outside of loops", () => {
    const text = `(module
      (table 1 funcref) (elem (i32.const 0) $seldom)
      (func $main i32.const 0 call_indirect loop end)
      (func $seldom))`;
    expect(under(text)).toEqual([0, 0]);
  });
});
