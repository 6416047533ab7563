import { describe, expect, it } from "vitest";
import { instrument } from "../../../src/record/tools/index.ts";
import { wat } from "../../support/assemble.ts";
import { type Call, expectTransparent, type Host } from "../../support/behaviour.ts";
import { EXACT, MERGED, Watched } from "../../support/counters.ts";

const POKE = '(func (export "poke") (param i32) (i32.store8 (local.get 0) (i32.const 7)))';
const PEEK = '(func (export "peek") (param i32) (result i32) (i32.load8_u (local.get 0)))';

describe("a module with several memories", () => {
  const module = wat(`(module
    (memory $a (export "first") 1 1) (memory $b (export "second") 1 3)
    (func (export "a") (param i32) (i32.store $a offset=4 (local.get 0) (i32.const 1)))
    (func (export "b") (param i32) (result i32)
      (i64.store $b offset=8 (local.get 0) (i64.const 3))
      (i32.load16_u $b offset=8 (local.get 0)))
    (func (export "both") (param i32) (i32.store $a (local.get 0) (i32.load $b offset=8 (local.get 0))))
    (func (export "grow") (result i32) (memory.grow $b (i32.const 1))))`);

  it("is counted in memory 0 alone", () => {
    const watched = new Watched(module, EXACT);
    watched.call("a", 96);
    watched.call("b", 200);
    watched.call("both", 200);
    expect(watched.counts()).toEqual({ 96: 1, 200: 1 });
    expect(watched.info.notTracked).toEqual([
      "Only memory 0 of the module's 2 memories is recorded: accesses to memory 1 (second) are not counted.",
    ]);
  });

  it("does what it did, the growing of the others included", () => {
    expectTransparent(module, [
      ["b", 400],
      ["both", 400],
      ["grow"],
      ["b", 65536 + 8],
      ["grow"],
      ["grow"],
      ["a", 400],
    ]);
  });
});

describe("a memory that is imported", () => {
  const module = wat(`(module (import "host" "memory" (memory 1 4)) ${POKE} ${PEEK}
    (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))`);
  const host = (): Host => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 4 });
    return { imports: { host: { memory } }, state: { memory } };
  };

  it("stays the host's, and is counted", () => {
    expectTransparent(
      module,
      [
        ["poke", 100],
        ["peek", 100],
        ["grow", 2],
        ["poke", 190_000],
        ["grow", 5],
      ],
      { host },
    );
  });

  it("may be larger than the module asks for", () => {
    const memory = new WebAssembly.Memory({ initial: 3, maximum: 4 });
    const watched = new Watched(module, EXACT, { host: { memory } });
    watched.call("poke", 150_000);
    memory.grow(1);
    watched.call("poke", 4 * 65536 - 1);
    expect(watched.counts()).toEqual({ 150000: 1, [4 * 65536 - 8]: 1 });
  });

  it("may be two: the first one is counted", () => {
    const two = wat(`(module (import "host" "a" (memory $a 1 1)) (import "host" "b" (memory $b 1 1))
      (func (export "run") (i32.store $a (i32.const 64) (i32.const 1)) (i32.store $b (i32.const 128) (i32.const 1))))`);
    const memory = () => new WebAssembly.Memory({ initial: 1, maximum: 1 });
    const watched = new Watched(two, EXACT, { host: { a: memory(), b: memory() } });
    watched.call("run");
    expect(watched.counts()).toEqual({ 64: 1 });
  });
});

describe("a memory that grows", () => {
  const module = wat(`(module (memory (export "memory") 1 6) ${POKE} ${PEEK}
    (func (export "size") (result i32) (memory.size))
    (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
    (func (export "growAndPoke") (param i32) (drop (memory.grow (i32.const 1))) (i32.store (local.get 0) (i32.const 1))))`);

  it("inside the program, is counted to its end", () => {
    const calls: Call[] = [
      ["size"],
      ["poke", 65535],
      ["grow", 1],
      ["size"],
      ["poke", 131071],
      ["growAndPoke", 131072],
    ];
    const { results } = expectTransparent(module, [
      ...calls,
      ["grow", 3],
      ["peek", 6 * 65536 - 1],
      ["grow", 1],
      ["size"],
    ]);
    expect(results.slice(-2)).toEqual(["-1", "6"]);
    expectTransparent(module, [...calls, ["poke", 6 * 65536]]);
  });

  it("by JavaScript between two calls, is counted to its end", () => {
    const watched = new Watched(module, EXACT);
    const memory = watched.exports.memory as unknown as WebAssembly.Memory;
    expect(() => watched.call("poke", 65536)).toThrow("memory access out of bounds");
    memory.grow(5);
    watched.call("poke", 6 * 65536 - 1);
    expect([watched.call("peek", 6 * 65536 - 1), watched.call("size")]).toEqual([7, 6]);
    expect(watched.counts()).toEqual({ [6 * 65536 - 8]: 2 });
  });

  it("without a bound, is counted wherever it gets to", () => {
    const unbounded = wat(`(module (memory (export "memory") 1) ${POKE} ${PEEK})`);
    const watched = new Watched(unbounded, MERGED);
    expect(watched.info.layout?.coveredBytes).toBe(2 ** 32);
    (watched.exports.memory as unknown as WebAssembly.Memory).grow(1000);
    watched.call("poke", 1001 * 65536 - 1);
    const last = (1001 * 65536) / 8 - 1;
    expect([watched.words[last], watched.words[last - 1]]).toEqual([2, 0]);
  });
});

