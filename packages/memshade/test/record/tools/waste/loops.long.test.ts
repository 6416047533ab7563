import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
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
  /** "r" is the beginning of the range that the loop works on. */
  base: "p" | "q" | "r";
  offset: number;
  /** Bits of the trip number that make the value stored. */
  mask: number;
  /** True if the stored value is the result of a `select` between two equal values. */
  chooses?: boolean;
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
  const lines = accesses.map(({ stores, size, base, offset, mask, chooses }) => {
    const { load, store, type } = OPERATIONS[size];
    const address =
      base === "r" ? `offset=${4096 + offset} (i32.const 0)` : `offset=${offset} (local.get $${base})`;
    if (!stores) return `(drop (${load} ${address}))`;
    const trip = type === "i32" ? "(local.get $n)" : "(i64.extend_i32_u (local.get $n))";
    const value = `(${type}.and ${trip} (${type}.const ${mask}))`;
    return `(${store} ${address} ${chooses === true ? `(select ${value} ${value} (local.get $n))` : value})`;
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
  // Part of the memory is a block: invalid until it is stored to.
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
  return countsOf(new WasteRun(run, { waste }));
}

/** Unrolled loops: each access occurs several times, a part of the stride apart. */
const unrolled: fc.Arbitrary<Loop> = fc
  .record({
    parts: fc.constantFrom(2, 3, 4),
    size: fc.constantFrom(1, 2, 4, 8),
    isBackwards: fc.boolean(),
    /** Loads before a store, by base; and whether there is a store. */
    loads: fc.array(fc.constantFrom("p" as const, "q" as const), { minLength: 1, maxLength: 2 }),
    stores: fc.boolean(),
    /** A fixed address among those that the loop passes. */
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

/** Loops that load and store through one base, at distances at which several accesses hit the same bytes. */
const inPlace: fc.Arbitrary<Loop> = fc
  .record({
    size: fc.constantFrom(1, 2, 4, 8),
    step: fc.constantFrom(1, 1, 2, 3),
    isBackwards: fc.boolean(),
    others: fc.array(
      fc.record({
        /** Distance in quarters of the stored size. */
        distance: fc.constantFrom(-8, -4, -2, 0, 2, 4, 4, 8, 12),
        size: fc.constantFrom(1, 2, 4, 8),
        base: fc.constantFrom("p" as const, "p" as const, "p" as const, "q" as const, "r" as const),
        isBefore: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    q: fc.constantFrom(4096, 4104, 4350, 7000),
    mask: fc.constantFrom(0, 1, 255),
    trips: fc.oneof(fc.integer({ min: 13, max: 100 }), fc.integer({ min: 500, max: 1100 })),
  })
  .map(({ size, step, isBackwards, others, q, mask, trips }) => {
    const loads = (isBefore: boolean): Access[] =>
      others
        .filter((other) => other.isBefore === isBefore)
        .map(({ distance, base, ...other }) => {
          const at = 64 + ((distance * size) >> 2);
          return { size: other.size, base, offset: base === "r" ? at * 4 : at, stores: false, mask: 0 };
        });
    const stored: Access = { stores: true, size, base: "p", offset: 64, mask };
    const stride = size * step * (isBackwards ? -1 : 1);
    const p = 4096 + (isBackwards ? size * step * trips : 0);
    return {
      accesses: [...loads(true), stored, ...loads(false)],
      strides: { p: stride, q: stride },
      p,
      q: isBackwards ? p : q,
      trips,
    };
  });

/** A part of a loop that runs in one trip only, counted from the last; 0: in all trips. */
interface Guarded {
  only: number;
}

/** Consecutive loops inside an outer loop, which accesses memory itself. */
interface Nest {
  inner: (Loop & Guarded)[];
  /** Strides of all inner loops per trip of the outer loop, and the addresses of the outer loop's own accesses. */
  strides: { p: number; q: number };
  own: ({ access: Access; behind: number } & Guarded)[];
  trips: number;
  /** Trips of a loop around the nest. */
  rounds: number;
  /** Distance by which the second address is ahead of the first. */
  ahead: number;
}

/** Rows and columns of small matrices, sums of rows, and accesses at other strides. */
const row = (
  accesses: readonly Pick<Access, "stores" | "base" | "offset">[],
  trips: number,
  step = 1,
): Loop => ({
  accesses: accesses.map((one) => ({ ...one, size: 8, mask: one.offset === 0 ? 255 : 1 })),
  strides: { p: 8 * step, q: 8 },
  p: 0,
  q: 0,
  trips,
});
const of = (base: "p" | "q", stores: boolean, offset = 0) => ({ base, stores, offset });
/** The same loops with zeros as stored values, most of which are silent. */
function silent(...[accesses, trips, step]: Parameters<typeof row>): Loop {
  const body = row(accesses, trips, step);
  return { ...body, accesses: body.accesses.map((one) => ({ ...one, mask: 0, chooses: true })) };
}
const only = fc.constantFrom(0, 1, 2, 3, 5);
const rows: fc.Arbitrary<Loop> = fc.constantFrom(
  row([of("p", false)], 40),
  row([of("p", false), of("q", false)], 40),
  row([of("q", false), of("q", true)], 40),
  row([of("p", false), of("q", false), of("q", true)], 80),
  row([of("q", false), of("q", true), of("q", false, 8)], 80),
  row([of("p", false)], 20, 40),
  row([of("q", true)], 30),
  silent([of("q", true)], 36),
  silent([of("p", true), of("p", true, 8)], 60, 2),
);
const nest: fc.Arbitrary<Nest> = fc.record({
  inner: fc
    .array(
      fc
        .tuple(only, fc.oneof({ weight: 6, arbitrary: rows }, { weight: 1, arbitrary: loop }))
        .map(([only, body]) => ({ ...body, only })),
      { maxLength: 2 },
    )
    // A value that is read in each trip is known to be read.
    .map((more) => [{ ...row([of("p", false)], 40), only: 0 }, ...more]),
  strides: fc.record({ p: fc.constantFrom(0, 0, 0, 8, 320), q: fc.constantFrom(0, 0, 8, 320, -8) }),
  own: fc.array(fc.record({ access, behind: fc.constantFrom(0, 1, 2), only }), { maxLength: 2 }),
  trips: fc.integer({ min: 3, max: 12 }),
  rounds: fc.integer({ min: 1, max: 3 }),
  ahead: fc.constantFrom(0, 64, 320),
});

function guarded(only: number, code: string): string {
  return only === 0 ? code : `(if (i32.eq (local.get $rows) (i32.const ${only})) (then ${code}))`;
}

function bodyOf({ accesses, strides, trips }: Loop, number: number): string {
  const code = functionOf({ accesses, strides, p: 0, q: 0, trips });
  const names = code.slice(code.indexOf("(loop")).replaceAll("$again", `$again${number}`);
  return `(local.set $n (i32.const ${trips})) (local.set $p (local.get $rowp)) (local.set $q (local.get $rowq)) ${names}`;
}

function functionOfNest({ inner, strides, own, trips, rounds }: Nest): string {
  const ownOf = (place: number) =>
    own
      .filter(({ behind }) => Math.min(behind, inner.length) === place)
      .map(({ access, only }) => {
        const line = functionOf({ accesses: [access], strides: { p: 0, q: 0 }, p: 0, q: 0, trips: 1 });
        return guarded(
          only,
          line.slice(line.indexOf("$again") + "$again".length, line.indexOf("(local.set $p")),
        );
      })
      .join("\n");
  return `(param $p0 i32) (param $q0 i32) (param $n i32)
    (local $p i32) (local $q i32) (local $rowp i32) (local $rowq i32) (local $rows i32) (local $rounds i32)
    (local.set $rounds (i32.const ${rounds}))
    (loop $round
      (local.set $rowp (local.get $p0)) (local.set $rowq (local.get $q0)) (local.set $rows (i32.const ${trips}))
      (loop $row
        (local.set $p (local.get $rowp)) (local.set $q (local.get $rowq))
        ${ownOf(0)}
        ${inner.map((body, i) => `${guarded(body.only, bodyOf(body, i))}\n${ownOf(i + 1)}`).join("\n")}
        (local.set $rowp (i32.add (local.get $rowp) (i32.const ${strides.p})))
        (local.set $rowq (i32.add (local.get $rowq) (i32.const ${strides.q})))
        (br_if $row (local.tee $rows (i32.sub (local.get $rows) (i32.const 1)))))
      (br_if $round (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1)))))`;
}

/** Code that never runs makes room for inline code in the rest of the module, which consists of nests. */
const ROOM = `(param $n i32) ${"(drop (i32.add (local.get $n) (i32.const 1)))".repeat(2000)}`;

function figuresOfNests(nests: readonly Nest[], waste: WasteOptions): unknown {
  const functions = {
    room: ROOM,
    ...Object.fromEntries(nests.map((each, i) => [`nest${i}`, functionOfNest(each)])),
  };
  const run = [
    malloc(8900, 200),
    ...nests.map(({ ahead }, i) =>
      text(
        `(call $nest${i} (i32.const 8192) (i32.const ${8192 + ahead}) (i32.const 0))`,
        i === 0 ? functions : {},
      ),
    ),
    free(8900),
  ];
  return countsOf(new WasteRun(run, { waste }));
}

function countsOf({ file }: WasteRun): unknown {
  return {
    stores: file.stores.map((store) => [store.ips[0].address, ...countsOfStore(store)]),
    loads: file.loads.map((load) => [load.ips[0].address, load.nof_loads, load.nof_silent]),
  };
}

/** Expects that the engine that follows each access counts the same. */
function expectSameFigures(loops: readonly Loop[]): void {
  expectSame((options) => figures(loops, options));
}

function expectSame(of: (options: WasteOptions) => unknown): void {
  const one = of({ pairs: true });
  for (const ids of [{}, { mostIds: 2 }] as const) expect(of(ids)).toEqual(one);
  const byContext = of({ contexts: true, pairs: true });
  for (const ids of [{}, { mostIds: 2 }] as const) expect(of({ contexts: true, ...ids })).toEqual(byContext);
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

  it("count so where they load what they store", () => {
    fc.assert(fc.property(fc.array(inPlace, { minLength: 1, maxLength: 3 }), expectSameFigures), {
      numRuns: 15,
    });
  });

  it("count so inside of other loops", () => {
    fc.assert(
      fc.property(fc.array(nest, { minLength: 1, maxLength: 2 }), (nests) =>
        expectSame((options) => figuresOfNests(nests, options)),
      ),
      { numRuns: 15 },
    );
  });

  it("look again at what was accessed between them", () => {
    const sum = row([of("p", false)], 40);
    const update = {
      ...row([of("p", false), of("p", true), of("p", false, 8), of("p", true, 8)], 40),
      strides: { p: 16, q: 0 },
    };
    const own = (stores: boolean) =>
      ({ access: { stores, size: 8, base: "q", offset: 0, mask: 255 }, only: 0 }) as const;
    const cases = [
      { inner: [sum], own: [{ ...own(true), behind: 0 }] },
      { inner: [sum], own: [{ ...own(true), behind: 1 }] },
      { inner: [update], own: [{ ...own(false), behind: 1 }] },
      { inner: [sum, row([of("q", true)], 3)], own: [] },
      { inner: [update, row([of("q", false)], 3)], own: [] },
    ];
    for (const { inner, own } of cases) {
      // The accesses reach the row after some trips.
      const nest: Nest = {
        inner: inner.map((body) => ({ ...body, only: 0 })),
        own,
        strides: { p: 0, q: 8 },
        trips: 9,
        rounds: 2,
        ahead: -32,
      };
      expectSame((options) => figuresOfNests([nest], options));
    }
  });

  it("find what was not read before, behind and around what another loop has just read", () => {
    const part = row([of("q", false)], 40);
    const fill = row([of("p", true)], 160);
    for (const ahead of [0, 480, 960])
      for (const all of [row([of("p", false)], 160), row([of("p", false), of("p", false, 8)], 80, 2)]) {
        const inner = [fill, part, all].map((body) => ({ ...body, only: 0 }));
        const nest: Nest = { inner, own: [], strides: { p: 8, q: 8 }, trips: 3, rounds: 1, ahead };
        expectSame((options) => figuresOfNests([nest], options));
      }
  });

  it("find nothing silent that replaces bytes that were invalid, beside and behind those that loops have stored to", () => {
    const fill = silent([of("q", true)], 36);
    const all = silent([of("p", true)], 160);
    // A row leaves 32 bytes to the next one. The last trip passes all of it.
    const nestOf = (trips: number): Nest => ({
      inner: [
        { ...fill, only: 0 },
        { ...all, only: 1 },
      ],
      own: [],
      strides: { p: 0, q: 320 },
      trips,
      rounds: 1,
      ahead: 0,
    });
    for (const trips of [1, 3]) {
      const nest = { room: ROOM, nest: functionOfNest(nestOf(trips)) };
      const enter = (functions: Record<string, string>) =>
        text("(call $nest (i32.const 8192) (i32.const 8192) (i32.const 0))", functions);
      for (const [block, bytes] of [
        [8480, 32],
        [8496, 8],
        [8190, 40],
        [9300, 100],
        [20_000, 8],
      ]) {
        const run = [
          malloc(block, bytes),
          enter(nest),
          free(block),
          malloc(block, bytes),
          enter({}),
          free(block),
        ];
        expectSame((waste) => countsOf(new WasteRun(run, { waste })));
      }
    }
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
    // The second run finds zeros at the bytes where it has stored zeros, and has read them just before.
    expect(run.store("add")).toMatchObject({
      nof_stores: 150,
      bytes_read: 200,
      dead_exit: 400,
      nof_silent: 50,
    });
  });
});
