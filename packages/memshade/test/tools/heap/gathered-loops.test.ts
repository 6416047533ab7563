import { describe, expect, it } from "vitest";
import { wat } from "../../support/assemble.ts";
import { MERGED, Watched } from "../../support/counters.ts";
import { countNaively, naiveWords } from "../../support/naive-counters.ts";

// Loops around loops gather what they access in locals. Each object must get what a naive count gives it, whatever way the
// loops are left.

/** Objects have a page each: `$p` points to one, `$q` to another. */
const PAGE_BYTES = 65536;
const [P, Q] = [2 * PAGE_BYTES, 5 * PAGE_BYTES];

const module = (body: string) =>
  wat(`(module (memory 8 8)
    (data (i32.const ${P}) "\\00\\00\\05\\00")
    (data (i32.const ${Q}) "\\00\\00\\02\\00")
    (tag $left)
    (func $pass (param i32))
    (func $run (export "run") (param $p i32) (param $q i32) (param $n i32) (param $m i32) (result i32)
      (local $i i32) (local $j i32) (local $h i32) (local $s i32) ${body} (local.get $s)))`);

const objects = (words: Uint32Array): { accesses: number; reads: boolean }[] =>
  Array.from({ length: 8 }, (_, page) => {
    const own = words.subarray((page * PAGE_BYTES) / 8, ((page + 1) * PAGE_BYTES) / 8);
    return {
      accesses: own.reduce((sum, word) => sum + (word >>> 1), 0),
      reads: own.some((word) => (word & 1) === 1),
    };
  });

/** Runs it with several numbers of trips and compares object by object; gives all accesses, and how many counters hold them. */
function expectSameObjects(body: string): { accesses: number; counters: number } {
  const bytes = module(body);
  const watched = new Watched(bytes, MERGED);
  const naive = new WebAssembly.Instance(new WebAssembly.Module(countNaively(bytes) as BufferSource));
  for (const [n, m] of [
    [1, 1],
    [3, 1],
    [2, 5],
    [7, 9],
  ]) {
    const operands = [P, Q, n, m];
    const result = watched.call("run", ...operands);
    expect(result).toBe((naive.exports.run as (...all: number[]) => number)(...operands));
    expect(objects(watched.words)).toEqual(objects(naiveWords(naive)));
  }
  return { accesses: watched.total(), counters: watched.words.filter((word) => word !== 0).length };
}

/** A loop of `$n` trips around one of `$m`. */
const nest = (outer: string, inner: string, behind = "") => `
  (local.set $i (i32.const 0))
  (loop $outer ${outer}
    (local.set $j (i32.const 0))
    (loop $inner ${inner}
      (br_if $inner (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $m))))
    ${behind}
    (br_if $outer (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))`;

const add = (value: string) => `(local.set $s (i32.add (local.get $s) ${value}))`;
const at = (base: string, index: string) => `(i32.add (local.get ${base}) (i32.shl ${index} (i32.const 4)))`;
const ODD = "(i32.and (i32.mul (local.get $j) (i32.const 7)) (i32.const 1))";
const MIXED = "(i32.xor (local.get $i) (local.get $j))";
const when = (condition: string, then: string, otherwise = "") =>
  `(if ${condition} (then ${then}) (else ${otherwise}))`;

