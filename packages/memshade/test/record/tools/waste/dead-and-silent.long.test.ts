import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import { calloc, F, free, L, malloc, realloc, S, SYSR, SYSW, text, vector, WasteRun } from "./events.ts";

const ENGINES: Readonly<Record<string, WasteOptions>> = {
  "without contexts": {},
  "more stores than ids": { mostIds: 1 },
  "frames of contexts": { contexts: true },
  "frames of contexts, more stores than ids": { contexts: true, mostIds: 1 },
  "writers and readers": { pairs: true },
};

const F_AND_G = {
  f: `(local @)
    (global.set $__stack_pointer (local.tee 0 (@.sub (global.get $__stack_pointer) (@.const 8))))
    (i64.store (local.get 0) (i64.const 0x1122334455667788))
    (global.set $__stack_pointer (@.add (local.get 0) (@.const 8)))`,
  g: `(local @)
    (global.set $__stack_pointer (local.tee 0 (@.sub (global.get $__stack_pointer) (@.const 8))))
    (i64.store (local.get 0) (i64.const 0x7122334455667788))
    (drop (i64.load (local.get 0)))
    (global.set $__stack_pointer (@.add (local.get 0) (@.const 8)))`,
};

const MEMORIES = { "": false, ", 64-bit addresses": true };
const VARIANTS = Object.entries(ENGINES).flatMap(([engine, waste]) =>
  Object.entries(MEMORIES).map(([addresses, memory64]) => ({ name: engine + addresses, waste, memory64 })),
);

