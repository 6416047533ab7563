import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { Window } from "../../../ground/bytes/window.ts";
import { readSectionOffsets, walkDumps } from "./headers.ts";
import { SectionReader } from "./section-reader.ts";

const NONE = -1;
const FEWEST_BUCKETS = 64;

interface Stack {
  readonly id: bigint;
  readonly hash: number;
  readonly offset: number;
  readonly depth: number;
}

/**
 * Yields the PCs of every stack of a checked raw profile in the order of llvm-profdata 22, which is the bucket order of
 * its map from ids to stacks. llvm-profdata numbers frames in this order, which is visible in indexed profiles of
 * version 2.
 */
export function* stacksInLlvmOrder(source: ByteSource): Generator<bigint[]> {
  let merged: StackMap | undefined;
  for (const map of mapsOfDumps(source))
    if (merged === undefined) merged = map;
    else for (const stack of map) merged.add(stack);
  const window = new Window(source);
  for (const { offset, depth } of merged ?? []) {
    const at = window.at(offset, 8 * depth);
    yield Array.from({ length: depth }, (_, index) => window.view.getBigUint64(at + 8 * index, true));
  }
}

function* mapsOfDumps(source: ByteSource): Generator<StackMap> {
  const window = new Window(source);
  for (const header of walkDumps(window)) {
    const { stackOffset } = readSectionOffsets(window, header);
    const [start, end] = [stackOffset, header.totalSize].map((at) => header.fileOffset + at) as [
      number,
      number,
    ];
    const section = new SectionReader(window, "stack section", start, end);
    const map = new StackMap();
    for (let remaining = section.readCount(16); remaining > 0; remaining--) {
      const id = section.readU64();
      const depth = Number(section.readU64());
      map.add({ id, hash: hashOf(id), offset: section.position, depth });
      section.skip(8 * depth);
    }
    yield map;
  }
}

/** Returns the low half of LLVM's hash of a 64-bit number: a product, with its high bits folded onto the low ones. */
function hashOf(id: bigint): number {
  const product = BigInt.asUintN(64, id * 0xbf58_476d_1ce4_e5b9n);
  return Number(BigInt.asUintN(32, product ^ (product >> 31n)));
}

/** Hash map with LLVM's layout: open addressing, probe steps that grow by one, at most three quarters full. */
class StackMap implements Iterable<Stack> {
  readonly #stacks: Stack[] = [];
  #buckets = new Int32Array(FEWEST_BUCKETS).fill(NONE);

  add(stack: Stack): void {
    if (this.#buckets[this.#bucketOf(stack)] !== NONE) return;
    const number = this.#stacks.push(stack) - 1;
    if (4 * this.#stacks.length >= 3 * this.#buckets.length) this.#grow();
    this.#buckets[this.#bucketOf(stack)] = number;
  }

  *[Symbol.iterator](): Generator<Stack> {
    for (const number of this.#buckets) if (number !== NONE) yield this.#stacks[number]!;
  }

  #grow(): void {
    const old = this.#buckets;
    this.#buckets = new Int32Array(2 * old.length).fill(NONE);
    for (const number of old)
      if (number !== NONE) this.#buckets[this.#bucketOf(this.#stacks[number]!)] = number;
  }

  /** Returns the bucket that holds an id, or the free bucket for it. */
  #bucketOf({ id, hash }: Stack): number {
    const mask = this.#buckets.length - 1;
    let bucket = hash & mask;
    for (let step = 1; ; step++) {
      const number = this.#buckets[bucket]!;
      if (number === NONE || this.#stacks[number]!.id === id) return bucket;
      bucket = (bucket + step) & mask;
    }
  }
}
