import { describe, expect, it } from "vitest";
import { scanModule } from "../../../src/rewrite/facts/module-scan.ts";
import { siteFrequencies } from "../../../src/tools/waste/pass/site-frequency.ts";
import { Heat, siteHeat } from "../../../src/tools/waste/pass/site-heat.ts";
import { likelyRuns, runsPerSite } from "../../../src/tools/waste/pass/site-runs.ts";
import { findSites } from "../../../src/tools/waste/pass/site-table.ts";
import { decodeModule } from "../../../src/wasm/index.ts";
import { wat } from "../../support/assemble.ts";

async function frequencies(functions: string): Promise<number[]> {
  const module = decodeModule(wat(`(module (memory 1) ${functions})`));
  return [...siteFrequencies(module, findSites(module, []), scanModule(module))];
}

const LOAD = "(drop (i32.load (local.get 0)))";
const AROUND = `(loop $again ${LOAD} (br_if $again (local.get 0)))`;

describe("how often the code looks like running", () => {
  it("is more inside of loops, the more of them there are around", async () => {
    const [before, once, twice, behind] = await frequencies(
      `(func (export "f") (param i32)
         ${LOAD}
         (loop $outer ${LOAD} ${AROUND} (br_if $outer (local.get 0)))
         ${LOAD})`,
    );
    expect(once).toBeGreaterThan(before);
    expect(twice).toBeGreaterThan(once);
    expect(behind).toBeCloseTo(before);
  });

  it("is what went in when all ways out of a loop have met", async () => {
    const [before, behind] = await frequencies(
      `(func (export "f") (param i32)
         ${LOAD}
         (block $out
           (loop $again
             (br_if $out (local.get 0))
             (br_if $out (i32.load8_u (memory.size)))
             (br $again)))
         ${LOAD})`,
    ).then((all) => [all[0], all[2]]);
    expect(behind).toBeCloseTo(before);
  });

  it("is shared by the arms of a branch, and whole again behind them", async () => {
    const [before, first, second, behind] = await frequencies(
      `(func (export "f") (param i32)
         ${LOAD} (if (local.get 0) (then ${LOAD}) (else ${LOAD})) ${LOAD})`,
    );
    expect(first + second).toBeCloseTo(before);
    expect(behind).toBeCloseTo(before);
  });

  it("is shared by the cases of a switch", async () => {
    const [one, two, three] = await frequencies(
      `(func (export "f") (param i32)
         (block $c (block $b (block $a (br_table $a $b $c (local.get 0)))
           ${LOAD} (return))
           ${LOAD} (return))
         ${LOAD})`,
    );
    expect(two).toBeCloseTo(one);
    expect(three).toBeCloseTo(one);
    expect(one).toBeLessThan(1);
  });

  it("is more for each case of a large switch than its share", async () => {
    const labels = Array.from({ length: 16 }, (_, i) => `$l${i}`);
    const cases = labels.reduce(
      (inside, label) => `(block ${label} ${inside}) ${LOAD} (br $out)`,
      `(br_table ${labels.join(" ")} (local.get 0))`,
    );
    const all = await frequencies(`(func (export "f") (param i32) (block $out ${cases}))`);
    expect(all).toHaveLength(16);
    const sum = all.reduce((one, other) => one + other);
    expect(sum).toBeGreaterThan(2 * (await frequencies(`(func (export "f") (param i32) ${LOAD})`))[0]);
  });

  it("is nothing behind a trap", async () => {
    const [dead] = await frequencies(`(func (export "f") (param i32) unreachable ${LOAD})`);
    expect(dead).toBe(0);
  });

  it("goes up with the calls of a function, by name and through a table", async () => {
    const [called, looped, indirect, alone] = await frequencies(
      `(type $t (func (param i32)))
       (table 1 funcref)
       (elem (i32.const 0) $indirect)
       (func $called (param i32) ${LOAD})
       (func $looped (param i32) ${LOAD})
       (func $indirect (type $t) ${LOAD})
       (func $alone (param i64) (drop (i32.load (i32.wrap_i64 (local.get 0)))))
       (func (export "f") (param i32)
         (call $called (local.get 0))
         (loop $again
           (call $looped (local.get 0))
           (call_indirect (type $t) (local.get 0) (i32.const 0))
           (br_if $again (local.get 0))))`,
    );
    expect(looped).toBeGreaterThan(called);
    expect(indirect).toBeGreaterThan(alone);
    expect(called).toBeGreaterThan(alone);
  });

  it("stays finite where functions call each other", async () => {
    const all = await frequencies(
      `(func $a (param i32) ${LOAD} (loop $l (call $b (local.get 0)) (br_if $l (local.get 0))))
       (func $b (param i32) ${LOAD} (call $a (local.get 0)) (call $b (local.get 0)))
       (func (export "f") (param i32) (call $a (local.get 0)))`,
    );
    expect(all.every((frequency) => Number.isFinite(frequency) && frequency > 0)).toBe(true);
  });

  it("goes up more with calls that the code shows than with those of its callers", async () => {
    const [once, often, deep] = await frequencies(
      `(func $once (param i32) ${LOAD})
       (func $often (param i32) ${LOAD})
       (func $deep (param i32) ${LOAD})
       (func $way (param i32) (call $deep (local.get 0)))
       (func (export "f") (param i32)
         (call $once (local.get 0))
         (call $often (local.get 0)) (call $often (local.get 0)) (call $often (local.get 0)) (call $often (local.get 0))
         (call $way (local.get 0)) (call $way (local.get 0)) (call $way (local.get 0)) (call $way (local.get 0)))`,
    );
    expect(deep).toBeGreaterThan(once);
    expect(often).toBeGreaterThan(deep);
  });
});

