import { describe, expect, it } from "vitest";
import { wat } from "../../../support/assemble.ts";
import { expectTransparent } from "../../../support/behaviour.ts";
import { MERGED, Watched } from "../../../support/counters.ts";

// If control leaves a block only at its end, the code before and behind the block runs equally often.

const [P, Q] = [1024, 4096];
const module = (body: string) =>
  wat(`(module (memory (export "memory") 1 1) (tag $left) (func $pass)
    (func (export "run") (param $p i32) (param $q i32) (param $n i32) (result i32) ${body} (i32.const 1)))`);

const CALLS = [0, 1, 2, 3, 5].map((n): [string, ...number[]] => ["run", P, Q, n]);
const BEFORE = "(i32.store (local.get $p) (local.get $n))";
const BEHIND = "(i32.store offset=40 (local.get $p) (local.get $n))";
const INSIDE = "(i32.store offset=16 (local.get $q) (local.get $n))";
const ODD = "(i32.and (local.get $n) (i32.const 1))";
const DOWN = "(local.tee $n (i32.sub (local.get $n) (i32.const 1)))";

/** True if accesses behind the block are counted together with accesses before it. */
function shares(block: string): boolean {
  const bytes = module(`${BEFORE} ${block} ${BEHIND}`);
  expectTransparent(bytes, CALLS);
  const watched = new Watched(bytes, MERGED);
  watched.call("run", P, Q, 2);
  return watched.counts()[P] === 2;
}

describe("accesses before and behind", () => {
  it.each([
    ["a condition", `(if ${ODD} (then ${INSIDE}))`],
    ["both arms of a condition", `(if ${ODD} (then ${INSIDE}) (else ${INSIDE} ${INSIDE}))`],
    ["a block that is left early", `(block $b (br_if $b ${ODD}) ${INSIDE})`],
    ["a switch", `(block $a (block $b (br_table $a $b ${ODD})) ${INSIDE})`],
    ["a loop", `(loop $l ${INSIDE} (br_if $l (i32.gt_s ${DOWN} (i32.const 0))))`],
    [
      "a loop with a condition",
      `(loop $l (if ${ODD} (then ${INSIDE})) (br_if $l (i32.gt_s ${DOWN} (i32.const 0))))`,
    ],
    ["one block behind another", `(if ${ODD} (then ${INSIDE})) (block $b (br_if $b ${ODD}) ${INSIDE})`],
    ["a block in a block", `(block $a (if ${ODD} (then ${INSIDE} (br $a))) ${INSIDE})`],
    ["the same pointer's use inside", `(if ${ODD} (then ${BEHIND}))`],
  ])("%s share a counter", (_, block) => {
    expect(shares(block)).toBe(true);
  });

  it.each([
    ["a return", `(if ${ODD} (then (return (i32.const 7))))`],
    ["a call, which may not come back", `(if ${ODD} (then (call $pass)))`],
    ["a change of the pointer", `(if ${ODD} (then (local.set $p (local.get $q))))`],
  ])("%s do not", (_, block) => {
    expect(shares(block)).toBe(false);
  });

  it("a branch out of an outer block do not, though those around the outer block do", () => {
    const inner = `${INSIDE} (if ${ODD} (then (br $out))) (i32.store offset=24 (local.get $q) (local.get $n))`;
    expect(shares(`(block $out ${inner})`)).toBe(true);
    const bytes = module(`(block $out ${inner})`);
    const watched = new Watched(bytes, MERGED);
    watched.call("run", P, Q, 1);
    watched.call("run", P, Q, 2);
    expect(watched.counts()).toEqual({ [Q + 16]: 2, [Q + 24]: 1 });
  });

  it("an exception do not", () => {
    const thrown = `(try (do ${BEFORE} (if ${ODD} (then (throw $left))) ${BEHIND}) (catch $left ${INSIDE}))`;
    expectTransparent(module(`${BEFORE} ${thrown} ${BEHIND}`), CALLS);
  });
});
