import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import {
  countsOfStore,
  type Event,
  free,
  L,
  malloc,
  realloc,
  S,
  SYSR,
  SYSW,
  text,
  WasteRun,
} from "./events.ts";

// All events hit this range, so that the bytes at both ends have been stored and loaded in part.
const LOW = 4096;
const HIGH = 6144;

const BULK = {
  copy: "(param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2))",
  fill: "(param i32 i32 i32) (memory.fill (local.get 0) (local.get 1) (local.get 2))",
};

interface Range {
  address: number;
  size: number;
}

const short = fc.record({
  address: fc.integer({ min: LOW, max: LOW + 512 }),
  size: fc.integer({ min: 0, max: 70 }),
});
const long = fc.record({
  address: fc.integer({ min: LOW, max: LOW + 512 }),
  size: fc.integer({ min: 0, max: 1400 }),
});
const range: fc.Arbitrary<Range> = fc.oneof({ weight: 3, arbitrary: short }, long);
const place = fc.record({
  address: fc.integer({ min: LOW, max: LOW + 600 }),
  size: fc.constantFrom(1, 2, 4, 8),
});
const call = (name: keyof typeof BULK, ...operands: number[]): Event =>
  text(`(call $${name} ${operands.map((operand) => `(i32.const ${operand})`).join(" ")})`, {
    [name]: BULK[name],
  });
/** Blocks start at multiples of 8. */
const aligned = (address: number): number => address & ~7;

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: place.map(({ address, size }) => S(`store${size}`, address, size)) },
  { weight: 3, arbitrary: place.map(({ address, size }) => S(`zero${size}`, address, size, 0)) },
  { weight: 5, arbitrary: place.map(({ address, size }) => L(`load${size}`, address, size)) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(range, short)
      .map(([to, { address, size }]) => call("copy", to.address, address, size)),
  },
  fc.tuple(range, range).map(([to, { address, size }]) => call("copy", to.address, address, size)),
  fc.tuple(range, fc.constantFrom(0, 1)).map(([to, value]) => call("fill", to.address, value, to.size)),
  {
    weight: 3,
    arbitrary: fc
      .integer({ min: LOW, max: HIGH })
      .map((to) => text(`(global.set $__stack_pointer (i32.const ${to}))`)),
  },
  { weight: 2, arbitrary: range.map(({ address, size }) => malloc(aligned(address), size)) },
  { weight: 2, arbitrary: range.map(({ address }) => free(aligned(address))) },
  fc
    .tuple(range, range)
    .map(([old, { address, size }]) => realloc(aligned(old.address), aligned(address), size)),
  range.map(({ address, size }) => SYSR(address, size)),
  range.map(({ address, size }) => SYSW("input", address, size)),
);

function figures(events: readonly Event[], waste: WasteOptions): unknown {
  const { file } = new WasteRun(events, { waste });
  return {
    stores: file.stores.map((store) => [store.ips[0].function, ...countsOfStore(store)]),
    loads: file.loads.map((load) => [load.ips[0].function, load.nof_loads, load.nof_silent]),
  };
}

describe("ranges of any size and alignment", () => {
  it("are copied, filled, ended and read by the host as byte by byte", () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 5, maxLength: 60 }), (events) => {
        const one = figures(events, { pairs: true });
        for (const ids of [{}, { mostIds: 2 }] as const) expect(figures(events, ids)).toEqual(one);
        for (const mostIds of [0, 3])
          expect(figures(events, { contexts: true, mostIds })).toEqual(
            figures(events, { contexts: true, pairs: true }),
          );
      }),
      { numRuns: 30 },
    );
  });

  it("that a host has seen before anybody stored there count as read", () => {
    for (const size of [1, 3, 4, 7, 8, 31, 32, 33, 100])
      for (const address of [LOW, LOW + 1, LOW + 6]) {
        const run = (waste: WasteOptions) => {
          const { file } = new WasteRun(
            [
              S("store", address + (size >>> 1), 1),
              text("(call $look)"),
              call("copy", address + 1024, address, size),
              call("copy", address + 1024, address, size),
            ],
            { waste, imports: { "js.look": "" } },
          );
          return [file.stores, file.loads].map((sites) =>
            sites.map(({ ips, ...rest }) => [
              ips[0].function,
              "nof_silent" in rest ? rest.nof_silent : 0,
              "bytes_read" in rest ? rest.bytes_read : 0,
            ]),
          );
        };
        const one = run({});
        expect(run({ mostIds: 0 })).toEqual(one);
        // Both copies read bytes that were read before: the byte by the host, and the zeros with it.
        expect(one[1]).toContainEqual(["copy", 2, 0]);
      }
  });
});
