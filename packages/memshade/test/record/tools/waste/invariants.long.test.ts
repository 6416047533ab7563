import { openSync, readFileSync } from "node:fs";
import { WASI } from "node:wasi";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeModule } from "../../../../src/code/wasm/index.ts";
import { instrument, type WasteOptions } from "../../../../src/record/tools/index.ts";
import { findSites } from "../../../../src/record/tools/waste/pass/weaving-plan.ts";
import type { WasteContents } from "../../../../src/record/tools/waste/read/read-waste.ts";
import { siteRunsOf } from "../../../../src/record/tools/waste/read/site-runs.ts";
import { observeImports } from "../../../../src/record/tools/waste/read/wasi-ranges.ts";
import { wasteReader } from "../../../support/waste-reader.ts";
import { type Event, free, L, malloc, S, text, WasteRun } from "./events.ts";

const NAMES = ["A", "B", "C", "D"];
const SIZES = [1, 2, 4, 8];

/** One name has one size, so that it is one instruction. */
const access: fc.Arbitrary<Event> = fc
  .record({
    which: fc.nat(NAMES.length - 1),
    stores: fc.boolean(),
    address: fc.nat(24),
    value: fc.option(fc.nat(3), { nil: undefined }),
  })
  .map(({ which, stores, address, value }) =>
    stores
      ? S(NAMES[which], 8 + address, SIZES[which], value)
      : L(`${NAMES[which]}_load`, 8 + address, SIZES[which]),
  );
const heap = fc.constantFrom(malloc(8, 16), free(8));
const events = fc.array(fc.oneof({ arbitrary: access, weight: 8 }, { arbitrary: heap, weight: 1 }), {
  maxLength: 40,
});

describe("laws of waste", () => {
  it("every byte written is read, overwritten, deallocated or left, and pairs account for each that is dead", () => {
    fc.assert(
      fc.property(events, (run) => {
        const { file } = new WasteRun(run, { waste: { pairs: true } });
        file.stores.forEach((store, index) => {
          expect(store.bytes_dead).toBe(store.bytes_written - store.bytes_read);
          expect(store.dead_overwritten + store.dead_deallocated + store.dead_exit).toBe(store.bytes_dead);
          const killed = (file.pairs ?? [])
            .filter(({ kind, first }) => first === index && kind !== "silent" && kind !== "redundant")
            .reduce((sum, { bytes }) => sum + bytes, 0);
          expect(killed).toBe(store.bytes_dead);
          expect(store.bytes_same).toBeGreaterThanOrEqual(store.bytes_silent);
        });
        // Only loads read here, so a silent load repeats a value, except for values stored in between.
        for (const load of file.loads) expect(load.nof_silent).toBeLessThanOrEqual(load.nof_redundant ?? 0);
      }),
      { numRuns: 15 },
    );
  });

  it("silent stores can be left out, and dead ones store anything: nobody loads another value", () => {
    interface Step {
      stores: boolean;
      address: number;
      size: number;
      value: bigint;
    }
    const step: fc.Arbitrary<Step> = fc.record({
      stores: fc.boolean(),
      address: fc.nat(12),
      size: fc.constantFrom(1, 2, 4, 8),
      value: fc.constantFrom(0n, 0n, 1n, -1n, 0x0101010101010101n),
    });
    const widths: Readonly<Record<number, string>> = { 1: "8", 2: "16", 4: "32", 8: "" };
    // Every step is a site of its own. Each loaded value is passed to the host, which reads no memory.
    const eventOf = ({ stores, address, size, value }: Step, number: number): Event => {
      const at = `(i32.const ${address})`;
      const body = stores
        ? `(i64.store${widths[size]} ${at} (i64.const ${value}))`
        : `(call $fd_close (i64.load${widths[size]}${size === 8 ? "" : "_u"} ${at}))`;
      return text(`(call $step${number})`, { [`step${number}`]: body });
    };
    const runOf = (steps: readonly Step[], waste: WasteOptions) => {
      const loaded: unknown[] = [];
      const run = new WasteRun(steps.map(eventOf), {
        waste,
        imports: { "wasi_snapshot_preview1.fd_close": "(param i64)" },
        onImport: (value) => loaded.push(value),
      });
      return { loaded, stores: run.file.stores };
    };
    const steps = fc.array(step, { minLength: 4, maxLength: 24 });
    let [silent, dead] = [0, 0];
    fc.assert(
      fc.property(steps, fc.constantFrom<WasteOptions>({}, { pairs: true }), (before, waste) => {
        const { loaded, stores } = runOf(before, waste);
        const numberOf = ({ ips }: (typeof stores)[number]) => Number(ips[0].function?.slice("step".length));
        const isSilent = new Set(stores.filter(({ nof_silent }) => nof_silent === 1).map(numberOf));
        const isDead = new Set(
          stores.filter(({ bytes_dead, bytes_written }) => bytes_dead === bytes_written).map(numberOf),
        );
        silent += isSilent.size;
        dead += isDead.size;
        // Removes one silent store at a time: without it, another store may no longer be silent.
        for (const number of isSilent)
          expect(runOf(before.toSpliced(number, 1), waste).loaded).toEqual(loaded);
        const others = before.map((one, i) => (isDead.has(i) ? { ...one, value: ~one.value } : one));
        expect(runOf(others, waste).loaded).toEqual(loaded);
      }),
      { numRuns: 12 },
    );
    expect(silent).toBeGreaterThan(0);
    expect(dead).toBeGreaterThan(0);
  });

  it("both engines count the same, with and without an id for each store", () => {
    fc.assert(
      fc.property(events, (run) => {
        const figures = (waste: WasteOptions) => {
          const { file } = new WasteRun(run, { waste });
          return {
            stores: file.stores.map(
              ({
                bytes_same,
                silent_over_zero,
                silent_approximate,
                lanes_redundant,
                bytes_over_segments,
                ...rest
              }) => rest,
            ),
            loads: file.loads.map(({ ips, nof_loads, nof_silent, bytes_loaded }) => [
              ips,
              nof_loads,
              nof_silent,
              bytes_loaded,
            ]),
          };
        };
        const narrow = figures({});
        for (const ids of [{ mostIds: 0 }, { mostIds: 3 }] as const) expect(figures(ids)).toEqual(narrow);
        expect(figures({ pairs: true })).toEqual(narrow);
        const byContext = figures({ pairs: true, contexts: true });
        for (const ids of [{}, { mostIds: 0 }, { mostIds: 3 }] as const)
          expect(figures({ contexts: true, ...ids })).toEqual(byContext);
      }),
      { numRuns: 8 },
    );
  });
});

