import type { InstrumentOptions } from "../../../../../src/record/tools/index.ts";
import { wat } from "../../../../support/assemble.ts";
import { Profiled, type ProfiledOptions } from "../../../../support/profiled.ts";

/** Functions that allocate, each a calling context of its own. */
export const SITES = ["a", "b", "c", "d"] as const;
export type Site = (typeof SITES)[number];

function siteFunctions(site: Site): string {
  // The sum prevents the functions from being recognized as wrappers of the allocator.
  const via = (callee: string, parameters: number) => {
    const operands = Array.from({ length: parameters }, (_, i) => `(local.get ${i})`).join(" ");
    return `(func $${callee}_${site} (export "${callee}_${site}") ${"(param i32)".repeat(parameters)} (result i32)
      (i32.add (call $${callee} ${operands}) (global.get $zero)))`;
  };
  return [
    via("malloc", 1),
    via("calloc", 2),
    via("realloc", 2),
    via("aligned_alloc", 2),
    via("posix_memalign", 3),
  ].join("\n");
}

/**
 * A program whose allocator returns the global `next`, which the test sets. It touches no memory except
 * for the result of `posix_memalign`. The program stores and loads single bytes.
 */
const PROGRAM = wat(`(module
  (memory (export "memory") 4 4)
  (global $next (export "next") (mut i32) (i32.const 0))
  (global $zero (mut i32) (i32.const 0))
  (func $malloc (export "malloc") (param $size i32) (result i32) (global.get $next))
  (func $calloc (param $count i32) (param $size i32) (result i32) (global.get $next))
  (func $realloc (param $old i32) (param $size i32) (result i32) (global.get $next))
  (func $aligned_alloc (param $alignment i32) (param $size i32) (result i32) (global.get $next))
  (func $posix_memalign (param $out i32) (param $alignment i32) (param $size i32) (result i32)
    (if (i32.eqz (global.get $next)) (then (return (i32.const 12))))
    (i32.store (local.get $out) (global.get $next))
    (i32.const 0))
  (func $free (export "free") (param i32))
  ${SITES.map(siteFunctions).join("\n")}
  (func (export "release") (param i32) (call $free (local.get 0)) (global.set $zero (i32.const 0)))
  (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0)))
  (func (export "store") (param i32) (i32.store8 (local.get 0) (i32.const 1)))
  (func (export "put") (param i32 i32) (i32.store8 (local.get 0) (local.get 1)))
  (func (export "copy") (param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
  (func (export "fill") (param i32 i32) (memory.fill (local.get 0) (i32.const 1) (local.get 1)))
  (func (export "walk") (param $at i32) (param $words i32)
    (loop $more
      (i32.store (local.get $at) (i32.const 1))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $more (local.tee $words (i32.sub (local.get $words) (i32.const 1)))))))`);

const ALLOCATOR = ["malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "free"]
  .map((name) => `${name}=${name}`)
  .join(",");

/** Address at which `posix_memalign` stores its result. */
const OUT = 64;

/** A program whose allocator the test controls step by step. Addresses and sizes are bytes. */
export class ScriptedHeap {
  readonly profiled: Profiled;
  readonly bytes = PROGRAM;

  constructor(options: InstrumentOptions = {}, profiled: Omit<ProfiledOptions, "options"> = {}) {
    this.profiled = new Profiled(PROGRAM, {
      ...profiled,
      options: { allocator: ALLOCATOR, maxContexts: 64, maxBlocks: 256, ...options },
    });
  }

  /** @param address 0: the allocation fails */
  malloc(address: number, size: number, site: Site = "a"): number {
    return this.#allocate(address, `malloc_${site}`, size);
  }

  calloc(address: number, count: number, each: number, site: Site = "a"): number {
    return this.#allocate(address, `calloc_${site}`, count, each);
  }

  realloc(old: number, address: number, size: number, site: Site = "a"): number {
    return this.#allocate(address, `realloc_${site}`, old, size);
  }

  alignedAlloc(address: number, size: number, site: Site = "a"): number {
    return this.#allocate(address, `aligned_alloc_${site}`, 64, size);
  }

  /** Returns the function's own result: 0 for success. */
  posixMemalign(address: number, size: number, site: Site = "a"): number {
    return this.#allocate(address, `posix_memalign_${site}`, OUT, 64, size);
  }

  mallocFromHost(address: number, size: number): number {
    return this.#allocate(address, "malloc", size);
  }

  free(address: number): void {
    this.profiled.call("release", address);
  }

  load(address: number, times = 1): void {
    for (let i = 0; i < times; i++) this.profiled.call("load", address);
  }

  store(address: number, times = 1): void {
    for (let i = 0; i < times; i++) this.profiled.call("store", address);
  }

  /** Makes one access for every 8 bytes. */
  fill(address: number, bytes: number): void {
    this.profiled.call("fill", address, bytes);
  }

  put(address: number, byte: number): void {
    this.profiled.call("put", address, byte);
  }

  /** Makes one access to each of both blocks for every 8 bytes. */
  copy(to: number, from: number, bytes: number): void {
    this.profiled.call("copy", to, from, bytes);
  }

  /** Makes one access for every 4 bytes, in a loop. */
  walk(address: number, bytes: number): void {
    this.profiled.call("walk", address, bytes / 4);
  }

  #allocate(address: number, name: string, ...operands: number[]): number {
    (this.profiled.exports.next as unknown as WebAssembly.Global<"i32">).value = address;
    return this.profiled.call(name, ...operands) as number;
  }
}
