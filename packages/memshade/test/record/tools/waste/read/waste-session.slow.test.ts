import { describe, expect, it } from "vitest";
import { readDeadstores } from "../../../../../src/profile/formats/deadstores.ts";
import { readWaste, type WasteFile } from "../../../../../src/profile/model/waste.ts";
import { type ProfiledError, type ProfileOptions, profile } from "../../../../../src/record/host/profile.ts";
import type { Profile } from "../../../../../src/record/host/run/recorder.ts";
import { wat } from "../../../../support/assemble.ts";
import { BUMP } from "../../../../support/profiled.ts";

/** @param memory how the memory is exported, if at all */
const moduleWith = (memory: string): Uint8Array =>
  wat(`(module (memory ${memory} 1 8) ${BUMP}
  (func (export "store") (param i32) (i32.store (i32.const 64) (local.get 0)))
  (func (export "twice") (i32.store (i32.const 128) (i32.const 1)) (i32.store (i32.const 128) (i32.const 2)))
  (func (export "load") (result i32) (i32.load (i32.const 64))))`);
const MODULE = moduleWith('(export "memory")');
const HIDDEN = moduleWith("");

type Exports = Record<string, (...operands: number[]) => number>;

function wasteOf({ toolFiles }: Profile): WasteFile {
  const file = toolFiles.find(({ name }) => name === "waste.json");
  return readWaste(String(file?.contents));
}

const record = (
  options: ProfileOptions,
  use: (exports: Exports, reset: () => void) => void,
  module: Uint8Array = MODULE,
) =>
  profile(
    module,
    async (instantiate, recording) => {
      const { exports } = await instantiate();
      use(exports as Exports, () => recording.reset());
    },
    { tools: ["waste"], ...options },
  );

