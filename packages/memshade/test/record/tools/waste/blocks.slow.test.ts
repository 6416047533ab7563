import { describe, expect, it } from "vitest";
import { calloc, type Event, free, L, malloc, realloc, S, SYSR, text, WasteRun } from "./events.ts";

const B = 64;
const C = 128;
/** One site allocates a 16-byte block at B twice; events of the first block, then of the second. */
const twice = (first: readonly Event[], second: readonly Event[]): Event => {
  const lines = (events: readonly Event[]) => events.map((event) => event.text).join(" ");
  return text("(call $rounds)", {
    ...Object.assign({}, ...[...first, ...second].map(({ functions }) => functions)),
    layer: "(drop (call $malloc (i32.const 16)))",
    make: "(call $layer)",
    rounds: `(local $i i32) (loop $l
      (global.set $next (i32.const ${B})) (call $make)
      (if (i32.eqz (local.get $i)) (then ${lines(first)}) (else ${lines(second)}))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 2))))`,
  });
};
const one = [malloc(B, 16)];
const only = (run: WasteRun) => {
  expect(run.file.blocks).toHaveLength(1);
  return run.file.blocks![0]!;
};

describe("blocks", () => {
  it("are told apart by the calls that ask for them", () => {
    const { ips, ...figures } = only(new WasteRun([twice([S("a", B, 4), L("ra", B, 4), free(B)], [])]));
    expect(ips.map(({ function: name }) => name)).toEqual(["layer", "make", "rounds", "_start"]);
    expect(figures).toMatchObject({ blocks: 2, bytes: 32, size: 16, varies: false });
  });

  it("were never read where somebody stored to them and nobody loaded", () => {
    const run = new WasteRun([twice([S("a", B, 8), free(B)], [S("b", B, 4), L("rb", B, 4)])]);
    expect(only(run)).toMatchObject({ blocks: 2, unread_blocks: 1, unread_bytes: 16, never_read: 8 });
  });

  it("have parts that nobody reads, stored to or not, of all blocks together", () => {
    const first = [S("a", B, 4), S("b", B + 4, 4), L("ra", B, 4), free(B)];
    const second = [S("b", B + 4, 4), S("c", B + 8, 4), L("rc", B + 8, 4)];
    expect(only(new WasteRun([twice(first, second)]))).toMatchObject({
      element: 16,
      fields: [
        { offset: 4, size: 4, written: true },
        { offset: 12, size: 4, written: false },
      ],
    });
  });

  it("were read if they were so before they were stored to again", () => {
    const run = new WasteRun([...one, S("a", B, 4), L("ra", B, 4), S("a", B, 4), free(B)]);
    expect(only(run)).toMatchObject({ never_read: 0, unread_blocks: 0 });
  });

  it("were read by copies, and by a host that says so", () => {
    const copy = text(`(memory.copy (i32.const 512) (i32.const ${B}) (i32.const 8))`);
    const run = new WasteRun([...one, S("a", B, 8), S("b", B + 8, 8), copy, SYSR(B + 8, 4), free(B)]);
    expect(only(run)).toMatchObject({ never_read: 4, fields: [{ offset: 12, size: 4, written: true }] });
  });

  it("are not read by copies to another one of their kind, as of vectors that grow", () => {
    const first = [S("a", B, 4), S("b", B + 4, 4), L("ra", B, 4)];
    const grown = text(`(global.set $next (i32.const ${C})) (call $make)
      (memory.copy (i32.const ${C}) (i32.const ${B}) (i32.const 8))`);
    const both = text("(call $rounds)", {
      ...Object.assign({}, ...first.map(({ functions }) => functions)),
      make: "(drop (call $malloc (i32.const 16)))",
      rounds: `(local $i i32) (loop $l
        (global.set $next (i32.add (i32.const ${B}) (i32.mul (local.get $i) (i32.const ${C - B}))))
        (call $make)
        (if (i32.eqz (local.get $i)) (then ${first.map((event) => event.text).join(" ")})
          (else (memory.copy (i32.const ${C}) (i32.const ${B}) (i32.const 8))))
        (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 2))))`,
    });
    expect(only(new WasteRun([both]))).toMatchObject({
      blocks: 2,
      unread_blocks: 0,
      never_read: 4,
      fields: [
        { offset: 4, size: 4, written: true },
        { offset: 8, size: 8, written: false },
      ],
    });
    // A block of another site may be read elsewhere.
    const named = { ...grown, functions: { make: "(drop (call $malloc (i32.const 16)))" } };
    const { file } = new WasteRun([malloc(B, 16), ...first, named]);
    const [copied] = file.blocks!.filter(({ ips }) => ips[0]!.function === "_start");
    expect(copied).toMatchObject({ fields: [{ offset: 8, size: 8, written: false }] });
  });

  it("were stored to where calloc has cleared them", () => {
    const run = new WasteRun([calloc("zeros", B, 16), L("ra", B, 8)]);
    expect(only(run)).toMatchObject({ never_read: 8, fields: [{ offset: 8, size: 8, written: true }] });
  });

  it("that a reallocation moves go on in the new one, and are none themselves", () => {
    const events = [malloc(B, 8), S("a", B, 4), L("ra", B, 4), S("b", B + 4, 4), realloc(B, C, 16), free(C)];
    expect(only(new WasteRun(events))).toMatchObject({
      blocks: 1,
      size: 16,
      fields: [
        { offset: 4, size: 4, written: true },
        { offset: 8, size: 8, written: false },
      ],
    });
  });

  it("that grow where they are keep what was read", () => {
    const events = [malloc(B, 8), S("a", B, 8), L("ra", B, 8), realloc(B, B, 16), S("c", B + 8, 4), free(B)];
    expect(only(new WasteRun(events))).toMatchObject({
      blocks: 1,
      fields: [
        { offset: 8, size: 4, written: true },
        { offset: 12, size: 4, written: false },
      ],
    });
  });

  it("of many records have the parts of one, by the period of what was read", () => {
    const named = Array.from({ length: 8 }, (_, i) => [
      S("id", B + i * 12, 4),
      S("note", B + i * 12 + 4, 8),
      L("read", B + i * 12, 4),
    ]).flat();
    const events = [malloc(B, 96), ...named];
    expect(only(new WasteRun(events))).toMatchObject({
      size: 96,
      element: 12,
      fields: [{ offset: 4, size: 8, written: true }],
    });
    // The debug information has no such type: the numbers may be read at a stride.
    const numbers = only(new WasteRun(events, { typesOf: () => () => undefined }));
    expect(numbers).toMatchObject({ size: 96, never_read: 64 });
    expect(numbers.fields).toBeUndefined();
  });

  it("of different sizes without a period have no parts", () => {
    const sizes = text("(call $sizes)", {
      some: "(param i32) (drop (call $malloc (local.get 0)))",
      sizes: `(local $i i32) (loop $l
        (global.set $next (i32.add (i32.const ${B}) (i32.mul (local.get $i) (i32.const 64))))
        (call $some (i32.add (i32.const 16) (local.get $i)))
        (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (i32.const 16))))`,
    });
    const varied = only(new WasteRun([sizes, S("a", B, 4), L("ra", B, 4)]));
    expect(varied).toMatchObject({ blocks: 2, size: 24, varies: true });
    expect(varied.fields).toBeUndefined();
  });
});

