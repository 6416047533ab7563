import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { Header, Place } from "../../../src/record/native/layout.ts";
import { NATIVE_LAYOUT } from "../../../src/record/native/memory-layout.ts";
import { Control, RECORD_BYTES, SLOT_BYTES } from "../../../src/record/tools/heap/layout.ts";
import { LiveBlocks } from "../../../src/record/tools/heap/read/live-blocks.ts";
import { FakeProcess } from "./support/fake-process.ts";
import { Machine } from "./support/machine.ts";

/** Bases of possible block addresses, one page each; the low halves of the addresses repeat. */
const BASES = [0x5500_1000_0000, 0x7f00_1000_0000, 0x7f01_1000_0000];
const PAGE_BYTES = 4096;
const PAGES = 200;
const PLACES = BASES.flatMap((base) => Array.from({ length: PAGES }, (_, i) => base + PAGE_BYTES * i));

describe("blocks of a native program that live", () => {
  let process: FakeProcess;

  beforeEach(() => {
    process = new FakeProcess();
    new Machine([process]);
    for (const base of BASES) process.memory.map(base, new Uint8Array(PAGE_BYTES * PAGES));
    process.library.free = () => undefined;
  });

  const allocate = (address: number, size: number) => {
    process.library.malloc = () => address;
    process.hooks.malloc(BigInt(size));
  };
  const live = () => [...new LiveBlocks(process.linear, NATIVE_LAYOUT, new Map())];
  const tableBytes = () => {
    const { view } = process;
    const control = (field: number) => view.getUint32(Place.control + field, true);
    return (
      control(Control.slotsNext) +
      control(Control.recordNext) * RECORD_BYTES +
      (view.getUint32(Header.lastBucket, true) + 1) * SLOT_BYTES
    );
  };

  it("are what was allocated and not given back, small and large ones, by address", () => {
    const step = fc.record({
      place: fc.nat(PLACES.length - 1),
      size: fc.integer({ min: 1, max: PAGE_BYTES }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 500, maxLength: 1500 }), (steps) => {
        const expected = new Map<number, number>();
        for (const { address, size } of live()) {
          expect(size).toBeGreaterThan(0);
          process.hooks.free(BigInt(address));
        }
        for (const { place, size } of steps) {
          const address = PLACES[place];
          if (expected.delete(address)) process.hooks.free(BigInt(address));
          else {
            allocate(address, size);
            expected.set(address, size);
          }
        }
        expect(live().map(({ address, size }) => [address, size])).toEqual(
          [...expected].sort(([a], [b]) => a - b),
        );
      }),
      { numRuns: 5, seed: 32 },
    );
  });

  it("take as much room in tables for each of them whatever their size is", () => {
    const perBlock = [200, 600, PAGE_BYTES].map((size) => {
      const before = tableBytes();
      for (const address of PLACES) allocate(address, size);
      const bytes = (tableBytes() - before) / PLACES.length;
      for (const address of PLACES) process.hooks.free(BigInt(address));
      return bytes;
    });
    const [small, large, page] = perBlock;
    expect(large).toBeLessThanOrEqual(RECORD_BYTES + SLOT_BYTES);
    // The records of the earlier blocks are reused.
    expect(page).toBeLessThan(1);
    // Each block needs one region and the entries that find regions.
    expect(small).toBeLessThan(64 + ((2 * 16_384) / PAGES) * BASES.length);
  });

  it("end where another block begins, if nobody saw them end", () => {
    const [address] = PLACES;
    for (const size of [20, 2000, 30, 3000]) {
      allocate(address, size);
      const sizes = live().map((block) => block.size);
      expect(sizes).toContain(size);
      process.hooks.free(BigInt(address));
    }
    allocate(address, 20);
    allocate(address, 2000);
    expect(live().map(({ size }) => size)).toEqual([2000]);
  });
});