describe("a recording with the waste tool", () => {
  it("takes what is unread between two calls of an opaque host for read by it", async () => {
    const recorded = await record({}, ({ store, twice }) => {
      store(1);
      store(2);
      twice();
    });
    const { stores, totals } = wasteOf(recorded);
    expect(stores[0]).toMatchObject({ nof_stores: 2, bytes_written: 8, host_assumed_read: 8, bytes_dead: 0 });
    expect(totals).toMatchObject({ deadOverwritten: 4, hostAssumedRead: 12 });
    expect(recorded.run.files).toEqual({ waste: "waste.json" });
    expect(recorded.run.heap).toBeUndefined();
  });

  it("takes nothing for read by a host that cannot look at the memory", async () => {
    const use = ({ store, load }: Exports) => {
      store(1);
      store(2);
      load();
    };
    const recorded = await record({}, use, HIDDEN);
    expect(wasteOf(recorded).stores[0]).toMatchObject({
      dead_overwritten: 4,
      bytes_read: 4,
      host_assumed_read: 0,
    });
  });

  for (const pairs of [false, true])
    it(`forgets on request what came before, ${pairs ? "full" : "brief"}`, async () => {
      const use = ({ store, load }: Exports, reset: () => void) => {
        store(1);
        store(2);
        reset();
        store(3);
        load();
      };
      const recorded = await record({ waste: { pairs } }, use, HIDDEN);
      const { stores, loads } = wasteOf(recorded);
      expect(stores).toHaveLength(1);
      expect(stores[0]).toMatchObject({ nof_stores: 1, bytes_written: 4, bytes_read: 4, bytes_dead: 0 });
      expect(loads[0]).toMatchObject({ nof_loads: 1, nof_silent: 0 });
    });

  it("records beside the heap profiler, and both say what they say alone", async () => {
    const use = ({ malloc, store, load }: Exports) => {
      malloc(24);
      store(1);
      load();
    };
    // The calls are on different lines.
    const both = await record({ tools: ["heap", "waste"], hostStacks: "off" }, use);
    expect(wasteOf(both).stores).toEqual(wasteOf(await record({}, use)).stores);
    const heap = await record({ tools: ["heap"], hostStacks: "off" }, use);
    expect(both.run.heap?.sites).toEqual(heap.run.heap?.sites);
    expect([...both.raw]).toEqual([...heap.raw]);
  });

  it("says of a memory that could not grow why, and that it is so for all tools of the run", async () => {
    const grows = await profile(
      wat(`(module (memory (export "memory") 1) (func (export "f")
        (i32.store (i32.const 0) (i32.const 1)) (drop (memory.grow (i32.const 65000)))))`),
      async (instantiate) => ((await instantiate()).exports as Exports).f(),
      { tools: ["waste"] },
    );
    expect(wasteOf(grows).notTracked.join()).toMatch(
      /The program requested 4,063 MiB of memory and did not get it: the waste tool covers at most [\d,]+ MiB/,
    );
    expect(grows.run.notTracked.join()).toMatch(/^The program requested 4,063 MiB/);
  });

  for (const waste of [{}, { contexts: true }, { pairs: true }])
    it(`holds a memory from outside at what can be followed, whoever grows it: ${JSON.stringify(waste)}`, async () => {
      const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536 });
      const grown = await profile(
        wat(`(module (import "env" "memory" (memory 1 65536))
          (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
          (func (export "f") (i32.store (i32.const 131072) (i32.const 1))
            (drop (i32.load (i32.const 131072)))))`),
        async (instantiate) => {
          const { grow, f } = (await instantiate({ env: { memory } })).exports as Exports;
          const said = [grow(1), grow(60_000), memory.grow(1)];
          expect(() => memory.grow(60_000)).toThrow(RangeError);
          expect(grow(-1)).toBe(-1);
          f();
          return said;
        },
        { tools: ["waste"], waste },
      );
      expect(grown.value).toEqual([1, -1, 2]);
      expect(memory.buffer.byteLength).toBe(3 * 65536);
      const { stores, notTracked } = wasteOf(grown);
      expect(stores).toMatchObject([{ bytes_written: 4, bytes_read: 4 }]);
      expect(notTracked.join()).toMatch(
        /The program requested 3,751 MiB of memory and did not get it \(2 requests\): .* covers at most [\d,]+ MiB/,
      );
      expect(notTracked.join()).not.toMatch(/not reliable/);
    });

  it("holds a memory of 64-bit addresses from outside too", async () => {
    const type = { address: "i64", initial: 1n, maximum: 131_072n };
    const memory = new WebAssembly.Memory(type as unknown as WebAssembly.MemoryDescriptor);
    const growMemory = (pages: bigint): unknown => memory.grow(pages as unknown as number);
    const grown = await profile(
      wat(`(module (import "env" "memory" (memory i64 1 131072))
        (func (export "grow") (param i64) (result i64) (memory.grow (local.get 0)))
        (func (export "f") (i32.store (i64.const 65536) (i32.const 1)) (drop (i32.load (i64.const 65536)))))`),
      async (instantiate) => {
        const { grow, f } = (await instantiate({ env: { memory } })).exports as unknown as Record<
          string,
          (pages?: bigint) => bigint
        >;
        const said = [grow(1n), grow(60_000n), grow(0x100000001n), growMemory(1n)];
        expect(() => growMemory(60_000n)).toThrow(RangeError);
        f();
        return said;
      },
      { tools: ["waste"] },
    );
    expect(grown.value).toEqual([1n, -1n, -1n, 2n]);
    expect(wasteOf(grown).stores).toMatchObject([{ bytes_written: 4, bytes_read: 4 }]);
  });

  it("leaves alone a module whose memory is larger than what can be followed from the start", async () => {
    const end = 0xfffffff0;
    const large = await profile(
      wat(`(module (memory (export "memory") 65536) (func (export "f") (result i32)
        (i32.store (i32.const ${end}) (i32.const 7)) (i32.load (i32.const ${end}))))`),
      async (instantiate) => ((await instantiate()).exports as Exports).f(),
      { tools: ["waste"] },
    );
    expect(large.value).toBe(7);
    expect(wasteOf(large).notTracked.join()).toMatch(
      /^The module's memory begins with 4,096 MiB, more than the [\d,]+ MiB that the waste tool can cover: it records nothing of this module\./,
    );
    const wide = await profile(
      wat(`(module (memory (export "memory") 24000) (func (export "f")))`),
      async (instantiate) => ((await instantiate()).exports as Exports).f(),
      { tools: ["waste"], waste: { pairs: true } },
    );
    expect(wasteOf(wide).notTracked.join()).toMatch(/it records nothing of this module/);
  });

  it("refuses a memory from outside that is larger already", async () => {
    const memory = new WebAssembly.Memory({ initial: 20_000, maximum: 65536 });
    const run = profile(
      wat('(module (import "env" "memory" (memory 1 65536)))'),
      (instantiate) => instantiate({ env: { memory } }),
      { tools: ["waste"], waste: {} },
    );
    await expect(run).rejects.toThrow(
      /memshade: The memory from outside has 1,250 MiB, more than the 1,024 MiB that the waste tool can cover: it records nothing/,
    );
  });

  it("writes what readers of the tool deadstores take", async () => {
    const recorded = await record({}, ({ twice }) => twice());
    const { stores } = readDeadstores(String(recorded.toolFiles[0].contents));
    expect(stores.map(({ bytes_written, bytes_read }) => [bytes_written, bytes_read])).toEqual([
      [4, 0],
      [4, 4],
    ]);
  });

  it("names a loop that a trap ended, flags its accesses, and says what else a trap leaves", async () => {
    const module = wat(`(module (memory (export "memory") 1 1) ${BUMP}
      (func $fill (export "fill") (param $words i32) (local $i i32)
        (i32.store (i32.const 16) (local.get $words))
        (loop $next
          (i32.store offset=64 (i32.mul (local.get $i) (i32.const 4)) (i32.const 7))
          (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $words))))))`);
    const sentences: string[] = [];
    for (const pairs of [false, true]) {
      const recorded = await profile(
        module,
        async (instantiate) => {
          const { fill } = (await instantiate()).exports as Exports;
          fill(10);
          fill(10);
          fill(100_000);
        },
        { tools: ["waste"], waste: { pairs } },
      ).then(
        () => undefined,
        (error: ProfiledError) => error.profile,
      );
      const file = wasteOf(recorded as Profile);
      const [before, inLoop] = file.stores;
      expect(before.nof_stores).toBe(3);
      expect(inLoop.nof_stores).toBe(pairs ? 20 + (65536 - 64) / 4 : 20);
      expect([before.incomplete, inLoop.incomplete]).toEqual([undefined, pairs ? undefined : 1]);
      sentences.push(file.notTracked.filter((sentence) => /did not end|trapped/.test(sentence)).join(" "));
    }
    expect(sentences[0]).toMatch(/A loop did not end \(fill \+0x[0-9a-f]+\): /);
    expect(sentences[0]).toContain("accesses after the trap in the same basic block");
    expect(sentences[1]).toBe("");
  });
});
