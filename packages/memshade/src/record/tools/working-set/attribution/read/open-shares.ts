import { bucketOf, FRESH_BUCKET } from "../../../../../profile/model/working-set/working-set-series.ts";
import { Key, OWNED_BYTES, Owned } from "../layout.ts";
import type { AttributionLayout } from "../memory-plan.ts";

const LINE_BYTES = 64;
/** Differences below this are rounding. */
const LEAST_WEIGHT = 1e-9;
/** Stands for a byte that was not touched: no key of an owner. */
export const UNTOUCHED = 0;

/** What was touched in an interval before the open one: its bytes as bits, the first 32 and the others. */
interface Earlier {
  key: number;
  bucket: number;
  low: number;
  high: number;
}

/**
 * What a line adds to the shares of its keys at all time scales if the open interval ends now; of the same meaning as
 * `tools/working-set/attribution/assembly/owned.ts`, which renews what it knows of the line too.
 */
export class OpenShares {
  readonly #view: DataView;
  readonly #owned: number;
  readonly #interval: number;
  readonly #nobody = new Uint32Array(LINE_BYTES);
  readonly #merged = new Uint32Array(LINE_BYTES);

  constructor(view: DataView, { owned }: AttributionLayout, interval: number) {
    this.#view = view;
    this.#owned = owned;
    this.#interval = interval;
  }

  /**
   * `owners`: keys of the bytes touched in the open interval. `region`: key of what no block has. `bucket`: of the line's
   * last touch before.
   */
  add(
    line: number,
    owners: Uint32Array,
    region: number,
    bucket: number,
    add: (key: number, bucket: number, weight: number) => void,
  ): void {
    const earlier = this.#earlier(line);
    // Nearly all lines have one owner, now and before.
    const sole = soleOwner(owners, region);
    if (sole !== undefined && areOf(sole, bucket, earlier)) {
      add(sole, bucket, 1);
      return;
    }
    const buckets = new Set([bucket, FRESH_BUCKET, ...earlier.map((entry) => entry.bucket)]);
    let from = 0;
    for (const to of [...buckets].sort((a, b) => a - b)) {
      const inside = earlier.filter((entry) => entry.bucket <= from);
      const weights = new Map<number, number>();
      this.#divide(owners, inside, region, 1, weights);
      if (from >= bucket) this.#divide(this.#nobody, inside, region, -1, weights);
      for (const [key, weight] of weights) {
        if (Math.abs(weight) < LEAST_WEIGHT) continue;
        add(key, to, weight);
        if (from !== 0) add(key, from, -weight);
      }
      from = to;
    }
  }

  #earlier(line: number): Earlier[] {
    const entries: Earlier[] = [];
    let number = line;
    do {
      const at = this.#owned + number * OWNED_BYTES;
      const low = this.#view.getUint32(at + Owned.mask, true);
      const high = this.#view.getUint32(at + Owned.mask + 4, true);
      if ((low | high) !== 0)
        entries.push({
          key: this.#view.getUint32(at + Owned.key, true),
          bucket: bucketOf(this.#interval, this.#view.getUint32(at + Owned.stamp, true) - 1),
          low,
          high,
        });
      number = this.#view.getUint32(at + Owned.next, true);
    } while (number !== 0);
    return entries;
  }

  /** Adds the parts of a line, by key. A byte is a block's until it is touched in another one. */
  #divide(
    now: Uint32Array,
    earlier: readonly Earlier[],
    region: number,
    sign: number,
    weights: Map<number, number>,
  ): void {
    const keys = this.#merged;
    keys.set(now);
    for (const { key, low, high } of earlier)
      for (let byte = 0; byte < LINE_BYTES; byte++) {
        if (((byte < 32 ? low : high) & (1 << (byte & 31))) === 0) continue;
        if (keys[byte] === UNTOUCHED) keys[byte] = isRegion(key) ? region : key;
        else if (isRegion(keys[byte]) && !isRegion(key)) keys[byte] = key;
      }
    let touched = 0;
    for (const key of keys) if (key !== UNTOUCHED) touched++;
    if (touched === 0) weights.set(region, (weights.get(region) ?? 0) + sign);
    for (const key of keys) if (key !== UNTOUCHED) weights.set(key, (weights.get(key) ?? 0) + sign / touched);
  }
}

/** The owner of all bytes that were touched; undefined: there are several. */
function soleOwner(owners: Uint32Array, region: number): number | undefined {
  let sole = UNTOUCHED;
  for (const key of owners) {
    if (key === UNTOUCHED || key === sole) continue;
    if (sole !== UNTOUCHED) return undefined;
    sole = key;
  }
  return sole === UNTOUCHED ? region : sole;
}

/** Whether all that was touched before is of one key, and some as recent as the line itself. */
function areOf(sole: number, bucket: number, earlier: readonly Earlier[]): boolean {
  let newest = FRESH_BUCKET;
  for (const entry of earlier) {
    if (entry.key !== sole) return false;
    newest = Math.min(newest, entry.bucket);
  }
  return newest === bucket;
}

function isRegion(key: number): boolean {
  return key >= Key.stack && key <= Key.heap;
}
