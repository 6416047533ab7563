import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { Place, Text } from "../../../src/record/native/layout.ts";
import {
  FREED,
  MIXED,
  OWNED_PAGE_SHIFT,
  OWNED_PAGES_BIT,
  OWNER_SHIFT,
  OWNER_WORD_BYTES,
  OWNERS_BIT,
} from "../../../src/record/native/tools/working-set/layout.ts";
import { CONTEXT_BYTES, Context } from "../../../src/record/tools/heap/layout.ts";
import { callPath } from "../../../src/record/tools/heap/read/read-shadow.ts";
import { FakeProcess, TEXT } from "./support/fake-process.ts";
import { Machine } from "./support/machine.ts";

const BASE = 0x7f00_1000_0000;
const PAGE_BYTES = 4096;
const PAGES = 12;
const UNIT = 16;
const UNITS = (PAGES * PAGE_BYTES) / UNIT;
const wordAt = (address: number) => 2 ** OWNERS_BIT + (address / 2 ** OWNER_SHIFT) * OWNER_WORD_BYTES;
const pageWordAt = (address: number) =>
  2 ** OWNED_PAGES_BIT + Math.floor(address / 2 ** OWNED_PAGE_SHIFT) * OWNER_WORD_BYTES;

describe("whose blocks are, as hooks note it", () => {
  let process: FakeProcess;
  let machine: Machine;

  beforeEach(() => {
    process = new FakeProcess();
    machine = new Machine([process]);
    process.memory.map(BASE, new Uint8Array(PAGE_BYTES * PAGES));
    const words = wordAt(BASE);
    process.memory.map(words, new Uint8Array(UNITS * OWNER_WORD_BYTES));
    process.memory.map(Math.floor(pageWordAt(BASE) / PAGE_BYTES) * PAGE_BYTES, new Uint8Array(PAGE_BYTES));
    process.memory.write(TEXT + Text.isOwned, Uint8Array.of(1));
    process.library.free = () => undefined;
  });

  /** Makes this call of the function the caller of the next allocation. @returns the address of the call site */
  function callFrom(call: number): number {
    machine.return();
    machine.call(1, call, 0);
    process.site = machine.site;
    return process.site.address - 1;
  }

  /** Owner that a reader of marks finds at an address (0: none), and whether its block has ended. */
  function ownerAt(address: number): { owner: number; hasEnded: boolean } {
    const page = process.memory.load32(pageWordAt(address));
    const word = (page & MIXED) === 0 ? 0 : process.memory.load32(wordAt(address));
    const found = word === 0 ? page : word;
    return { owner: found & ~(FREED | MIXED), hasEnded: (found & FREED) !== 0 };
  }

  const siteOf = (owner: number) => {
    const leaf = process.view.getUint32(Place.mibs + (owner - 1) * CONTEXT_BYTES + Context.node, true);
    const [site] = callPath(process.view, Place.nodes, leaf);
    return process.addressOfSite(site);
  };

  const step = fc.record({
    unit: fc.nat(UNITS - 1),
    // Smaller blocks may share their 16 bytes.
    bytes: fc.oneof(fc.integer({ min: 9, max: 100 }), fc.integer({ min: 9, max: 5 * PAGE_BYTES })),
    caller: fc.nat(3),
    reallocates: fc.boolean(),
  });

  it("is the context of the live block at each address, or of the one that ended there last", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => {
        const live = new Map<number, { units: number; site: number }>();
        const free = (address: number) => {
          process.hooks.free(BigInt(address));
          live.delete(address);
        };
        const lives = new Int32Array(UNITS);
        for (const { unit, bytes, caller, reallocates } of steps) {
          const address = BASE + unit * UNIT;
          const units = Math.min(Math.ceil(bytes / UNIT), UNITS - unit);
          const size = Math.min(bytes, units * UNIT);
          // Overlapping blocks are freed first; if the step reallocates, the last of them is moved instead.
          const inWay = [...live].filter(
            ([at, one]) => at < address + units * UNIT && address < at + one.units * UNIT,
          );
          const moved = reallocates ? inWay.pop()?.[0] : undefined;
          for (const [at] of inWay) free(at);
          const site = callFrom(caller);
          if (moved === undefined) {
            process.library.malloc = () => address;
            process.hooks.malloc(BigInt(size));
          } else {
            process.library.realloc = () => address;
            process.hooks.realloc(BigInt(moved), BigInt(size));
            live.delete(moved);
          }
          live.set(address, { units, site });
        }
        for (const [address, { units, site }] of live) {
          const first = (address - BASE) / UNIT;
          for (let i = first; i < first + units; i++) {
            lives[i] = 1;
            const { owner, hasEnded } = ownerAt(BASE + i * UNIT);
            expect(hasEnded).toBe(false);
            expect(siteOf(owner)).toBe(site);
          }
        }
        for (let i = 0; i < UNITS; i++) {
          const { owner, hasEnded } = ownerAt(BASE + i * UNIT);
          if (lives[i] === 0) expect(owner === 0 || hasEnded).toBe(true);
        }
        for (const address of live.keys()) process.hooks.free(BigInt(address));
      }),
      { numRuns: 30, seed: 35 },
    );
  });

  it("stays so where a reallocation fails, and is another context's where one succeeds in place", () => {
    const first = callFrom(0);
    process.library.malloc = () => BASE;
    process.hooks.malloc(600n);
    process.library.realloc = () => 0;
    const second = callFrom(1);
    process.hooks.realloc(BigInt(BASE), 1n << 40n);
    expect(ownerAt(BASE + 592).hasEnded).toBe(false);
    expect(siteOf(ownerAt(BASE + 592).owner)).toBe(first);
    process.library.realloc = () => BASE;
    process.hooks.realloc(BigInt(BASE), 100n);
    expect(siteOf(ownerAt(BASE + 96).owner)).toBe(second);
    expect(ownerAt(BASE + 592)).toEqual({ owner: ownerAt(BASE + 592).owner, hasEnded: true });
  });

  it("is noted where that is asked for alone", () => {
    process.memory.write(TEXT + Text.isOwned, Uint8Array.of(0));
    callFrom(0);
    process.library.malloc = () => BASE;
    process.hooks.malloc(6000n);
    expect(ownerAt(BASE)).toEqual({ owner: 0, hasEnded: false });
  });
});
