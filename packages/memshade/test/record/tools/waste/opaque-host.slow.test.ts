import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import { type Event, text, WasteRun } from "./events.ts";

const ENGINES: Readonly<Record<string, WasteOptions>> = {
  "without contexts": {},
  "more stores than ids": { mostIds: 1 },
  "frames of contexts": { contexts: true },
  "frames of contexts, more stores than ids": { contexts: true, mostIds: 1 },
  "writers and readers": { pairs: true },
  "objects, where every byte is looked at": { objects: true },
};

/** The memory's first page exists before the host has control; the second comes later. */
const GROWS = text("(drop (memory.grow (i32.const 1)))");
const EDGE = 65_536;
const HOST = text("(call $look)");
const IMPORTS = { "env.look": "" };

const LOADS: Readonly<Record<number, string>> = {
  1: "i32.load8_u",
  2: "i32.load16_u",
  4: "i32.load",
  8: "i64.load",
  16: "v128.load",
};

interface Step {
  event: Event;
  name: string;
  kind: "load" | "store" | "host";
  accesses: readonly { address: number; size: number }[];
}

const address = fc.integer({ min: EDGE - 40, max: EDGE + 40 });
const size = fc.constantFrom(1, 2, 4, 8, 16);

/** `count` accesses of `size` bytes, `stride` apart, in a loop; `jumps`: to addresses that no stride reaches. */
function loop(kind: "load" | "store", size: number, jumps: boolean, function_: string): string {
  const where = jumps
    ? "(i32.add (local.get 0) (i32.and (i32.mul (local.get 3) (i32.const 37)) (i32.const 63)))"
    : "(local.get 0)";
  const type = size === 8 ? "i64" : size === 16 ? "v128" : "i32";
  const store =
    size === 16 ? "v128.store" : size === 8 ? "i64.store" : `i32.store${size === 4 ? "" : size * 8}`;
  const one = type === "v128" ? "(v128.const i32x4 9 9 9 9)" : `(${type}.const 0x1010109)`;
  const body = kind === "load" ? `(drop (${LOADS[size]} ${where}))` : `(${store} ${where} ${one})`;
  return `(param i32 i32 i32) (local i32) ;; ${function_}
    (loop $again ${body}
      (local.set 0 (i32.add (local.get 0) (local.get 1)))
      (br_if $again (i32.lt_u (local.tee 3 (i32.add (local.get 3) (i32.const 1))) (local.get 2))))`;
}

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Step>({ event: HOST, name: "", kind: "host", accesses: [] }) },
  {
    weight: 9,
    arbitrary: fc
      .record({
        kind: fc.constantFrom("load" as const, "load" as const, "store" as const),
        at: address,
        size,
        stride: fc.constantFrom(0, 1, 1, 3, 8, 40),
        count: fc.constantFrom(1, 1, 2, 5, 14, 20),
        jumps: fc.boolean(),
      })
      .map(({ kind, at, size, stride, count, jumps }) => {
        const step = kind === "store" && count > 1 ? size : stride * (stride === 40 ? 1 : size);
        const by = jumps ? 0 : step;
        const name = `${kind}_${size}${jumps ? "_jumps" : ""}`;
        const accesses = Array.from({ length: count }, (_, i) => ({
          address: at + i * by + (jumps ? (i * 37) & 63 : 0),
          size,
        }));
        const call = `(call $${name} (i32.const ${at}) (i32.const ${by}) (i32.const ${count}))`;
        return { event: text(call, { [name]: loop(kind, size, jumps, name) }), name, kind, accesses };
      }),
  },
);

interface Figures {
  operations: number;
  silent: number;
  read: number;
  overwritten: number;
}