const KERNELS = new URL("../../../fixtures/programs/kernels/", import.meta.url);

function wasteOfProgram(name: string, args: readonly string[], waste: WasteOptions): WasteContents {
  const original = new Uint8Array(readFileSync(new URL(`${name}.wasm`, KERNELS)));
  const { bytes, info } = instrument(original, { tools: ["waste"], waste, name });
  const wasi = new WASI({
    version: "preview1",
    args: [name, ...args],
    returnOnExit: true,
    stdout: openSync("/dev/null", "w"),
  });
  const imports = wasi.getImportObject() as WebAssembly.Imports;
  const observed = observeImports(imports, info);
  const instance = new WebAssembly.Instance(
    new WebAssembly.Module(bytes as BufferSource),
    observed?.imports ?? imports,
  );
  observed?.connect(instance.exports);
  wasi.start({ exports: { memory: instance.exports.memory, _start: instance.exports._start } });
  return wasteReader(instance.exports, info).read(false);
}

function offsetsOf(name: string): number[] {
  const sites = findSites(decodeModule(new Uint8Array(readFileSync(new URL(`${name}.wasm`, KERNELS)))), []);
  return [...sites.offset.subarray(0, sites.length)];
}

describe("real programs", () => {
  const figures = ({ stores, loads }: WasteContents) => ({
    stores: stores.map((s) => [
      s.path,
      s.stores,
      s.written,
      s.read,
      s.overwritten,
      s.deallocated,
      s.exit,
      s.silent,
    ]),
    loads: loads.map((l) => [l.path, l.loads, l.bytes, l.silent]),
  });
  for (const [mostIds, name, ...args] of [
    [60, "stl", "500"],
    [9, "parser", "40", "1"],
    [60, "hashmap", "4000"],
    [9, "simd", "24", "3"],
    [9, "matrix", "40", "5"],
    [60, "stencil", "40", "4"],
    [9, "floyd", "41", "2"],
    [60, "core", "12"],
  ] as const)
    it(`${name}: the engines agree site by site`, () => {
      const narrow = figures(wasteOfProgram(name, args, {}));
      expect(narrow.stores.length).toBeGreaterThan(20);
      expect(figures(wasteOfProgram(name, args, { mostIds }))).toEqual(narrow);
      expect(figures(wasteOfProgram(name, args, { pairs: true }))).toEqual(narrow);
    });

  for (const [mostIds, name, ...args] of [
    [200, "stl", "500"],
    [20, "parser", "40", "1"],
    [20, "bintree", "7"],
    [200, "graph", "60"],
    [20, "floyd", "41", "2"],
    [200, "core", "3"],
  ] as const)
    it(`${name}: the engines agree context by context`, () => {
      const sorted = (contents: WasteContents) => {
        const { stores, loads } = figures(contents);
        const texts = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort();
        return { stores: texts(stores), loads: texts(loads) };
      };
      const full = sorted(wasteOfProgram(name, args, { contexts: true, pairs: true }));
      const quick = wasteOfProgram(name, args, { contexts: true });
      expect(quick.stores.some(({ path }) => path.length > 4)).toBe(true);
      expect(sorted(quick)).toEqual(full);
      // If there are fewer ids than stores in contexts, ids are reused, and some bytes do without an id.
      expect(sorted(wasteOfProgram(name, args, { contexts: true, mostIds }))).toEqual(full);
    });

  it("count the same whatever is said of an earlier run, though their code differs", () => {
    const programs = [
      ["stl", "500"],
      ["parser", "40", "1"],
      ["core", "12"],
    ] as const;
    const engines = fc.constantFrom<WasteOptions>({}, { contexts: true });
    // Many sites that never ran, and some that did.
    const seen = fc.record({
      ran: fc.double({ min: 0.05, max: 0.95, noNaN: true }),
      seed: fc.nat(),
    });
    const expected = new Map<string, unknown>();
    fc.assert(
      fc.property(fc.constantFrom(...programs), engines, seen, ([name, ...args], waste, { ran, seed }) => {
        const offsets = offsetsOf(name);
        const chance = (site: number, salt: number) =>
          ((Math.imul(site + seed + 1, 2654435761) ^ Math.imul(salt, 40503)) >>> 0) / 2 ** 32;
        const runs = offsets.map((_, site) =>
          chance(site, 1) < ran ? 1 + Math.floor(1 / chance(site, 2)) : 0,
        );
        const known = wasteOfProgram(name, args, { ...waste, siteRuns: { offsets, runs } });
        const key = `${name} ${waste.contexts}`;
        if (!expected.has(key)) expected.set(key, figures(wasteOfProgram(name, args, waste)));
        expect(figures(known)).toEqual(expected.get(key));
      }),
      { numRuns: 10 },
    );
  });

  it("grow less where little ran", () => {
    const original = new Uint8Array(readFileSync(new URL("stl.wasm", KERNELS)));
    const grown = (waste: WasteOptions) => instrument(original, { tools: ["waste"], waste }).bytes.length;
    const { offsets, runs } = siteRunsOf([wasteOfProgram("stl", ["500"], {})]);
    expect(offsets.length).toBeGreaterThan(500);
    const few = { offsets: offsets.slice(0, 100), runs: runs.slice(0, 100) };
    for (const waste of [{}, { contexts: true }] as const)
      expect(grown({ ...waste, siteRuns: few })).toBeLessThan(0.8 * grown(waste));
  });

  it("contexts divide the figures of their sites and lose none", () => {
    const sum = (contents: WasteContents) => {
      const bySite = new Map<number, number[]>();
      for (const s of contents.stores) {
        const known = bySite.get(s.path[0]) ?? [0, 0, 0];
        bySite.set(s.path[0], [known[0] + s.stores, known[1] + s.read, known[2] + s.silent]);
      }
      return bySite;
    };
    const bySite = wasteOfProgram("parser", ["40", "1"], {});
    for (const pairs of [false, true]) {
      const byContext = wasteOfProgram("parser", ["40", "1"], { contexts: true, pairs });
      expect(byContext.stores.length).toBeGreaterThan(bySite.stores.length);
      expect(byContext.keysLost).toBe(0);
      expect(sum(byContext)).toEqual(sum(bySite));
    }
  });
});
