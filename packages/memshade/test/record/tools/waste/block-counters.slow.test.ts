import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import { wat } from "../../../support/assemble.ts";
import { Wasted } from "../../../support/wasted.ts";

/** Pieces of a function's body; `chance` is an i32 that differs each time. */
type Code = (depth: number) => string;
const CHANCE = `(i32.and (i32.shr_u (local.tee $x (i32.add (i32.mul (local.get $x) (i32.const 1103515245)) (i32.const 12345))) (i32.const 16))`;
const chance = `${CHANCE} (i32.const 1))`;
const load = "(drop (i32.load8_u (i32.const 64)))";

const leaf = fc.oneof(
  { arbitrary: fc.constant<Code>(() => load), weight: 8 },
  {
    weight: 6,
    arbitrary: fc.constantFrom<Code>(
      () => "(call $leaf)",
      (depth) => `(br_if ${depth >> 1} ${chance})`,
      (depth) => `(if ${chance} (then (br ${depth >> 1})))`,
      (depth) =>
        `(block (block (br_table 0 1 ${2 + (depth >> 1)} ${CHANCE} (i32.const 3)))) ${load}) ${load}`,
    ),
  },
  {
    arbitrary: fc.constantFrom<Code>(
      () => "(call $host)",
      () => `(if ${chance} (then (return)))`,
    ),
    weight: 1,
  },
);
const { code } = fc.letrec<{ code: Code; list: Code }>((tie) => ({
  list: fc.array(tie("code"), { minLength: 1, maxLength: 4 }).map(
    (parts): Code =>
      (depth) =>
        parts.map((part) => part(depth)).join("\n"),
  ),
  code: fc.oneof(
    { maxDepth: 4, depthSize: "medium" },
    { arbitrary: leaf, weight: 4 },
    tie("list").map(
      (inner): Code =>
        (depth) =>
          `(block ${inner(depth + 1)})`,
    ),
    tie("list").map(
      (inner): Code =>
        (depth) =>
          `(if ${chance} (then ${inner(depth + 1)}))`,
    ),
    fc.tuple(tie("list"), tie("list")).map(
      ([one, other]): Code =>
        (depth) =>
          `(if ${chance} (then ${one(depth + 1)}) (else ${other(depth + 1)}))`,
    ),
    tie("list").map(
      (inner): Code =>
        // The loop ends, however many branches go back.
        (depth) =>
          `(block (loop (br_if 1 (i32.eqz (local.get $fuel)))
             (local.set $fuel (i32.sub (local.get $fuel) (i32.const 1)))
             ${inner(depth + 2)} (br_if 0 ${chance})))`,
    ),
  ),
}));

/** Code that leaves room to follow all other code inline. */
const ROOM = "nop ".repeat(4000);

function moduleOf(body: string, imported = `(import "env" "host" (func $host))`): Uint8Array {
  return wat(`(module ${imported}
    (memory (export "memory") 1 8)
    (func $leaf ${load})
    (func ${ROOM})
    (func $f (export "f") (param $x i32) (local $fuel i32)
      (local.set $fuel (i32.const 40)) ${body}))`);
}

const withHost = { imports: () => ({ env: { host: () => {} } }) };

function loadsOf(wasted: Wasted): unknown[] {
  return wasted
    .contents()
    .loads.map(({ path, loads, bytes, silent }) => [path, loads, bytes, silent])
    .sort((a, b) => (String(a) < String(b) ? -1 : 1));
}

describe("basic blocks", () => {
  it("run as often as their accesses, whatever control does", () => {
    fc.assert(
      fc.property(fc.array(code, { minLength: 4, maxLength: 10 }), fc.nat(1000), (parts, seed) => {
        const bytes = moduleOf(parts.map((part) => part(0)).join("\n"));
        const figures = (waste: WasteOptions) => {
          const wasted = new Wasted(bytes, withHost, { contexts: false, ...waste });
          for (let run = 0; run < 5; run++) wasted.call("f", seed * 5 + run);
          return loadsOf(wasted);
        };
        const expected = figures({ pairs: true });
        expect(figures({})).toEqual(expected);
        expect(figures({ contexts: true })).toEqual(figures({ pairs: true, contexts: true }));
      }),
      { numRuns: 8 },
    );
  });

  it("count right where a callee never comes back, and while it is running", () => {
    const bytes = moduleOf(`${load} (if (local.get $x) (then (call $host))) ${load}`);
    let during: unknown[] = [];
    const wasted: Wasted = new Wasted(
      bytes,
      {
        imports: () => ({
          env: {
            host: () => {
              during = loadsOf(wasted);
              throw new Error("enough");
            },
          },
        }),
      },
      { contexts: false },
    );
    wasted.call("f", 0);
    for (let run = 0; run < 3; run++) expect(() => wasted.call("f", 1)).toThrow("enough");
    expect(during.map((one) => (one as number[])[1])).toEqual([4, 1]);
    expect(loadsOf(wasted).map((one) => (one as number[])[1])).toEqual([4, 1]);
  });

  it("count right where an exception goes past them", () => {
    const bytes = wat(`(module (tag $t) (memory 1 8)
      (func $throws (param i32) (if (local.get 0) (then (throw $t))))
      (func ${ROOM})
      (func (export "f") (param $x i32)
        ${load}
        (try (do ${load} (call $throws (local.get $x)) ${load}) (catch_all ${load}))
        ${load}))`);
    const figures = (waste: WasteOptions) => {
      const wasted = new Wasted(bytes, {}, { contexts: false, ...waste });
      for (const x of [0, 1, 1]) wasted.call("f", x);
      return loadsOf(wasted);
    };
    expect(figures({}).map((one) => (one as number[])[1])).toEqual([3, 3, 1, 2, 3]);
    expect(figures({})).toEqual(figures({ pairs: true }));
  });

  it("count one too many accesses at most where something traps", () => {
    const store = "(i32.store offset=128 (local.get $x) (local.get $x))";
    const bytes = moduleOf(`${load} ${store} (if (local.get $x)
      (then (drop (i32.div_u (i32.const 1) (i32.sub (local.get $x) (i32.const 1))))
        ${load})) ${load} ${store}`);
    const counts = (waste: WasteOptions) => {
      const wasted = new Wasted(bytes, withHost, { contexts: false, ...waste });
      for (const x of [0, 2, 0]) wasted.call("f", x);
      expect(() => wasted.call("f", 1)).toThrow("divide by zero");
      const { loads, stores } = wasted.contents();
      for (const { read, overwritten } of stores) {
        expect(read).toBeGreaterThanOrEqual(0);
        expect(overwritten).toBeGreaterThanOrEqual(0);
      }
      return [...loads.map((one) => one.loads), ...stores.map((one) => one.stores)];
    };
    const exact = counts({ pairs: true });
    counts({}).forEach((count, site) => {
      expect([0, 1]).toContain(count - exact[site]);
    });
  });
});
