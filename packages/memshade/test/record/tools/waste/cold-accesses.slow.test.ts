import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import { wat } from "../../../support/assemble.ts";
import { Wasted } from "../../../support/wasted.ts";
import { countsOfStore } from "./events.ts";

const FUNCTIONS = 60;
const ACCESSES = 70;
const PAGE = 65536;
/** Most accesses have one of a few displacements. */
const DISPLACEMENTS = [0, 8, 8, 8, 8, 8, 8, 5000];
const STORES = ["i32.store", "i32.store8", "i64.store", "f64.store"];
const LOADS = ["i32.load", "i32.load8_u", "i64.load", "f64.load"];

/** Functions that store and load near their parameter, so many that few can be followed inline; `run` calls them all. */
function manyAccesses(address: "i32" | "i64"): Uint8Array {
  let chance = 1;
  const next = (below: number): number => {
    chance = (Math.imul(chance, 1103515245) + 12345) & 0x7fffffff;
    return (chance >>> 8) % below;
  };
  const access = (): string => {
    const which = next(STORES.length);
    const at = `offset=${DISPLACEMENTS[next(DISPLACEMENTS.length)] + (next(20) === 0 ? next(300) : 0)} (local.get $at)`;
    const type = STORES[which].slice(0, 3);
    return next(2) === 0
      ? `(${STORES[which]} ${at} (${type}.const ${next(3)}))`
      : `(drop (${LOADS[which]} ${at}))`;
  };
  const functions = Array.from(
    { length: FUNCTIONS },
    (_, i) => `(func $f${i} (param $at ${address}) ${Array.from({ length: ACCESSES }, access).join("\n")})`,
  );
  return wat(`(module (memory ${address === "i64" ? "i64" : ""} 1 8)
    ${functions.join("\n")}
    (func (export "run") (param $at ${address})
      ${functions.map((_, i) => `(call $f${i} (local.get $at))`).join("\n")}))`);
}

const ENGINES: Readonly<Record<string, WasteOptions>> = {
  "without contexts": {},
  "more stores than ids": { mostIds: 1 },
  "frames of contexts": { contexts: true },
  "frames of contexts, more stores than ids": { contexts: true, mostIds: 9 },
};

/** Calls that trap, and the counts of an instance in which none traps. */
function resultOf(module: Uint8Array, isWide: boolean, waste: WasteOptions): unknown {
  const make = () => new Wasted(module, {}, { contexts: false, ...waste });
  const callAt = (run: Wasted, address: number) => run.call("run", isWide ? BigInt(address) : address);
  const trapping = make();
  const traps = [16, PAGE - 6000, PAGE - 5000, PAGE - 8, PAGE, 0xfffffff0].map((address) => {
    try {
      callAt(trapping, address);
      return false;
    } catch {
      return true;
    }
  });
  const counted = make();
  for (const address of [16, 20, 16, 4000]) callAt(counted, address);
  const { stores, loads } = counted.file();
  const placeOf = ({ ips }: (typeof stores)[number] | (typeof loads)[number]) => ips[0].address;
  return {
    traps,
    stores: stores.map((one) => [placeOf(one), ...countsOfStore(one)]).sort(),
    loads: loads.map((one) => [placeOf(one), one.nof_loads, one.nof_silent]).sort(),
  };
}

describe("accesses that are followed by functions in their place", () => {
  for (const address of ["i32", "i64"] as const) {
    const module = manyAccesses(address);
    const expected = resultOf(module, address === "i64", { pairs: true });
    it.each(Object.entries(ENGINES))(`count as all others do, ${address} addresses, %s`, (_, waste) => {
      expect(resultOf(module, address === "i64", waste)).toEqual(expected);
    });
  }
});