/** The rules byte by byte: bytes that the host may have read are read, including the system's zeros. */
function expected(steps: readonly Step[]): Map<string, Figures> {
  const states = new Map<number, { read: boolean; writer: string; value: number }>();
  const figures = new Map<string, Figures>();
  const of = (name: string): Figures => {
    const known = figures.get(name) ?? { operations: 0, silent: 0, read: 0, overwritten: 0 };
    figures.set(name, known);
    return known;
  };
  let shown = EDGE;
  const at = (address: number) => {
    const known = states.get(address) ?? { read: address < shown, writer: "", value: 0 };
    states.set(address, known);
    return known;
  };
  for (const { kind, name, accesses } of steps) {
    if (kind === "host") {
      shown = 2 * EDGE;
      for (const state of states.values()) state.read = true;
    }
    for (const { address, size } of accesses) {
      const own = of(name);
      const bytes = Array.from({ length: size }, (_, i) => at(address + i));
      own.operations++;
      if (kind === "load") {
        if (bytes.every(({ read }) => read)) own.silent++;
        for (const byte of bytes) {
          if (!byte.read && byte.writer !== "") of(byte.writer).read++;
          byte.read = true;
        }
        continue;
      }
      const pattern = size === 16 ? [9, 0, 0, 0] : [9, 1, 1, 1, 0, 0, 0, 0];
      const values = bytes.map((_, i) => pattern[i % pattern.length]);
      if (bytes.every(({ value }, i) => value === values[i])) own.silent++;
      bytes.forEach((byte, i) => {
        if (!byte.read && byte.writer !== "") of(byte.writer).overwritten++;
        Object.assign(byte, { read: false, writer: name, value: values[i] });
      });
    }
  }
  return figures;
}

function measured(steps: readonly Step[], waste: WasteOptions): Map<string, Figures> {
  const run = new WasteRun([GROWS, ...steps.map(({ event }) => event)], {
    waste,
    imports: IMPORTS,
    pages: 1,
  });
  return new Map(
    [...new Set(steps.filter(({ kind }) => kind !== "host").map(({ name }) => name))].map((name) => {
      if (name.startsWith("load")) {
        const { nof_loads, nof_silent } = run.load(name);
        return [name, { operations: nof_loads, silent: nof_silent, read: 0, overwritten: 0 }];
      }
      const { nof_stores, nof_silent, bytes_read, host_assumed_read, dead_overwritten } = run.store(name);
      return [
        name,
        {
          operations: nof_stores,
          silent: nof_silent,
          read: bytes_read - host_assumed_read,
          overwritten: dead_overwritten,
        },
      ];
    }),
  );
}

for (const [engine, waste] of Object.entries(ENGINES))
  describe(`a host that may have read everything, ${engine}`, () => {
    it("has read zeros that nobody stored: the first load of them is silent", () => {
      const load = (name: string, address: number) =>
        text(`(call $${name} (i32.const ${address}))`, {
          [name]: "(param i32) (drop (i64.load (local.get 0)))",
        });
      const run = new WasteRun(
        [
          load("before", 64),
          GROWS,
          load("grown", EDGE),
          HOST,
          load("later", EDGE + 64),
          load("partly", EDGE + 4),
        ],
        { waste, imports: IMPORTS, pages: 1 },
      );
      expect(["before", "grown", "later", "partly"].map((name) => run.load(name).nof_silent)).toEqual([
        1, 0, 1, 1,
      ]);
    });

    it("counts as the rules say, whatever is loaded and stored in between", () => {
      fc.assert(
        fc.property(fc.array(step, { minLength: 3, maxLength: 14 }), (steps) => {
          expect(measured(steps, waste)).toEqual(expected(steps));
        }),
        { numRuns: 25 },
      );
    });
  });

describe("a host that puts operands on the program's stack", () => {
  // JavaScript reserves room for strings in this way: by functions that only move the stack pointer.
  const allocate = {
    reserve: "(global.set $__stack_pointer (i32.sub (global.get $__stack_pointer) (i32.const 16)))",
    restore: "(global.set $__stack_pointer (i32.const 4096))",
  };
  const load = (name: string) => text(`(call $${name})`, { [name]: "(drop (i32.load (i32.const 4080)))" });

  for (const [engine, waste] of Object.entries(ENGINES))
    it(`puts them into memory that is new each time: ${engine}`, () => {
      const run = new WasteRun(
        [
          text("(call $reserve)", allocate),
          load("first"),
          load("second"),
          text("(call $restore)"),
          text("(call $reserve)"),
          HOST,
          load("third"),
          text("(call $restore)"),
          load("behind"),
        ],
        { waste, imports: IMPORTS },
      );
      for (const name of ["first", "second", "third", "behind"])
        expect(run.load(name)).toMatchObject({ nof_loads: 1, nof_silent: 0 });
    });
});

describe("a host that cannot look at the memory", () => {
  it("has not read zeros", () => {
    const load = text("(call $first)", { first: "(drop (i32.load (i32.const 64)))" });
    const run = new WasteRun([load], { imports: IMPORTS, isHidden: true });
    expect(run.load("first")).toMatchObject({ nof_loads: 1, nof_silent: 0 });
  });
});
