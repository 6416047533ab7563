import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LOG_ENTRY_BYTES, type WasteOptions } from "../../../src/tools/index.ts";
import { FULL_LOG_BYTES } from "../../../src/tools/waste/pass/waste-layout.ts";
import type { WasteContents } from "../../../src/tools/waste/read/read-waste.ts";
import { siteRunsOf } from "../../../src/tools/waste/read/site-runs.ts";
import { wat } from "../../support/assemble.ts";
import { Wasted } from "../../support/wasted.ts";

const HOST: WasteOptions = { contexts: false, host: "exact", ids: 16 };
const STORES = ["i32.store8", "i32.store16", "i32.store", "i64.store"];
const LOADS = ["i32.load8_u", "i32.load16_u", "i32.load", "i64.load", "v128.load"];

/** Code that nobody calls: what is added may be some multiple of what is there. */
const FILLER = `(func ${"(nop)".repeat(10_000)})`;

/** Calls itself to the depth that it is given, and loads on its way back what several stores wrote on its way there. */
const DEEP = `(module (memory 64) ${FILLER}
  (func $deep (export "deep") (param $n i32) (result i32) (local $at i32)
    (local.set $at (i32.add (i32.const 1024) (i32.shl (local.get $n) (i32.const 3))))
    (i32.store16 (local.get $at) (local.get $n))
    (i32.store16 offset=2 (local.get $at) (local.get $n))
    (i32.store8 offset=5 (local.get $at) (local.get $n))
    (if (result i32) (local.get $n)
      (then (i32.add (call $deep (i32.sub (local.get $n) (i32.const 1))) (i32.wrap_i64 (i64.load (local.get $at)))))
      (else (i32.load (local.get $at))))))`;

/** The same, where each call throws and is caught by the one before, which loads and throws on. */
const CAUGHT = `(module (memory 64) (tag $stop) ${FILLER}
  (func $deep (param $n i32) (local $at i32)
    (local.set $at (i32.add (i32.const 1024) (i32.shl (local.get $n) (i32.const 3))))
    (i32.store16 (local.get $at) (local.get $n))
    (i32.store16 offset=2 (local.get $at) (local.get $n))
    (if (i32.eqz (local.get $n)) (then (throw $stop)))
    (try
      (do (call $deep (i32.sub (local.get $n) (i32.const 1))))
      (catch_all (drop (i32.load (local.get $at))) (rethrow 0))))
  (func (export "deep") (param $n i32)
    (try (do (call $deep (local.get $n))) (catch $stop))))`;

/** Goes through memory, with some stores and loads of all sizes in each step. */
function walk(accesses: readonly { isStore: boolean; size: number; offset: number }[]): Uint8Array {
  const body = accesses.map(({ isStore, size, offset }) => {
    if (!isStore) return `(drop (${LOADS[size]} offset=${offset} (local.get $at)))`;
    const op = STORES[Math.min(size, 3)];
    return `(${op} offset=${offset} (local.get $at) (${size >= 3 ? "i64.extend_i32_u (local.get $at)" : "local.get $at"}))`;
  });
  return wat(`(module (memory 2) ${FILLER} (func $step (param $at i32) ${body.join("\n")})
    (func (export "walk") (param $trips i32) (local $at i32)
      (loop $next
        (call $step (local.get $at))
        ${body.join("\n")}
        (local.set $at (i32.and (i32.add (local.get $at) (i32.const 12)) (i32.const 0xffff)))
        (br_if $next (local.tee $trips (i32.sub (local.get $trips) (i32.const 1)))))))`);
}

function figures({ stores, loads }: WasteContents): unknown {
  return { stores, loads };
}

/** What a module counts in a first run and in a later one; `again` sees the later one. */
function bothRuns(
  bytes: Uint8Array,
  work: (wasted: Wasted) => void,
  again: (wasted: Wasted) => void,
): unknown[] {
  const first = new Wasted(bytes, {}, HOST);
  work(first);
  const later = new Wasted(bytes, {}, { ...HOST, siteRuns: siteRunsOf([first.contents()]) });
  work(later);
  again(later);
  return [figures(later.contents()), figures(first.contents())];
}

function bytesLogged({ memory, reader }: Wasted): number {
  return new DataView(memory.buffer).getUint32(reader.layout.logged, true);
}

describe("loads of later runs, which log what they find", () => {
  it("count the same as in the first one, whatever is in the log still", () => {
    let logged = 0;
    const access = fc.record({
      isStore: fc.boolean(),
      size: fc.nat(LOADS.length - 1),
      offset: fc.nat(24),
    });
    fc.assert(
      fc.property(
        fc.array(access, { minLength: 3, maxLength: 12 }),
        fc.integer({ min: 6000, max: 9000 }),
        (accesses, trips) => {
          const work = (wasted: Wasted) => wasted.call("walk", trips);
          const [later, first] = bothRuns(walk(accesses), work, (wasted) => {
            logged += bytesLogged(wasted);
          });
          expect(later).toEqual(first);
        },
      ),
      { numRuns: 40 },
    );
    expect(logged).toBeGreaterThan(0);
  });

  it("have room in the log however deep the calls are that they come back from", () => {
    const depth = 8000;
    const work = (wasted: Wasted) => {
      for (let i = 0; i < 3; i++) wasted.call("deep", depth);
    };
    const [later, first] = bothRuns(wat(DEEP), work, (wasted) => {
      expect(depth * LOG_ENTRY_BYTES).toBeGreaterThan(10 * FULL_LOG_BYTES);
      expect(bytesLogged(wasted)).toBeGreaterThan(0);
      expect(bytesLogged(wasted)).toBeLessThan(FULL_LOG_BYTES + 1024);
    });
    expect(later).toEqual(first);
  });

  it("have room in the log however many calls an exception goes through", () => {
    const depth = 4000;
    const work = (wasted: Wasted) => {
      for (let i = 0; i < 3; i++) wasted.call("deep", depth);
    };
    const [later, first] = bothRuns(wat(CAUGHT), work, (wasted) => {
      expect(bytesLogged(wasted)).toBeLessThan(FULL_LOG_BYTES + 1024);
    });
    expect(later).toEqual(first);
  });

  it("forget what they logged with all else", () => {
    const work = (wasted: Wasted) => {
      wasted.call("deep", 6000);
      wasted.reader.forget();
      wasted.call("deep", 100);
    };
    const [later, first] = bothRuns(wat(DEEP), work, () => {});
    expect(later).toEqual(first);
  });
});