describe("a loop around a loop", () => {
  it("gathers what lies at any index of one object, accessed or not", () => {
    const body = nest(
      "",
      when(ODD, add(`(i32.load ${at("$p", MIXED)})`), `(i32.store ${at("$q", MIXED)} (local.get $i))`),
    );
    const { accesses, counters } = expectSameObjects(body);
    expect(accesses).toBe(1 + 3 + 10 + 63);
    expect(counters).toBeLessThan(10);
  });

  it("says of an object that is read and written that it is read, and of one only written that it is not", () => {
    const touch = `(i32.store8 ${at("$p", MIXED)} (i32.const 1))`;
    expectSameObjects(nest("", when(ODD, touch, `(i32.store ${at("$q", MIXED)} (i32.const 0))`)));
    expectSameObjects(nest("", when(ODD, touch, add(`(i32.load8_u ${at("$p", MIXED)})`))));
    expectSameObjects(nest("", when("(i32.const 0)", add(`(i32.load ${at("$p", MIXED)})`), touch)));
  });

  it("gathers along pointers that move, forwards and backwards, in either loop", () => {
    const move = (by: number) => `(local.set $p (i32.add (local.get $p) (i32.const ${by})))`;
    const load = add("(i32.load offset=8 (local.get $p))");
    expectSameObjects(nest("", when(ODD, `${load} ${move(4)}`, move(8))));
    expectSameObjects(nest(move(24), when(ODD, `${load} ${move(-4)}`, load), load));
    expectSameObjects(nest("", when(ODD, load), move(40)));
    expectSameObjects(
      nest(
        "",
        when(ODD, `${load} (local.set $p ${at("$p", "(i32.and (local.get $j) (i32.const 3))")})`, load),
      ),
    );
  });

  it("does not take for one object what a pointer is changed to", () => {
    const load = add("(i32.load (local.get $p))");
    const swap = "(local.set $h (local.get $p)) (local.set $p (local.get $q)) (local.set $q (local.get $h))";
    expectSameObjects(nest("", when(ODD, load), swap));
    expectSameObjects(nest("", when(ODD, `${load} ${swap}`, load)));
    expectSameObjects(nest(swap, when(ODD, load, add("(i32.load (local.get $q))"))));
    // Each object holds the address of the other one.
    expectSameObjects(nest("", when(ODD, "(local.set $p (i32.load (local.get $p)))", load)));
    expectSameObjects(nest("(local.set $p (i32.load (local.get $p)))", when(ODD, load)));
    expectSameObjects(
      nest(
        "(local.set $h (local.get $q))",
        when(ODD, add("(i32.load (local.get $h))")),
        "(local.set $q (local.get $p))",
      ),
    );
  });

  it("may be left from inside of both, by either, and be continued", () => {
    const work = when(
      ODD,
      add(`(i32.load ${at("$p", MIXED)})`),
      `(i32.store ${at("$q", MIXED)} (local.get $j))`,
    );
    const third = "(i32.eq (local.get $j) (i32.const 3))";
    const next = "(local.set $i (i32.add (local.get $i) (i32.const 1)))";
    const more = "(i32.lt_u (local.get $i) (local.get $n))";
    expectSameObjects(`(block $out ${nest("", `${work} (br_if $out ${third})`)}) ${work}`);
    expectSameObjects(
      `(block $out ${nest("", `(block $in ${work} (br_if $in ${third}) ${work})`, work)}) ${work}`,
    );
    expectSameObjects(nest("", `${work} ${when(third, "(return (local.get $s))")}`, work));
    expectSameObjects(nest("", `${work} ${when(third, `${next} (br_if $outer ${more})`)}`, work));
    expectSameObjects(
      `(block $out (block $middle ${nest("", `${work} (block $on (br_table $on $middle $out $on (local.get $j)))`)}) ${work}) ${work}`,
    );
    expectSameObjects(nest("", `${work} (drop (br_if 2 (i32.const 9) ${third}))`, work));
    expectSameObjects(
      `(drop (block $out (result i32) ${nest("", `${work} (drop (br_if $out (i32.const 1) ${third}))`)} (i32.const 0)))`,
    );
  });

  it("may call, or throw, where everything has to be counted", () => {
    const work = when(
      ODD,
      add(`(i32.load ${at("$p", MIXED)})`),
      `(i32.store ${at("$q", MIXED)} (local.get $j))`,
    );
    const third = "(i32.eq (local.get $j) (i32.const 3))";
    expectSameObjects(nest("", `${work} (call $pass (local.get $j))`));
    expectSameObjects(nest("(call $pass (local.get $i))", work, work));
    expectSameObjects(
      `(try (do ${nest("", `${work} ${when(third, "(throw $left)")}`)}) (catch $left ${work}))`,
    );
  });
});
