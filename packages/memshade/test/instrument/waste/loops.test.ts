import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../src/instrument/index.ts";
import { countsOfStore, free, malloc, text, WasteRun } from "./events.ts";

const OPERATIONS: Readonly<Record<number, { load: string; store: string; type: string }>> = {
  1: { load: "i32.load8_u", store: "i32.store8", type: "i32" },
  2: { load: "i32.load16_u", store: "i32.store16", type: "i32" },
  4: { load: "i32.load", store: "i32.store", type: "i32" },
  8: { load: "i64.load", store: "i64.store", type: "i64" },
};

interface Access {
  stores: boolean;
  size: number;
  /** "r" stands at the beginning of what is worked on. */
  base: "p" | "q" | "r";
  offset: number;
  /** Bits of the trip number that make the value stored. */
  mask: number;
}

interface Loop {
  accesses: Access[];
  strides: { p: number; q: number };
  p: number;
  q: number;
  trips: number;
}

const access: fc.Arbitrary<Access> = fc.record({
  stores: fc.boolean(),
  size: fc.constantFrom(1, 2, 4, 8),
  base: fc.constantFrom("p", "q"),
  offset: fc.constantFrom(0, 0, 1, 4, 8, 16),
  mask: fc.constantFrom(0, 1, 255),
});
const stride = fc.constantFrom(0, 1, 2, 4, 8, 8, 16, 24, 40, -4, -8, -16);
const loop: fc.Arbitrary<Loop> = fc.record({
  accesses: fc.array(access, { minLength: 1, maxLength: 5 }),
  strides: fc.record({ p: stride, q: stride }),
  p: fc.constantFrom(4096, 4100, 4352, 5000),
  q: fc.constantFrom(4096, 4104, 4350, 6000),
  trips: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 240 })),
});

/** A loop of one basic block, in a function of its own. */
function functionOf({ accesses, strides }: Loop): string {
  const lines = accesses.map(({ stores, size, base, offset, mask }) => {
    const { load, store, type } = OPERATIONS[size];
    const address =
      base === "r" ? `offset=${4096 + offset} (i32.const 0)` : `offset=${offset} (local.get $${base})`;
    if (!stores) return `(drop (${load} ${address}))`;
    const trip = type === "i32" ? "(local.get $n)" : "(i64.extend_i32_u (local.get $n))";
    return `(${store} ${address} (${type}.and ${trip} (${type}.const ${mask})))`;
  });
  const moves = (["p", "q"] as const).map(
    (name) => `(local.set $${name} (i32.add (local.get $${name}) (i32.const ${strides[name]})))`,
  );
  return `(param $p i32) (param $q i32) (param $n i32)
    (loop $again ${lines.join("\n")} ${moves.join("\n")}
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))`;
}

function figures(loops: readonly Loop[], waste: WasteOptions): unknown {
  const functions = Object.fromEntries(loops.map((of, i) => [`loop${i}`, functionOf(of)]));
  // Some of the memory is a block: invalid until it is stored to.
  const run = [
    malloc(4200, 200),
    ...loops.map(({ p, q, trips }, i) =>
      text(`(call $loop${i} (i32.const ${p}) (i32.const ${q}) (i32.const ${trips}))`, functions),
    ),
    ...loops.map(({ p, q, trips }, i) =>
      text(`(call $loop${i} (i32.const ${q}) (i32.const ${p}) (i32.const ${trips}))`),
    ),
    free(4200),
  ];
  const { file } = new WasteRun(run, { waste });
  return {
    stores: file.stores.map((store) => [store.ips[0].address, ...countsOfStore(store)]),
    loads: file.loads.map((load) => [load.ips[0].address, load.nof_loads, load.nof_silent]),
  };
}

/** Loops that were unrolled: each access comes several times, each a part of the stride behind the other. */
const unrolled: fc.Arbitrary<Loop> = fc
  .record({
    parts: fc.constantFrom(2, 3, 4),
    size: fc.constantFrom(1, 2, 4, 8),
    isBackwards: fc.boolean(),
    /** Loads before a store, by base; and whether there is a store. */
    loads: fc.array(fc.constantFrom("p" as const, "q" as const), { minLength: 1, maxLength: 2 }),
    stores: fc.boolean(),
    /** A place that stands still, among those that are passed. */
    standing: fc.option(fc.integer({ min: 0, max: 150 })),
    q: fc.constantFrom(4096, 4104, 4350, 6000),
    mask: fc.constantFrom(0, 1, 255),
    trips: fc.integer({ min: 13, max: 300 }),
  })
  .map(({ parts, size, isBackwards, loads, stores, standing, q, mask, trips }) => {
    const accesses: Access[] = [];
    for (let part = 0; part < parts; part++) {
      const at = { size, offset: part * size, mask };
      for (const base of loads) accesses.push({ ...at, stores: false, base });
      if (standing !== null) accesses.push({ ...at, stores: false, base: "r", offset: standing * size });
      if (stores) accesses.push({ ...at, stores: true, base: "p" });
    }
    const stride = parts * size * (isBackwards ? -1 : 1);
    const way = isBackwards ? parts * size * trips : 0;
    return { accesses, strides: { p: stride, q: stride }, p: 4096 + way, q: q + way, trips };
  });

/** The engine that follows each access counts the same. */
function expectSameFigures(loops: readonly Loop[]): void {
  const one = figures(loops, { pairs: true });
  expect(figures(loops, { ids: 16 })).toEqual(one);
  expect(figures(loops, { ids: 32 })).toEqual(one);
  const byContext = figures(loops, { contexts: true, pairs: true });
  for (const ids of [{}, { ids: 32 }, { mostIds: 2 }] as const)
    expect(figures(loops, { contexts: true, ...ids })).toEqual(byContext);
}

describe("loops that are followed as a whole", () => {
  it("count as they do access by access, whatever their accesses do to each other", () => {
    fc.assert(fc.property(fc.array(loop, { minLength: 1, maxLength: 4 }), expectSameFigures), {
      numRuns: 15,
    });
  });

  it("count so where they are unrolled, and pass what stands still", () => {
    fc.assert(fc.property(fc.array(unrolled, { minLength: 1, maxLength: 3 }), expectSameFigures), {
      numRuns: 15,
    });
  });

  it("tell who stored what a loop reads, and who read what another stored", () => {
    const write = functionOf({
      accesses: [{ stores: true, size: 4, base: "p", offset: 0, mask: 255 }],
      strides: { p: 4, q: 0 },
      p: 0,
      q: 0,
      trips: 0,
    });
    const add = functionOf({
      accesses: [
        { stores: false, size: 4, base: "p", offset: 0, mask: 0 },
        { stores: true, size: 4, base: "p", offset: 0, mask: 0 },
      ],
      strides: { p: 4, q: 0 },
      p: 0,
      q: 0,
      trips: 0,
    });
    const run = new WasteRun([
      text("(call $write (i32.const 4096) (i32.const 0) (i32.const 100))", { write, add }),
      text("(call $add (i32.const 4096) (i32.const 0) (i32.const 100))"),
      text("(call $add (i32.const 4096) (i32.const 0) (i32.const 50))"),
    ]);
    expect(run.store("write")).toMatchObject({ nof_stores: 100, bytes_read: 400, dead_exit: 0 });
    expect(run.load("add")).toMatchObject({ nof_loads: 150, nof_silent: 0 });
    // The second run of it finds zeros where it has stored zeros, and has read them just before.
    expect(run.store("add")).toMatchObject({
      nof_stores: 150,
      bytes_read: 200,
      dead_exit: 400,
      nof_silent: 50,
    });
  });
});
