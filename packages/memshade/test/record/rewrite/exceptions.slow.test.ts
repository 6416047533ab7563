import { setFlagsFromString } from "node:v8";
import { describe, expect, it } from "vitest";
import { binaryenTool, wat, watByBinaryen } from "../../support/assemble.ts";
import { type Call, expectTransparent, type Host } from "../../support/behaviour.ts";
import { BUMP, Profiled } from "../../support/profiled.ts";

const LOAD = "(local.set $r (i32.add (local.get $r) (i32.load (local.get $p))))";
const STORE = "(i32.store offset=4 (local.get $p) (local.get $r))";
const MOVE = "(local.set $p (i32.add (local.get $p) (i32.const 64)))";

const legacy = (body: string) =>
  wat(`(module (import "host" "boom" (func $boom (param i32))) (memory (export "memory") 1 1)
    (tag $number (param i32)) (tag $pair (param i32 i64)) (tag $empty)
    (func $throws (param $how i32)
      (if (i32.eq (local.get $how) (i32.const 1)) (then (throw $number (i32.const 1024))))
      (if (i32.eq (local.get $how) (i32.const 2)) (then (throw $pair (i32.const 2048) (i64.const 5))))
      (if (i32.eq (local.get $how) (i32.const 3)) (then (throw $empty)))
      (call $boom (local.get $how)))
    (func (export "run") (param $how i32) (param $p i32) (result i32) (local $r i32) ${body} (local.get $r)))`);

const host = (): Host => ({
  imports: {
    host: {
      boom: (how: number) => {
        if (how === 4) throw new Error("of the host");
      },
    },
  },
});
const ALL: Call[] = [0, 1, 2, 3, 4].map((how) => ["run", how, 512]);

const expectSame = (body: string) => expectTransparent(legacy(body), ALL, { host });

describe("legacy exceptions", () => {
  it("caught by tag, with one value or several, or all of them", () => {
    const { results } = expectSame(`
      (try (do ${LOAD} (call $throws (local.get $how)) ${STORE})
        (catch $number (local.set $r) (i32.store offset=8 (local.get $r) (i32.const 7)) ${LOAD})
        (catch $pair (i64.store offset=16) ${STORE})
        (catch_all ${LOAD} ${LOAD}))
      ${LOAD}`);
    expect(results).toHaveLength(5);
  });

  it("that leave the module", () => {
    const { results } = expectSame(
      `${LOAD} (try (do (call $throws (local.get $how)) ${STORE}) (catch $empty ${LOAD})) ${LOAD}`,
    );
    expect(results).toEqual([
      expect.stringMatching(/^\d+$/),
      "exception",
      "exception",
      expect.stringMatching(/^\d+$/),
      "threw Error: of the host",
    ]);
  });

  it("thrown again, from inside other handlers", () => {
    expectSame(`
      (try $outer (do
          (try $inner (do ${MOVE} (call $throws (local.get $how)))
            (catch $number ${STORE} (drop) (rethrow $inner))
            (catch_all (try (do (throw $number (i32.const 640))) (catch $number (drop) ${LOAD} (rethrow $inner))))))
        (catch $number (local.set $r) ${STORE})
        (catch_all ${MOVE} ${STORE}))
      ${LOAD}`);
  });

  it("delegated to an outer try and to the caller", () => {
    expectSame(`
      (try $outer (do ${LOAD} (try (do ${MOVE} (call $throws (local.get $how)) ${STORE}) (delegate $outer)) ${LOAD})
        (catch $number ${STORE} (drop)) (catch_all ${LOAD} ${MOVE} ${STORE}))
      (try (do (call $throws (i32.const 0)) ${LOAD}) (delegate 0))
      ${LOAD}`);
    expectSame(`(block (try (do ${LOAD} (call $throws (local.get $how)) ${STORE}) (delegate 1))) ${LOAD}`);
  });

  it("with results, parameters and branches out of the handlers", () => {
    expectSame(`
      (block $out
        (i32.store offset=32 (local.get $p)
          (try (result i32) (do (call $throws (local.get $how)) (i32.load (local.get $p)))
            (catch $number (drop) (br $out))
            (catch $pair (drop))
            (catch_all (br_if $out (local.get $r)) (i32.const 9))))
        ${LOAD})
      ${LOAD}`);
    expectSame(`
      (loop $again
        (try (do ${LOAD} ${MOVE} (call $throws (local.get $how)) ${STORE})
          (catch_all (local.set $how (i32.const 0)) ${STORE} (br $again)))
        ${LOAD})`);
  });

  it("inside and around loops whose counters were moved out of them", () => {
    const loop = `(local.set $r (i32.const 9)) (loop $l ${STORE} ${MOVE} (br_if $l (local.tee $r (i32.sub (local.get $r) (i32.const 1)))))`;
    expectSame(
      `(try (do ${loop} (call $throws (local.get $how)) ${loop}) (catch_all ${loop} ${LOAD})) ${LOAD}`,
    );
  });

  it("in code that nothing reaches", () => {
    expectSame(
      `(block (br 0) (try (do (throw $empty)) (catch $number (i32.load) (drop)) (catch_all (rethrow 0))) (try (do) (delegate 0))) ${LOAD}`,
    );
  });

  it("leave the profile's contexts right", () => {
    const module = wat(`(module (tag $t) (memory 1 1) ${BUMP}
      (func $deep (param i32) (drop (call $malloc (i32.const 8))) (if (local.get 0) (then (throw $t))))
      (func $middle (param i32) (call $deep (local.get 0)))
      (func $safe (param i32) (try (do (call $middle (local.get 0))) (catch_all)) (drop (call $malloc (i32.const 16))))
      (func $run (export "run") (param i32) (call $safe (local.get 0)) (call $after))
      (func $after (drop (call $malloc (i32.const 24)))))`);
    const profiled = new Profiled(module);
    profiled.call("run", 0);
    const calm = profiled.stacks();
    expect(calm).toEqual({ "deep < middle < safe < run": 1, "safe < run": 1, "after < run": 1 });
    profiled.call("run", 1);
    expect(Object.values(profiled.stacks())).toEqual([2, 2, 2]);
    expect(Object.keys(profiled.stacks())).toEqual(Object.keys(calm));
  });
});

