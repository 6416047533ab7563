import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../src/tools/index.ts";
import { SettledBytes } from "../../../src/tools/waste/pass/settled-bytes.ts";
import { S, text, WasteRun } from "./events.ts";

const BASE = 7;
const OTHER = 8;

describe("bytes that a block has loaded", () => {
  it("hold nothing that nobody has read, until they are stored", () => {
    const bytes = new SettledBytes();
    bytes.loaded(BASE, 8, 4);
    expect(bytes.store(BASE, 8, 4)).toBe(true);
    expect(bytes.store(BASE, 8, 4)).toBe(false);
  });

  it("are those of the whole store", () => {
    const bytes = new SettledBytes();
    bytes.loaded(BASE, 8, 4);
    expect(bytes.store(BASE, 10, 4)).toBe(false);
    bytes.loaded(BASE, 8, 8);
    expect(bytes.store(BASE, 10, 4)).toBe(true);
  });

  it("stay so behind a store beside them, and not behind one that may be anywhere", () => {
    const bytes = new SettledBytes();
    bytes.loaded(BASE, 0, 4);
    expect(bytes.store(BASE, 4, 4)).toBe(false);
    expect(bytes.store(BASE, 0, 4)).toBe(true);
    bytes.loaded(BASE, 0, 4);
    expect(bytes.store(OTHER, 64, 4)).toBe(false);
    expect(bytes.store(BASE, 0, 4)).toBe(false);
  });

  it("are forgotten where the block ends, and never known where the address is unknown", () => {
    const bytes = new SettledBytes();
    bytes.loaded(BASE, 0, 4);
    bytes.forget();
    expect(bytes.store(BASE, 0, 4)).toBe(false);
    bytes.loaded(0, 0, 4);
    expect(bytes.store(0, 0, 4)).toBe(false);
  });
});

const ENGINES: Readonly<Record<string, WasteOptions>> = {
  "16-bit ids": { ids: 16 },
  "32-bit ids": { ids: 32 },
  "32-bit ids, more stores than short ones": { ids: 32, mostIds: 1 },
  "32-bit ids in a table": { ids: "table" },
  "frames of contexts": { contexts: true },
  "frames of contexts, ids in a table": { contexts: true, ids: "table" },
  "frames of contexts, more stores than ids": { contexts: true, mostIds: 1 },
  "writers and readers": { pairs: true },
};

/** Other code, so that there is room to follow accesses inline. */
const LONG = `(func ${"(drop (i32.const 1))".repeat(1000)})`;

describe.each(Object.entries(ENGINES))("a store behind a load of its block, %s", (_, waste) => {
  /** `body` of a function (p, q), called twice; what its stores lost by overwriting, in the order of the code. */
  const lostOf = (body: string, p: number, q: number): number[] => {
    const call = text(`(call $both (i32.const ${p}) (i32.const ${q}))`, {
      both: `(param i32 i32) ${body}`,
    });
    const { file } = new WasteRun([S("before", p, 4), call, call], { waste, isHidden: true, fields: LONG });
    const lost = new Map<number, number>();
    for (const { ips, dead_overwritten: bytes } of file.stores)
      lost.set(ips[0].address, (lost.get(ips[0].address) ?? 0) + bytes);
    return [...lost].sort(([a], [b]) => a - b).map(([, bytes]) => bytes);
  };
  const add = "(i32.store (local.get 0) (i32.add (i32.load (local.get 0)) (i32.const 1)))";
  const other = "(i32.store (local.get 1) (i32.const 5))";

  it("overwrites what was read", () => {
    expect(lostOf(add, 16, 32)).toEqual([0, 0]);
  });

  it("overwrites what another pointer has stored between", () => {
    const between = `(i32.load (local.get 0)) ${other} (i32.const 1) (i32.add) (local.set 1)
      (i32.store (local.get 0) (local.get 1))`;
    expect(lostOf(between, 16, 16)).toEqual([0, 8, 0]);
    expect(lostOf(between, 16, 18)).toEqual([0, 6, 0]);
    expect(lostOf(between, 16, 32)).toEqual([0, 4, 0]);
    const elsewhere = `(drop (i32.load (local.get 0))) (i32.store offset=8 (local.get 1) (i32.const 5))
      (i32.store (local.get 0) (local.get 1))`;
    expect(lostOf(elsewhere, 16, 8)).toEqual([0, 8, 0]);
  });

  it("overwrites what is beside the bytes that were read", () => {
    const wider = "(drop (i32.load8_u (local.get 0))) (i32.store (local.get 0) (local.get 1))";
    expect(lostOf(wider, 16, 32)).toEqual([3, 3]);
  });

  it("overwrites what a copy has brought between", () => {
    const copied = `(i32.load (local.get 0)) (memory.copy (local.get 0) (local.get 1) (i32.const 4))
      (local.set 1) (i32.store (local.get 0) (local.get 1))`;
    expect(lostOf(copied, 16, 32)).toEqual([0, 8, 0]);
  });
});