for (const { name, waste, memory64 } of VARIANTS) {
  const run = (...events: ConstructorParameters<typeof WasteRun>[0][number][]) =>
    new WasteRun(events, { waste, memory64 });

  describe(`dead and silent accesses, ${name}`, () => {
    it("a store overwritten before it is read is dead", () => {
      const of = run(S("A", 0, 4), S("B", 0, 4), L("C", 0, 4));
      expect(of.store("A")).toMatchObject({
        bytes_written: 4,
        bytes_read: 0,
        dead_overwritten: 4,
        bytes_dead: 4,
        nof_stores: 1,
      });
      expect(of.store("B")).toMatchObject({ bytes_written: 4, bytes_read: 4, bytes_dead: 0 });
      expect(of.load("C")).toMatchObject({ nof_loads: 1, nof_silent: 0 });
    });

    it("half of a wide store is overwritten", () => {
      const of = run(S("A", 0, 8), S("B", 4, 4), L("C", 0, 4));
      expect(of.store("A")).toMatchObject({ bytes_written: 8, bytes_read: 4, dead_overwritten: 4 });
      expect(of.store("B")).toMatchObject({ bytes_written: 4, bytes_read: 0, dead_exit: 4 });
    });

    it("a wide store kills two narrow ones", () => {
      const of = run(S("A", 0, 2), S("B", 2, 2), S("C", 0, 4));
      expect(of.store("A").dead_overwritten).toBe(2);
      expect(of.store("B").dead_overwritten).toBe(2);
      expect(of.store("C").dead_exit).toBe(4);
    });

    it("an unread field inside a vector store shows", () => {
      const of = run(S("A", 0, 16, 0), L("B", 0, 4), L("C", 4, 4), L("D", 12, 4));
      expect(of.store("A")).toMatchObject({ bytes_written: 16, bytes_read: 12, dead_exit: 4 });
    });

    it("a byte is credited once however often it is read", () => {
      const of = run(S("A", 0, 4), L("B", 0, 4), L("B", 0, 4), L("C", 0, 2));
      expect(of.store("A").bytes_read).toBe(4);
      expect(of.load("B")).toMatchObject({ nof_loads: 2, nof_silent: 1 });
      expect(of.load("C")).toMatchObject({ nof_loads: 1, nof_silent: 1 });
    });

    it("a load with one fresh byte is not silent", () => {
      const of = run(S("A", 0, 4), L("B", 0, 2), L("C", 0, 4), L("C", 0, 4));
      expect(of.store("A").bytes_read).toBe(4);
      expect(of.load("B")).toMatchObject({ nof_loads: 1, nof_silent: 0 });
      expect(of.load("C")).toMatchObject({ nof_loads: 2, nof_silent: 1 });
    });

    it("a store over one invalid byte is not silent though all values agree", () => {
      const of = run(malloc(8, 8), S("A", 8, 4, 0), S("A", 8, 4, 0), S("B", 8, 8, 0));
      expect(of.store("A")).toMatchObject({
        nof_stores: 2,
        bytes_written: 8,
        nof_silent: 1,
        dead_overwritten: 8,
      });
      expect(of.store("B")).toMatchObject({ nof_stores: 1, nof_silent: 0, dead_exit: 8 });
    });

    it("calloc is a store of zeros", () => {
      const of = run(calloc("K", 8, 8), S("A", 8, 4, 0), L("C", 8, 8));
      expect(of.store("K")).toMatchObject({
        nof_stores: 1,
        bytes_written: 8,
        dead_overwritten: 4,
        bytes_read: 4,
        class: "calloc",
      });
      expect(of.store("A")).toMatchObject({ nof_silent: 1, bytes_read: 4 });
    });

    it("freed bytes die without a killer, and memory starts anew", () => {
      const of = run(malloc(8, 4), S("A", 8, 4, 5), free(8), malloc(8, 4), S("B", 8, 4, 5), L("C", 8, 4));
      expect(of.store("A")).toMatchObject({ dead_deallocated: 4, dead_overwritten: 0 });
      expect(of.store("B")).toMatchObject({ nof_silent: 0, bytes_read: 4 });
    });

    it("a frame's bytes die when its function returns", () => {
      const of = run(text("(call $f) (call $g)", F_AND_G));
      expect(of.store("f")).toMatchObject({ dead_deallocated: 8, dead_overwritten: 0 });
      expect(of.store("g")).toMatchObject({ bytes_read: 8, bytes_dead: 0 });
    });

    it("realloc moves the state of the bytes", () => {
      const of = run(malloc(8, 4), S("A", 8, 4), realloc(8, 104, 8), L("B", 104, 4), L("B", 104, 4));
      expect(of.store("A")).toMatchObject({ bytes_read: 4, bytes_dead: 0 });
      expect(of.load("B")).toMatchObject({ nof_loads: 2, nof_silent: 1 });
    });

    it("the host reads and writes exactly its ranges", () => {
      const of = run(S("A", 0, 4), SYSR(0, 4), L("B", 0, 4), SYSW("K", 0, 4), S("D", 0, 4));
      expect(of.store("A")).toMatchObject({ bytes_read: 4 });
      expect(of.load("B")).toMatchObject({ nof_loads: 1, nof_silent: 1 });
      expect(of.store("K")).toMatchObject({
        nof_stores: 1,
        bytes_written: 4,
        dead_overwritten: 4,
        class: "host",
      });
      expect(of.store("D").dead_exit).toBe(4);
    });

    it("a copy loads and then stores", () => {
      const copy = { M: "(memory.copy (@.const 100) (@.const 0) (@.const 8))" };
      const of = run(S("A", 0, 8), text("(call $M)", copy), L("B", 100, 4));
      expect(of.store("A")).toMatchObject({ bytes_written: 8, bytes_read: 8, bytes_dead: 0 });
      expect(of.store("M")).toMatchObject({ bytes_written: 8, bytes_read: 4, dead_exit: 4, class: "copy" });
    });

    it("a compare-exchange stores if it succeeds", () => {
      const exchange = {
        C: "(param i32) (drop (i32.atomic.rmw.cmpxchg (@.const 0) (local.get 0) (i32.const 77)))",
      };
      const succeeds = run(S("A", 0, 4, 5), text("(call $C (i32.const 5))", exchange), S("B", 0, 4));
      expect(succeeds.store("A").bytes_read).toBe(4);
      expect(succeeds.store("C")).toMatchObject({ bytes_written: 4, dead_overwritten: 4, class: "atomic" });
      expect(succeeds.store("B").dead_exit).toBe(4);
      const fails = run(S("A", 0, 4, 5), text("(call $C (i32.const 6))", exchange), S("B", 0, 4));
      expect(fails.store("A").bytes_read).toBe(4);
      expect(() => fails.store("C")).toThrow("0 stores");
      expect(fails.load("C").nof_loads).toBe(1);
    });

    it("a vector that differs in one byte is not silent", () => {
      const of = run(
        vector("A", 0, [1, 2, 3, 4]),
        vector("B", 0, [1, 2, 9, 4]),
        vector("B", 0, [1, 2, 9, 4]),
      );
      expect(of.store("B")).toMatchObject({ nof_silent: 1, nof_stores: 2 });
      expect(of.store("A").dead_overwritten).toBe(16);
    });

    it("data segments are valid memory", () => {
      const events = [
        L("A", 0, 4),
        L("B", 0, 4),
        L("B", 0, 4),
        S("C", 0, 4, 7),
        L("A", 0, 4),
        S("C", 0, 4, 9),
      ];
      const of = new WasteRun([...events, S("C", 0, 4, 7), L("A", 0, 4)], {
        waste,
        memory64,
        fields: '(data (@.const 0) "\\07\\00\\00\\00")',
      });
      expect(of.load("A")).toMatchObject({ nof_loads: 3, nof_silent: 0 });
      expect(of.load("B")).toMatchObject({ nof_loads: 2, nof_silent: 2 });
      expect(of.store("C")).toMatchObject({
        nof_stores: 3,
        nof_silent: 1,
        bytes_written: 12,
        bytes_read: 8,
        dead_overwritten: 4,
      });
    });

    it("equal bits of floats are silent, zeros of two signs are not", () => {
      const values = ["100.0", "100.5", "102.0", "0.0", "0.0", "-0.0", "nan", "nan"];
      const of = run(...values.map((value) => F("A", 0, value)));
      expect(of.store("A")).toMatchObject({ nof_stores: 8, nof_silent: 2 });
    });
  });
}