describe("a module without a memory", () => {
  it("is left as it is, but for the section that says so", () => {
    const module = wat('(module (func (export "f") (result i32) (i32.const 5)))');
    const { bytes, info } = instrument(module, {});
    expect(info.layout).toBeUndefined();
    expect(Buffer.from(bytes.subarray(0, module.length))).toEqual(Buffer.from(module));
    expect(WebAssembly.Module.exports(new WebAssembly.Module(bytes as BufferSource))).toHaveLength(1);
  });
});

describe("a 64-bit memory", () => {
  const module = wat(`(module (memory (export "memory") i64 1 2)
    (func (export "poke") (param i64) (i32.store offset=4 (local.get 0) (i32.const 7)))
    (func (export "peek") (param i64) (result i64) (i64.load8_s offset=5 align=1 (local.get 0)))
    (func (export "sum") (param $p i64) (param $n i64) (result i64) (local $s i64)
      (loop $more
        (local.set $s (i64.add (local.get $s) (i64.load (local.get $p))))
        (i64.store (local.get $p) (local.get $s))
        (local.set $p (i64.add (local.get $p) (i64.const 8)))
        (br_if $more (i64.ne (local.tee $n (i64.sub (local.get $n) (i64.const 1))) (i64.const 0))))
      (local.get $s))
    (func (export "far") (param i64) (i32.store offset=0x100000000 (local.get 0) (i32.const 7)))
    (func (export "grow") (param i64) (result i64) (memory.grow (local.get 0))))`);

  it("is counted by its 64-bit addresses", () => {
    const watched = new Watched(module, EXACT);
    watched.call("poke", 100n);
    watched.call("peek", 4000n);
    expect(watched.granules()).toEqual({ 104: { count: 1, reads: false }, 4000: { count: 1, reads: true } });
    expectTransparent(module, [
      ["poke", 8n],
      ["sum", 512n, 40n],
      ["grow", 1n],
      ["sum", 100_000n, 9n],
      ["peek", 600n],
    ]);
  });

  it("traps where it did", () => {
    const calls: Call[] = [
      ["poke", -1n],
      ["poke", 65536n],
      ["far", 0n],
      ["far", -(2n ** 32n)],
      ["poke", 2n ** 32n],
      ["peek", 2n ** 63n],
    ];
    expectTransparent(module, calls);
    const watched = new Watched(module, EXACT);
    for (const [name, at] of calls)
      expect(() => watched.call(name, at)).toThrow("memory access out of bounds");
    expect(watched.counts()).toEqual({});
  });

  it("larger than 4 GiB, is followed in its first 4 GiB and left alone above", () => {
    const large = wat(`(module (memory i64 65600 65600)
      (func (export "poke") (param i64) (i32.store (local.get 0) (i32.const 7)))
      (func (export "peek") (param i64) (result i32) (i32.load offset=8 (local.get 0)))
      (func (export "fill") (param i64 i64) (memory.fill (local.get 0) (i32.const 1) (local.get 1)))
      (func (export "copy") (param i64 i64 i64) (memory.copy (local.get 0) (local.get 1) (local.get 2))))`);
    const watched = new Watched(large, MERGED);
    const shadow = watched.instance.exports["memshade.memory"] as WebAssembly.Memory;
    const { slots, stack } = watched.info.layout as { slots: number; stack: number };
    const GIB4 = 2n ** 32n;
    for (const at of [GIB4, GIB4 + 1024n, 65600n * 65536n - 4n]) watched.call("poke", at);
    watched.call("peek", GIB4 - 8n);
    watched.call("fill", GIB4 + 64n, 2048n);
    watched.call("copy", GIB4 + 64n, GIB4 + 4096n, 100n);
    expect([...new Uint32Array(shadow.buffer, 0, 4096)].every((word) => word === 0)).toBe(true);
    expect([...new Uint32Array(shadow.buffer, slots, 4096)].every((word) => word === 0)).toBe(true);
    expect([...new Uint32Array(shadow.buffer, stack, 1024)].every((word) => word === 0)).toBe(true);
    watched.call("poke", 1024n);
    expect(new Uint32Array(shadow.buffer)[1024 / 8]).toBe(2);
  });
});
