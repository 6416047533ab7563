import { describe, expect, it } from "vitest";
import { wat } from "../../../support/assemble.ts";
import { Profiled } from "../../../support/profiled.ts";

const MODULE = wat(`(module (memory 2 2)
  (global $next (export "next") (mut i32) (i32.const 0))
  (func $malloc (param $size i32) (result i32) (global.get $next))
  (func $free (param i32))
  (func (export "allocate") (param $size i32) (drop (call $malloc (local.get $size))))
  (func (export "release") (param i32) (call $free (local.get 0)))
  (func (export "spin") (param $at i32) (param $trips i32)
    (loop $again
      (i32.store (local.get $at) (local.get $trips))
      (br_if $again (local.tee $trips (i32.sub (local.get $trips) (i32.const 1)))))))`);
const LARGEST = 0x7fffffff;
const A = 1024;

/** A program whose counters are nearly full, as after a long run. */
function nearlyFull(exactHistogram: boolean) {
  const profiled = new Profiled(MODULE, {
    options: { allocator: "malloc=malloc,free=free", exactHistogram },
  });
  const counters = new Uint32Array(profiled.shadow.buffer);
  const next = profiled.exports.next as unknown as WebAssembly.Global<"i32">;
  return {
    profiled,
    allocate(address: number, size: number) {
      next.value = address;
      profiled.call("allocate", size);
    },
    prepare(address: number) {
      counters[address >>> 3] = (LARGEST - 10) * 2;
    },
  };
}

describe.each([false, true])("a counter that overflows in a loop (histogram: %s)", (histogram) => {
  it("goes on in its block", () => {
    const { profiled, allocate, prepare } = nearlyFull(histogram);
    allocate(A - 16, 8);
    allocate(A, 64);
    allocate(A + 64, 8);
    prepare(A + 40);
    profiled.call("spin", A + 40, 100);
    profiled.call("spin", A + 43, 3);
    const expected = {
      totalAccessCount: BigInt(LARGEST - 10 + 103),
      maxAccessCount: BigInt(LARGEST - 10 + 103),
    };
    expect(profiled.only().mib).toMatchObject(expected);
    expect(profiled.only().mib.minAccessCount).toBe(0n);
    for (const address of [A, A - 16, A + 64]) profiled.call("release", address);
    expect(profiled.only().mib).toMatchObject(expected);
    expect(profiled.heap).toMatchObject({ heapAccesses: LARGEST - 10 + 103, otherAccesses: 0 });
    allocate(A, 64);
    expect(profiled.only().mib.minAccessCount).toBe(0n);
  });

  it("goes on beside all blocks", () => {
    const { profiled, allocate, prepare } = nearlyFull(histogram);
    allocate(A, 64);
    for (const address of [A + 64, A - 8]) {
      prepare(address);
      profiled.call("spin", address, 100);
    }
    expect(profiled.only().mib.totalAccessCount).toBe(0n);
    expect(profiled.heap.otherAccesses).toBe(2 * (LARGEST - 10 + 100));
  });

  it("is told of when it comes close", () => {
    const { profiled, allocate, prepare } = nearlyFull(histogram);
    allocate(A, 64);
    expect(profiled.snapshot().notTracked).toEqual([]);
    prepare(A);
    expect(profiled.snapshot().notTracked.join()).toContain("more than 1,000,000,000 times");
  });
});

it("densities of more accesses than 32 bits hold do not lose their upper half", () => {
  const { profiled, allocate, prepare } = nearlyFull(false);
  allocate(A, 16);
  prepare(A);
  prepare(A + 8);
  profiled.call("spin", A, 100);
  profiled.call("spin", A + 8, 100);
  profiled.call("release", A);
  const accesses = 2n * BigInt(LARGEST - 10 + 100);
  const density = (accesses * 100n) / 16n;
  expect(profiled.only().mib).toMatchObject({
    totalAccessCount: accesses,
    totalAccessDensity: density,
    maxAccessDensity: Number(BigInt.asUintN(32, density)),
    totalLifetimeAccessDensity: density * 1000n,
  });
});
