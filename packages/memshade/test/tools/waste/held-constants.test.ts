import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { writeS64Leb } from "../../../src/bytes/leb128.ts";
import { NO_LOCAL } from "../../../src/rewrite/walk/operand-stack.ts";
import { HeldConstants, savedByHolding } from "../../../src/tools/waste/pass/held-constants.ts";
import { I32, I64 } from "../../../src/wasm/index.ts";

/** Bytes of a local's declaration, `local.set` and `local.get`, and of what pushes a constant. */
const [DECLARATION, SET, GET] = [2, 2, 2];
const pushBytes = (value: bigint) => 1 + writeS64Leb(new Uint8Array(10), 0, value);

describe("constants in locals", () => {
  it("are those with which the function is shorter", () => {
    const s64 = fc.oneof(fc.integer().map(BigInt), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
    fc.assert(
      fc.property(s64, fc.integer({ min: 1, max: 30 }), (value, uses) => {
        const constants = new HeldConstants();
        for (let use = 0; use < uses; use++) constants.want(I64, value, savedByHolding(value));
        const without = uses * pushBytes(value);
        const held = DECLARATION + pushBytes(value) + SET + uses * GET;
        expect(constants.worthHolding().map((constant) => constant.value)).toEqual(
          held < without ? [value] : [],
        );
      }),
    );
  });

  it("are those of one type and of one function", () => {
    const constants = new HeldConstants();
    constants.hold({ type: I32, value: 7n }, 3);
    expect(constants.localOf(I32, 7n)).toBe(3);
    expect(constants.localOf(I64, 7n)).toBe(NO_LOCAL);
    constants.forget();
    expect(constants.localOf(I32, 7n)).toBe(NO_LOCAL);
  });
});