const exnref = (body: string) =>
  watByBinaryen(`(module (import "host" "boom" (func $boom (param i32))) (memory (export "memory") 1 1)
    (tag $number (param i32)) (tag $pair (param i32 i64)) (tag $empty)
    (func $throws (param $how i32)
      (if (i32.eq (local.get $how) (i32.const 1)) (then (throw $number (i32.const 1024))))
      (if (i32.eq (local.get $how) (i32.const 2)) (then (throw $pair (i32.const 2048) (i64.const 5))))
      (if (i32.eq (local.get $how) (i32.const 3)) (then (throw $empty)))
      (call $boom (local.get $how)))
    (func (export "run") (param $how i32) (param $p i32) (result i32) (local $r i32) ${body} (local.get $r)))`);

const installed = binaryenTool("wasm-as") !== undefined;
if (!installed) console.warn("SKIPPED: binaryen is not installed, nothing assembles try_table");
// Engines that do not ship the instruction yet have it behind a flag.
setFlagsFromString("--experimental-wasm-exnref");

describe.skipIf(!installed)("try_table", () => {
  it("catches to labels around it, with references and without", () => {
    const module = exnref(`
      (block $done
        (block $all
          (block $pair (result i32 i64)
            (block $number (result i32)
              (try_table (catch $number $number) (catch $pair $pair) (catch_all $all)
                ${LOAD} (call $throws (local.get $how)) ${STORE})
              (br $done))
            (local.set $r) (i32.store offset=8 (local.get $p) (local.get $r))
            ${LOAD} (br $done))
          (drop) (local.set $r) ${LOAD} (br $done))
        ${LOAD} ${MOVE} ${STORE})
      ${LOAD}`);
    expectTransparent(module, ALL, { host });
  });

  it("throws caught references again", () => {
    const module = exnref(`
      (block $caught (result exnref)
        (block $inner (result exnref)
          (try_table (catch_all_ref $inner) ${LOAD} (call $throws (local.get $how)) ${STORE})
          (return (local.get $r)))
        (block $again (result exnref)
          (try_table (catch_all_ref $again) ${MOVE} ${STORE} (throw $empty))
          (unreachable))
        (drop)
        (if (i32.eq (local.get $how) (i32.const 3)) (then (return (local.get $r))))
        (throw_ref))
      (throw_ref)`);
    const { results } = expectTransparent(module, ALL, { host });
    expect(results.slice(1)).toEqual([
      "exception",
      "exception",
      expect.stringMatching(/^\d+$/),
      "threw Error: of the host",
    ]);
  });

  it("lives beside the wrappers that keep the profile's stack right", () => {
    const module =
      watByBinaryen(`(module (import "host" "boom" (func $boom (param i32))) (tag $t) (memory 1 1)
      ${BUMP}
      (func $middle (param i32) (call $boom (local.get 0)) (drop (call $malloc (i32.const 8))))
      (func $run (export "run") (param i32)
        (block $h (try_table (catch_all $h) (call $middle (local.get 0))))
        (drop (call $malloc (i32.const 16)))))`);
    const profiled = new Profiled(module, { imports: () => host().imports });
    for (const how of [0, 4, 4, 0]) profiled.call("run", how);
    expect(profiled.stacks()).toEqual({ "middle < run": 2, run: 4 });
  });
});
