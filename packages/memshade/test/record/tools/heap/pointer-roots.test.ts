import { describe, expect, it } from "vitest";
import { instrument } from "../../../../src/record/tools/index.ts";
import type { PointerRoots } from "../../../../src/record/tools/options.ts";
import { assemble } from "../../../cli/support/programs.ts";

/**
 * Static data that only the allocator uses. The allocator has words at 2048, 2056, and from 2080 on; `others` are functions of the program.
 */
function stateBeside(others: string): readonly number[] {
  const bytes = assemble(`(module (memory (export "memory") 2)
    (func (export "malloc") (param i32) (result i32)
      (i32.store (i32.const 2048) (i32.add (i32.load (i32.const 2056)) (i32.load (i32.const 2080))))
      (i32.load (i32.const 2048)))
    (func (export "free") (param i32) (i32.store (i32.const 2056) (local.get 0)))
    (func $list (param i32 i32) (i32.store (local.get 0) (local.get 1)))
    (func $failed (param i32 i32))
    ${others})`);
  return (instrument(bytes).info.roots as PointerRoots).allocatorState;
}

describe("what of the static data is the allocator's", () => {
  it("reaches from the first to the last word that it alone knows", () => {
    expect(stateBeside("")).toEqual([2048, 2088]);
  });

  it("stops at a variable of the program between them, also one that is only handed to functions", () => {
    const apart = [2048, 2064, 2080, 2088];
    expect(stateBeside('(func (export "set") (i32.store (i32.const 2072) (i32.const 1)))')).toEqual(apart);
    expect(stateBeside('(func (export "set") (call $list (i32.const 2072) (i32.const 1)))')).toEqual(apart);
  });

  it("does not stop at texts, which have no pointers and begin anywhere", () => {
    expect(stateBeside('(func (export "set") (call $list (i32.const 2073) (i32.const 1)))')).toEqual([
      2048, 2088,
    ]);
  });

  it("does not stop at numbers of lines, which a function gets that gets odd ones elsewhere", () => {
    const reports = (line: number) => `(call $failed (i32.const ${line}) (i32.const 5000))`;
    expect(stateBeside(`(func (export "a") ${reports(2072)}) (func (export "b") ${reports(3333)})`)).toEqual([
      2048, 2088,
    ]);
  });
});