describe("what is followed inline", () => {
  it("is first what loops, where there is no room for all", async () => {
    const cold = Array.from({ length: 40 }, () => LOAD).join(" ");
    const module = decodeModule(wat(`(module (memory 1) (func (export "f") (param i32) ${AROUND} ${cold}))`));
    const sites = findSites(module, []);
    const heat = siteHeat(module, sites, siteFrequencies(module, sites, scanModule(module)), "fixed");
    expect(heat[0]).not.toBe(Heat.Cold);
    expect([...heat.slice(1)]).toContain(Heat.Cold);
    expect(heat.slice(1).every((value) => value <= heat[0])).toBe(true);
  });

  it("is nothing where other code takes the room", async () => {
    const module = decodeModule(wat(`(module (memory 1) (func (export "f") (param i32) ${AROUND}))`));
    const sites = findSites(module, []);
    expect([
      ...siteHeat(module, sites, siteFrequencies(module, sites, scanModule(module)), "fixed", {
        otherBytes: 1e6,
      }),
    ]).toEqual([Heat.Cold]);
  });

  it("is new code too, guessed in units of what guesses were elsewhere", async () => {
    const module = decodeModule(
      wat(`(module (memory 1)
        (func (export "f") (param i32) ${AROUND} ${LOAD})
        (func (export "g") (param i32) ${AROUND} ${LOAD})
        (func (export "h") (param i32) ${AROUND} ${LOAD}))`),
    );
    const sites = findSites(module, []);
    const guessed = siteFrequencies(module, sites, scanModule(module));
    const [offset] = sites.offset;
    const ran = { offsets: [offset], runs: [100 * guessed[0]], events: [0] };
    const known = runsPerSite(sites, { ...ran, newFunctions: [1] });
    const likely = likelyRuns(guessed, known);
    expect(likely[2]).toBeCloseTo(100 * guessed[2]);
    expect(likely[3]).toBeCloseTo(100 * guessed[3]);
    expect(likely[4]).toBeLessThan(1);
    const heatOf = (of: typeof known) => [
      ...siteHeat(module, sites, likely, "fixed", { otherBytes: -1e6, known: of }),
    ];
    expect(heatOf(known).slice(2)).toEqual([Heat.Hot, Heat.Hot, Heat.Cold, Heat.Cold]);
    expect(heatOf(runsPerSite(sites, ran)).slice(2)).toEqual([Heat.Cold, Heat.Cold, Heat.Cold, Heat.Cold]);
  });

  it("is what ran before, if that is known: first what saves most, then what might run beside it, never what is far away", async () => {
    const module = decodeModule(
      wat(`(module (memory 1)
        (func (export "f") (param i32) ${AROUND} ${LOAD} ${LOAD} ${LOAD})
        (func (export "g") (param i32) ${AROUND}))`),
    );
    const sites = findSites(module, []);
    const [, usual, unusual] = sites.offset;
    const guessed = siteFrequencies(module, sites, scanModule(module));
    const known = runsPerSite(sites, { offsets: [usual, unusual], runs: [7000, 7000], events: [0, 7000] });
    const likely = likelyRuns(guessed, known);
    const seen = new Set<string>();
    for (let taken = 500; taken > -1500; taken--) {
      const heat = siteHeat(module, sites, likely, "fixed", { otherBytes: taken, known });
      heat.forEach((value, site) => {
        for (let reached: number = Heat.Warm; reached <= value; reached++) seen.add(`${site} ${reached}`);
      });
    }
    expect([...seen]).toEqual([
      `1 ${Heat.Warm}`,
      `2 ${Heat.Warm}`,
      `2 ${Heat.Hot}`,
      `1 ${Heat.Hot}`,
      `0 ${Heat.Warm}`,
      `3 ${Heat.Warm}`,
    ]);
  });

  it("is found by code offsets: those of other modules mean nothing", () => {
    const module = decodeModule(wat(`(module (memory 1) (func (param i32) ${LOAD} ${LOAD}))`));
    const sites = findSites(module, []);
    const [first, second] = sites.offset;
    const siteRuns = {
      offsets: [0, first + 1, second, second + 9],
      runs: [1, 2, 3, 4],
      events: [1, 1, 1, 1],
    };
    expect([...runsPerSite(sites, siteRuns).runs]).toEqual([0, 3]);
  });
});
