import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import { countsOfStore, type Event, text, WasteRun } from "./events.ts";

/** A function with a frame of `size` bytes that stores at `stores` and loads at `loads`, both relative to its lower end. */
interface Frame {
  size: number;
  stores: number[];
  loads: number[];
  /** Bytes added to the stack pointer at the end beyond the frame's size. */
  slip: number;
  /** True if a loop in between assigns the local with the frame's address again. */
  moves: boolean;
}

const SP = "(global.get $__stack_pointer)";

function call(name: string, { size, stores, loads, slip, moves }: Frame): Event {
  return text(`(call $${name})`, {
    [name]: `(local $f @) (local $n i32)
      (global.set $__stack_pointer (local.tee $f (@.sub ${SP} (@.const ${size}))))
      ${stores.map((at) => `(i32.store (@.add (local.get $f) (@.const ${at})) (i32.const ${at + 77}))`).join("\n")}
      ${loads.map((at) => `(drop (i32.load (@.add (local.get $f) (@.const ${at}))))`).join("\n")}
      ${
        moves
          ? `(loop $again (local.set $f (@.add (local.get $f) (@.const 0)))
               (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 2))))`
          : ""
      }
      (global.set $__stack_pointer (@.add (local.get $f) (@.const ${size + slip})))`,
  });
}

const sizes = fc.oneof(
  { weight: 4, arbitrary: fc.nat(10).map((n) => n * 16) },
  fc.constantFrom(8, 24, 100, 240, 368, 480, 1040),
);
const frame: fc.Arbitrary<Frame> = sizes.chain((size) =>
  fc.record({
    size: fc.constant(size),
    // Leaf functions use memory below the stack pointer, and some functions write out of bounds.
    stores: fc.array(fc.integer({ min: -40, max: size + 8 }), { maxLength: 5 }),
    loads: fc.array(fc.integer({ min: -40, max: size + 8 }), { maxLength: 4 }),
    slip: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.constantFrom(-16, 16, 8)),
    moves: fc.boolean(),
  }),
);
/** Functions that are called one after the other, several times each. */
const calls = fc
  .array(frame, { minLength: 1, maxLength: 4 })
  .chain((frames) =>
    fc
      .array(fc.nat(frames.length - 1), { minLength: 2, maxLength: 12 })
      .map((order) => order.map((n) => call(`f${n}`, frames[n]))),
  );

const ENGINES: Readonly<Record<string, WasteOptions>> = {
  "without contexts": {},
  "more stores than ids": { mostIds: 1 },
  contexts: { contexts: true },
  "full engine": { pairs: true },
};

function figures(events: readonly Event[], waste: WasteOptions): unknown[] {
  const { file } = new WasteRun(events, { waste });
  return file.stores.map((store) => [store.ips[0].address, ...countsOfStore(store)]);
}

describe("frames of the stack", () => {
  it("whatever their sizes, and wherever they are written, all engines count the same", () => {
    fc.assert(
      fc.property(calls, (events) => {
        const full = figures(events, { pairs: true });
        expect(figures(events, {})).toEqual(full);
      }),
      { numRuns: 15 },
    );
  });

  for (const [engine, waste] of Object.entries(ENGINES)) {
    for (const size of [16, 48, 80, 112, 128, 144, 480])
      it(`${engine}: each word of a frame of ${size} bytes is charged at its end, unless it was read`, () => {
        const places = Array.from({ length: size / 4 }, (_, i) => i * 4);
        const usual = { size, slip: 0, moves: false };
        const unread = call("unread", { ...usual, stores: places, loads: [] });
        const read = call("read", { ...usual, stores: places, loads: places });
        const { file } = new WasteRun([unread, read], { waste });
        const of = (name: string) => file.stores.filter(({ ips }) => ips[0].function === name);
        for (const store of of("unread")) expect(store).toMatchObject({ dead_deallocated: 4, dead_exit: 0 });
        for (const store of of("read")) expect(store).toMatchObject({ dead_deallocated: 0, bytes_read: 4 });
        expect(of("unread")).toHaveLength(size / 4);
      });

    it(`${engine}: what a function left below the stack pointer ends where the next frame begins`, () => {
      const below = text("(call $below)", {
        below: `(i32.store (@.sub ${SP} (@.const 12)) (i32.const 5))`,
      });
      const next = call("next", { size: 32, stores: [], loads: [], slip: 0, moves: false });
      const of = new WasteRun([below, next], { waste });
      expect(of.store("below")).toMatchObject({ dead_deallocated: 4, dead_exit: 0 });
    });

    it(`${engine}: a stack pointer that something else has moved meanwhile ends what it passes`, () => {
      const strays = text("(call $strays)", {
        strays: `(local $f @)
          (global.set $__stack_pointer (local.tee $f (@.sub ${SP} (@.const 32))))
          (call $pushes)
          (i32.store (@.sub (local.get $f) (@.const 16)) (i32.const 9))
          (global.set $__stack_pointer (@.add (local.get $f) (@.const 32)))`,
        pushes: `(global.set $__stack_pointer (@.sub ${SP} (@.const 16)))`,
      });
      expect(new WasteRun([strays], { waste }).store("strays")).toMatchObject({ dead_deallocated: 4 });
    });

    it(`${engine}: a stack outside of memory ends nothing`, () => {
      const leaves = text(
        `(i32.store (@.const 0) (i32.const 1)) (i32.store (@.const 65532) (i32.const 2))
         (global.set $__stack_pointer (@.const 8)) (call $wraps)
         (global.set $__stack_pointer (@.const 65528)) (call $rises)`,
        {
          wraps: `(global.set $__stack_pointer (@.sub ${SP} (@.const 16)))
                  (global.set $__stack_pointer (@.add ${SP} (@.const 16)))`,
          rises: `(global.set $__stack_pointer (@.add ${SP} (@.const 16)))
                  (global.set $__stack_pointer (@.sub ${SP} (@.const 16)))`,
        },
      );
      const { file } = new WasteRun([leaves], { waste });
      expect(file.stores.map((store) => store.dead_deallocated)).toEqual(
        new WasteRun([leaves], { waste: { pairs: true } }).file.stores.map((store) => store.dead_deallocated),
      );
    });
  }
});