describe("loads of one place in a loop", () => {
  const loop = (load: string) =>
    text("(call $sum (i32.const 10)) (call $sum (i32.const 5))", {
      sum: `(param $n i32) (local $i i32) (local $s i32)
        (loop $l
          (if (i32.and (local.get $i) (i32.const 1)) (then (local.set $s (i32.add (local.get $s) (i32.const 3)))))
          (local.set $s (i32.add (local.get $s) ${load}))
          (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
        (global.set $next (local.get $s))`,
    });
  const again = (load: string, waste = {}) => {
    const { file } = new WasteRun([S("a", 1024, 4), loop(load)], { waste });
    return file.loads.find(({ ips }) => ips[0].function === "sum")!;
  };

  it("are again as often as they run, less how often the loop began", () => {
    for (const waste of [{}, { pairs: true }])
      expect(again("(i32.load (i32.const 1024))", waste)).toMatchObject({ nof_loads: 15, nof_again: 13 });
  });

  it("are none where the address moves", () => {
    const moving = "(i32.load (i32.add (i32.const 1024) (i32.mul (local.get $i) (i32.const 4))))";
    expect(again(moving).nof_again).toBeUndefined();
  });

  it("are counted by the outermost loop in which they stand still", () => {
    const nested = text("(call $sum (i32.const 1024))", {
      sum: `(param $p i32) (local $i i32) (local $j i32)
        (loop $outer
          (local.set $j (i32.const 0))
          (loop $inner
            (drop (i32.load (local.get $p)))
            (if (i32.eqz (local.get $p)) (then (unreachable)))
            (br_if $inner (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 2))))
          (br_if $outer (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 50))))`,
    });
    const { file } = new WasteRun([S("a", 1024, 4), nested]);
    expect(file.loads.find(({ ips }) => ips[0].function === "sum")).toMatchObject({
      nof_loads: 100,
      nof_again: 99,
    });
  });
});

describe("stores", () => {
  it("update what their block has loaded from the same place", () => {
    const update = text("(call $bump (i32.const 1024)) (call $set (i32.const 1024))", {
      bump: "(param i32) (i32.store offset=4 (local.get 0) (i32.add (i32.load offset=4 (local.get 0)) (i32.const 0)))",
      set: "(param i32) (i32.store offset=4 (local.get 0) (i32.load (local.get 0)))",
    });
    const run = new WasteRun([update]);
    expect(run.store("bump").update).toBe(true);
    expect(run.store("set").update).toBeUndefined();
  });
});