describe.each(Object.entries(MEMORIES))("who did it%s", (_, memory64) => {
  const waste = { pairs: true };
  const run = (...events: ConstructorParameters<typeof WasteRun>[0][number][]) =>
    new WasteRun(events, { waste, memory64 });

  it("pairs a dead store with its killer", () => {
    expect(run(S("A", 0, 4), S("B", 0, 4), L("C", 0, 4)).pairs).toEqual({ "overwritten A B": 4 });
    expect(run(S("A", 0, 8), S("B", 4, 4), L("C", 0, 4)).pairs).toEqual({
      "overwritten A B": 4,
      "exit B": 4,
    });
    expect(run(S("A", 0, 2), S("B", 2, 2), S("C", 0, 4)).pairs).toEqual({
      "overwritten A C": 2,
      "overwritten B C": 2,
      "exit C": 4,
    });
  });

  it("pairs redundant loads byte by byte", () => {
    expect(run(S("A", 0, 4), L("B", 0, 4), L("B", 0, 4), L("C", 0, 2)).pairs).toEqual({
      "redundant B B": 4,
      "redundant B C": 2,
    });
    expect(run(S("A", 0, 4), L("B", 0, 2), L("C", 0, 4), L("C", 0, 4)).pairs).toEqual({ "redundant C C": 4 });
  });

  it("pairs silent stores with who wrote before", () => {
    expect(run(calloc("K", 8, 8), S("A", 8, 4, 0), L("C", 8, 8)).pairs).toEqual({
      "overwritten K A": 4,
      "silent K A": 4,
    });
  });

  it("names free, return and exit where there is no killer", () => {
    expect(
      run(malloc(8, 4), S("A", 8, 4, 5), free(8), malloc(8, 4), S("B", 8, 4, 5), L("C", 8, 4)).pairs,
    ).toEqual({
      "deallocated A": 4,
    });
    expect(run(text("(call $f) (call $g)", F_AND_G)).pairs).toEqual({ "returned f": 8 });
  });

  it("counts an operation once for each pair, however its bytes lie", () => {
    const of = run(S("A", 0, 1), S("B", 1, 2), S("A", 3, 1), S("C", 0, 4, 0), S("C", 0, 4, 0));
    const pair = (kind: string, first: string) => {
      const { stores, pairs } = of.file;
      const found = pairs?.find(
        (p) => p.kind === kind && p.first !== undefined && stores[p.first].ips[0].function === first,
      );
      return [found?.bytes, found?.operations];
    };
    expect(pair("overwritten", "A")).toEqual([2, 1]);
    expect(pair("overwritten", "B")).toEqual([2, 1]);
    expect(pair("overwritten", "C")).toEqual([4, 1]);
    expect(pair("silent", "C")).toEqual([4, 1]);
  });

  it("names the place that freed the block, ended the frame or asked for the memory again", () => {
    const ends = (of: WasteRun) =>
      of.file.pairs?.flatMap(({ kind, end, bytes, operations }) =>
        end === undefined ? [] : [[kind, of.file.ends?.[end].ips[0].function, bytes, operations]],
      );
    const drop = text("(call $drop)", { drop: "(call $free (@.const 8))" });
    expect(ends(run(malloc(8, 4), S("A", 8, 4, 5), drop))).toEqual([["deallocated", "drop", 4, 1]]);
    expect(ends(run(text("(call $f) (call $g)", F_AND_G)))).toEqual([["returned", "f", 8, 1]]);
    const shrink = text("(call $shrink)", { shrink: "(drop (call $realloc (@.const 8) (@.const 2)))" });
    const shrunk = run(text("(global.set $next (@.const 8))"), malloc(8, 4), S("A", 8, 4, 5), shrink);
    expect(ends(shrunk)).toEqual([["deallocated", "shrink", 2, 1]]);
  });

  it("names the calls that led to a free", () => {
    const calls = { drop: "(call $free (@.const 8))", left: "(call $drop)", right: "(call $drop)" };
    const of = new WasteRun(
      [
        malloc(8, 4),
        S("A", 8, 4),
        text("(call $left)", calls),
        malloc(8, 4),
        S("A", 8, 4),
        text("(call $right)"),
      ],
      { waste: { pairs: true, contexts: true }, memory64 },
    );
    expect(of.file.ends?.map(({ ips }) => ips.map((ip) => ip.function).join(" < ")).sort()).toEqual([
      "drop < left < _start",
      "drop < right < _start",
    ]);
  });

  it("takes a copy for a reader", () => {
    const copy = { M: "(memory.copy (@.const 100) (@.const 0) (@.const 4))" };
    const of = run(S("A", 0, 4), L("B", 0, 4), text("(call $M)", copy), L("B", 0, 4));
    expect(of.load("M")).toMatchObject({ nof_loads: 1, nof_silent: 1, nof_redundant: 1, class: "copy" });
    expect(of.pairs).toEqual({ "redundant B M": 4, "redundant M B": 4, "exit M": 4 });
  });

  it("says whom a silent fill repeats, and what was zero from the start", () => {
    const fill = { F: "(memory.fill (@.const 0) (i32.const 0) (@.const 16))" };
    const of = run(text("(call $F)", fill), S("A", 0, 8, 0), text("(call $F)"));
    expect(of.store("F")).toMatchObject({
      nof_stores: 2,
      nof_silent: 2,
      silent_over_zero: 1,
      bytes_same: 32,
    });
    expect(of.pairs).toMatchObject({
      "silent zero F": 16,
      "silent A F": 8,
      "silent F F": 8,
      "silent F A": 8,
    });
  });

  it("floats in a vector are near where each of them is", () => {
    const vectors = {
      V: "(param @ f32) (v128.store (local.get 0) (f32x4.replace_lane 0 (v128.const f32x4 1 2 0 4) (local.get 1)))",
    };
    const store = (first: string) => text(`(call $V (@.const 0) (f32.const ${first}))`, vectors);
    const of = run(store("100.0"), store("100.5"), store("102.0"), store("102.0"), store("nan"));
    // Redundant lanes: three at each store but the first, plus the first lane where its value is nearly equal.
    expect(of.store("V")).toMatchObject({
      nof_stores: 5,
      nof_silent: 1,
      silent_approximate: 1,
      lanes_redundant: 1 + 4 + 3 + 4 + 3,
    });
  });

  it("lanes in memory that was invalid are not redundant, scalars have none", () => {
    const V = "(param @) (v128.store (local.get 0) (f64x2.splat (f64.const 0)))";
    const of = run(malloc(32, 8), text("(call $V (@.const 24))", { V }), F("A", 64, "1"), F("A", 64, "1"));
    expect(of.store("V")).toMatchObject({ nof_silent: 0, lanes_redundant: 1 });
    expect(of.store("A").lanes_redundant).toBe(0);
  });

  it("loads that repeat find values, the commonest three of which are told", () => {
    const load = (times: number) => Array.from({ length: times }, () => L("A", 0, 4));
    const S4 = (value: number) => S("S", 0, 4, value);
    const events = [7, -1, 7, 5, 9].flatMap((value, i) => [S4(value), ...load([4, 6, 3, 2, 3][i])]);
    const of = run(...events);
    // The first load, and loads after a change, find a new value.
    expect(of.load("A")).toMatchObject({
      nof_redundant: 13,
      values: [
        { value: "-1", loads: 5, exact: true },
        { value: "7", loads: 5, exact: true },
        { value: "9", loads: 2, exact: true },
      ],
    });
  });

  it("no value is told more often than it came, however many there are", () => {
    const many = Array.from({ length: 40 }, (_, i) => [S("S", 0, 4, i), L("B", 0, 4), L("A", 0, 4)]).flat();
    const { values = [] } = run(
      ...many,
      S("S", 0, 4, 77),
      ...Array.from({ length: 50 }, () => L("A", 0, 4)),
    ).load("A");
    expect(values[0]).toMatchObject({ value: "77", exact: false });
    expect(values[0].loads).toBeGreaterThan(40);
    expect(values[0].loads).toBeLessThanOrEqual(49);
    for (const { loads } of values.slice(1)) expect(loads).toBeLessThanOrEqual(1);
  });

  it("values have the type of the load", () => {
    const twice = (name: string, at: number, op: string) => {
      const one = text(`(call $${name})`, { [name]: `(drop (${op} (@.const ${at})))` });
      return [one, one];
    };
    const of = new WasteRun(
      [
        ...twice("i8", 0, "i32.load8_s"),
        ...twice("u8", 0, "i32.load8_u"),
        ...twice("i64", 8, "i64.load"),
        ...twice("f64", 16, "f64.load"),
        ...twice("f32", 24, "f32.load"),
        ...twice("v", 0, "v128.load"),
      ],
      {
        waste,
        memory64,
        fields:
          '(data (@.const 0) "\\ff\\00\\00\\00\\00\\00\\00\\00\\fe\\ff\\ff\\ff\\ff\\ff\\ff\\ff\\00\\00\\00\\00\\00\\00\\f8\\3f\\00\\00\\00\\80")',
      },
    );
    const value = (name: string) => of.load(name).values?.map((one) => `${one.value} ${one.loads}`);
    expect(value("i8")).toEqual(["-1 1"]);
    expect(value("u8")).toEqual(["255 2"]);
    expect(value("i64")).toEqual(["-2 1"]);
    expect(value("f64")).toEqual(["1.5 1"]);
    expect(value("f32")).toEqual(["-0 1"]);
    expect(value("v")).toEqual(["0xfffffffffffffffe00000000000000ff 1"]);
  });

  it("stores over what a data segment brought along are flagged, once for each byte", () => {
    const of = new WasteRun([L("B", 0, 4), S("A", 2, 4), S("A", 2, 4), S("C", 6, 8)], {
      waste,
      memory64,
      fields: '(data (@.const 0) "12345678")',
    });
    expect(of.store("A").bytes_over_segments).toBe(4);
    expect(of.store("C").bytes_over_segments).toBe(2);
  });

  it("a byte first read by the kernel has no reader", () => {
    const of = run(S("A", 0, 4), SYSR(0, 4), L("B", 0, 4), SYSW("K", 0, 4), S("D", 0, 4));
    expect(of.pairs).toEqual({ "overwritten K D": 4, "exit D": 4 });
    expect(of.load("B").nof_redundant).toBe(0);
  });

  it("values decide redundancy, whatever happened between", () => {
    const events = [L("A", 0, 4), L("B", 0, 4), L("B", 0, 4), S("C", 0, 4, 7), L("A", 0, 4), S("C", 0, 4, 9)];
    const of = new WasteRun([...events, S("C", 0, 4, 7), L("A", 0, 4)], {
      waste,
      memory64,
      fields: '(data (@.const 0) "\\07\\00\\00\\00")',
    });
    expect(of.pairs).toEqual({
      "redundant A B": 4,
      "redundant B B": 4,
      "redundant B A": 4,
      "redundant A A": 4,
      "overwritten C C": 4,
      "silent init C": 4,
    });
  });

  it("bytes that stay the same count apart from silent stores", () => {
    const of = run(vector("A", 0, [1, 2, 3, 4]), vector("B", 0, [1, 2, 9, 4]));
    expect(of.store("B")).toMatchObject({ nof_silent: 0, bytes_same: 15 });
    expect(of.pairs).toEqual({ "overwritten A B": 16, "exit B": 16 });
  });

  it("floats are approximately equal within a hundredth", () => {
    const values = ["100.0", "100.5", "102.0", "0.0", "0.0", "-0.0", "nan", "nan"];
    const of = run(...values.map((value) => F("A", 0, value)));
    expect(of.store("A")).toMatchObject({ nof_silent: 2, silent_approximate: 2 });
  });

  it("clearing what the system cleared shows", () => {
    const of = run(S("A", 64, 8, 0), S("A", 64, 8, 0));
    expect(of.store("A")).toMatchObject({ nof_silent: 2, silent_over_zero: 1 });
  });
});

