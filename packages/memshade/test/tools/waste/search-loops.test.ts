import { describe, expect, it } from "vitest";
import { isSearch } from "../../../src/tools/waste/pass/search-loops.ts";
import { decodeModule, iterateInstructions } from "../../../src/wasm/index.ts";
import { wat } from "../../support/assemble.ts";

/** Of the only loop of a function with this body. */
function searches(body: string): boolean {
  const { bytes, bodies } = decodeModule(
    wat(`(module (memory 1) (func (param $p i32) (param $n i32) (result i32) (local $sum i32) (local $w i32)
      (loop $next ${body}) (local.get $sum)))`),
  );
  const [{ codeStart, end }] = bodies;
  const instructions = [...iterateInstructions(bytes, codeStart, end)];
  const loop = instructions.findIndex(({ name }) => name === "loop");
  const last = instructions.findIndex(({ name }, i) => i > loop && name === "end");
  return isSearch(bytes, instructions[loop].end, instructions[last].end);
}

const STEP = "(local.set $p (i32.add (local.get $p) (i32.const 4)))";
const COUNT = "(local.tee $n (i32.sub (local.get $n) (i32.const 1)))";
const ADD = "(local.set $sum (i32.add (local.get $sum) (i32.load (local.get $p))))";

describe("loops that go on by what they load", () => {
  it("are those that look for the end of a text, a word or a byte at a time", () => {
    const word = "(local.tee $w (i32.load (local.get $p)))";
    const zeros = `(i32.and (i32.xor ${word} (i32.const -1)) (i32.sub (local.get $w) (i32.const 0x1010101)))`;
    expect(searches(`${STEP} (br_if $next (i32.eqz (i32.and ${zeros} (i32.const 0x80808080))))`)).toBe(true);
    expect(searches(`${STEP} (br_if $next (i32.load8_u (local.get $p)))`)).toBe(true);
  });

  it("are those that move what is larger than something, and store it on the way", () => {
    const move = "(i32.store offset=4 (local.get $p) (local.tee $w (i32.load (local.get $p))))";
    expect(searches(`${move} ${STEP} (br_if $next (i32.gt_s (local.get $w) (local.get $n)))`)).toBe(true);
  });

  it("are none that are counted, or end at an address, whatever they make of what they load", () => {
    expect(searches(`${ADD} ${STEP} (br_if $next ${COUNT})`)).toBe(false);
    expect(searches(`${ADD} ${STEP} (br_if $next (i32.ne (local.get $p) (local.get $n)))`)).toBe(false);
    expect(
      searches(`(local.set $w (i32.load (local.get $p))) ${STEP} (local.set $w (i32.const 0))
      (br_if $next (i32.or (local.get $w) ${COUNT}))`),
    ).toBe(false);
  });
});
