import { ValueHistogram } from "./histogram.ts";
import { MissRatioCurve } from "./miss-ratio.ts";
import { COLD, ReuseDistances } from "./reuse-distance.ts";

/** Hashes and thresholds are below this. */
export const HASH_RANGE = 2 ** 24;

/** 24 bits of a line's number after a 32-bit finaliser: independent of the strides of addresses. */
export function hashLine(line: number): number {
  let h = line | 0;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  h ^= h >>> 16;
  return h >>> 8;
}

export interface ShardsOptions {
  /** Part of all lines that is sampled, in (0, 1]; where `mostLines` is given, the rate to start with. */
  rate: number;
  /** At most this many lines at a time; the rate falls as more are seen. */
  mostLines?: number;
  /** 24-bit hash of a line. */
  hash?: (line: number) => number;
}

/** What a sampled reference stream tells about the whole one. */
export interface ShardsProfile {
  /** All references, sampled or not. */
  references: number;
  /** Weight of the sampled references at the final rate. */
  sampled: number;
  /** Final rate. */
  rate: number;
  /** Distances scaled to the whole stream. */
  distances: ValueHistogram;
  cold: number;
}

/**
 * SHARDS: reuse distances of the lines whose hash lies below a threshold, scaled by the sampling rate. (Waldspurger et
 * al., Efficient MRC Construction with SHARDS, FAST '15.)
 */
export class ShardsRecorder {
  readonly #distances = new ReuseDistances();
  readonly #histogram = new ValueHistogram();
  readonly #mostLines: number;
  readonly #hash: (line: number) => number;
  /** Sampled lines by hash, only where their number is bounded. */
  readonly #linesByHash = new Map<number, number[]>();
  #heap: number[] = [];
  #lines = 0;
  #threshold: number;
  /** Weight of a reference sampled now: grows as the rate falls, so that earlier ones count for less. */
  #weight = 1;
  #references = 0;
  #sampled = 0;
  #cold = 0;

  constructor(options: ShardsOptions) {
    this.#threshold = Math.max(1, Math.round(options.rate * HASH_RANGE));
    this.#mostLines = options.mostLines ?? Number.POSITIVE_INFINITY;
    this.#hash = options.hash ?? hashLine;
  }

  reference(line: number): void {
    this.#references++;
    const hash = this.#hash(line);
    if (hash >= this.#threshold) return;
    this.#sampled += this.#weight;
    const distance = this.#distances.reference(line);
    if (distance === COLD) {
      this.#cold += this.#weight;
      this.#admit(line, hash);
    } else this.#histogram.add((distance * HASH_RANGE) / this.#threshold, this.#weight);
  }

  profile(): ShardsProfile {
    const distances = new ValueHistogram();
    for (const [distance, weight] of this.#histogram.entries())
      distances.add(distance, weight / this.#weight);
    return {
      references: this.#references,
      sampled: this.#sampled / this.#weight,
      rate: this.#threshold / HASH_RANGE,
      distances,
      cold: this.#cold / this.#weight,
    };
  }

  #admit(line: number, hash: number): void {
    if (this.#mostLines === Number.POSITIVE_INFINITY) return;
    const same = this.#linesByHash.get(hash);
    if (same !== undefined) same.push(line);
    else {
      this.#linesByHash.set(hash, [line]);
      pushLargest(this.#heap, hash);
    }
    this.#lines++;
    while (this.#lines > this.#mostLines) this.#lowerThreshold();
  }

  /** Drops the lines with the largest hash; what comes now counts for as much more. */
  #lowerThreshold(): void {
    const largest = popLargest(this.#heap);
    const dropped = this.#linesByHash.get(largest) as number[];
    this.#linesByHash.delete(largest);
    for (const line of dropped) this.#distances.remove(line);
    this.#lines -= dropped.length;
    this.#weight *= this.#threshold / largest;
    this.#threshold = largest;
  }
}

/**
 * The miss-ratio curve of a sampled stream. With `adjusted`, the difference between the expected and the actual number
 * of sampled references is added to the references of distance 0: a few hot lines in or out of the sample would shift
 * the whole curve otherwise.
 */
export function shardsCurve(profile: ShardsProfile, adjusted = true): MissRatioCurve {
  const distances = new ValueHistogram();
  for (const [distance, weight] of profile.distances.entries()) distances.add(distance, weight);
  let total = profile.sampled;
  if (adjusted) {
    const missing = profile.references * profile.rate - profile.sampled;
    distances.add(0, missing);
    total += missing;
  }
  return new MissRatioCurve(distances, profile.cold, total);
}

function pushLargest(heap: number[], value: number): void {
  let at = heap.push(value) - 1;
  while (at > 0) {
    const parent = (at - 1) >>> 1;
    if (heap[parent] >= value) break;
    heap[at] = heap[parent];
    at = parent;
  }
  heap[at] = value;
}

function popLargest(heap: number[]): number {
  const largest = heap[0];
  const value = heap.pop() as number;
  if (heap.length === 0) return largest;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && heap[child + 1] > heap[child]) child++;
    if (heap[child] <= value) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = value;
  return largest;
}