describe("counting as deadstores does", () => {
  const waste = { compat: "deadstores" } as const;

  for (const pairs of [false, true]) {
    const run = (...events: ConstructorParameters<typeof WasteRun>[0][number][]) =>
      new WasteRun(events, { waste: { ...waste, pairs } });

    it(`forgets what realloc moves, ${pairs ? "full" : "brief"}`, () => {
      const of = run(malloc(8, 4), S("A", 8, 4), realloc(8, 104, 8), L("B", 104, 4), L("B", 104, 4));
      expect(of.store("A").bytes_dead).toBe(4);
      expect(of.load("B")).toMatchObject({ nof_loads: 2, nof_silent: 0 });
    });

    it(`does not see what compare-exchange stores, ${pairs ? "full" : "brief"}`, () => {
      const exchange = { C: "(drop (i32.atomic.rmw.cmpxchg (@.const 0) (i32.const 5) (i32.const 77)))" };
      const of = run(S("A", 0, 4, 5), text("(call $C)", exchange), S("B", 0, 4));
      expect(of.store("A").bytes_read).toBe(4);
      expect(() => of.store("C")).toThrow("0 stores");
      expect(of.store("B").bytes_dead).toBe(4);
    });

    it(`takes data segments for unwritten memory, ${pairs ? "full" : "brief"}`, () => {
      const events = [
        L("A", 0, 4),
        L("B", 0, 4),
        L("B", 0, 4),
        S("C", 0, 4, 7),
        L("A", 0, 4),
        S("C", 0, 4, 9),
      ];
      const of = new WasteRun([...events, S("C", 0, 4, 7), L("A", 0, 4)], {
        waste: { ...waste, pairs },
        fields: '(data (@.const 0) "\\07\\00\\00\\00")',
      });
      expect(of.load("B").nof_silent).toBe(0);
      expect(of.store("C").nof_silent).toBe(0);
    });

    it(`leaves memory unwritten that a load finds beside read bytes, ${pairs ? "full" : "brief"}`, () => {
      const of = run(S("A", 0, 1, 5), L("B", 0, 1), L("C", 0, 4), S("D", 1, 1, 0), L("C", 0, 4));
      expect(of.store("D").nof_silent).toBe(0);
      expect(of.load("C")).toMatchObject({ nof_loads: 2, nof_silent: 0 });
    });
  }
});
