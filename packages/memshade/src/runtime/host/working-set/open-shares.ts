import type { AttributionLayout } from "../../../instrument/index.ts";
import { bucketOf, FRESH_BUCKET } from "../../../model/working-set-series.ts";
import { AttributionKey, OWNED_BYTES, Owned } from "./attribution-offsets.ts";

const LINE_BYTES = 64;
/** Differences below this are rounding. */
const LEAST_WEIGHT = 1e-9;

/** Whose each byte of a line is: a key, or undefined for a byte that was not touched. */
type Owners = readonly (number | undefined)[];

/** What was touched in an interval before the open one. */
interface Earlier {
  key: number;
  bucket: number;
  has(byte: number): boolean;
}

/**
 * What a line adds to the shares of its keys at all time scales if the open interval ends now; of the same meaning as
 * `runtime/shadow/assembly/attribution/owned.ts`, which renews what it knows of the line too.
 */
export class OpenShares {
  readonly #view: DataView;
  readonly #owned: number;
  readonly #interval: number;

  constructor(view: DataView, { owned }: AttributionLayout, interval: number) {
    this.#view = view;
    this.#owned = owned;
    this.#interval = interval;
  }

  /**
   * `owners`: of the bytes touched in the open interval. `region`: key of what no block has. `bucket`: of the line's last
   * touch before.
   */
  add(
    line: number,
    owners: Owners,
    region: number,
    bucket: number,
    add: (key: number, bucket: number, weight: number) => void,
  ): void {
    const earlier = this.#earlier(line);
    const sole = owners.find((key) => key !== undefined) ?? region;
    // Nearly all lines have one owner, now and before.
    if (
      owners.every((key) => key === undefined || key === sole) &&
      earlier.every(({ key }) => key === sole) &&
      Math.min(FRESH_BUCKET, ...earlier.map((entry) => entry.bucket)) === bucket
    ) {
      add(sole, bucket, 1);
      return;
    }
    const buckets = new Set([bucket, FRESH_BUCKET, ...earlier.map((entry) => entry.bucket)]);
    let from = 0;
    for (const to of [...buckets].sort((a, b) => a - b)) {
      const inside = earlier.filter((entry) => entry.bucket <= from);
      const weights = divide(merge(owners, inside, region), region);
      if (from >= bucket)
        for (const [key, weight] of divide(merge([], inside, region), region))
          weights.set(key, (weights.get(key) ?? 0) - weight);
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
      const mask = this.#view.getBigUint64(at + Owned.MASK, true);
      if (mask !== 0n)
        entries.push({
          key: this.#view.getUint32(at + Owned.KEY, true),
          bucket: bucketOf(this.#interval, this.#view.getUint32(at + Owned.STAMP, true) - 1),
          has: (byte) => ((mask >> BigInt(byte)) & 1n) === 1n,
        });
      number = this.#view.getUint32(at + Owned.NEXT, true);
    } while (number !== 0);
    return entries;
  }
}

/** Whose bytes are at a scale: a block's is its own until another block is touched there. */
function merge(now: Owners, earlier: readonly Earlier[], region: number): (number | undefined)[] {
  return Array.from({ length: LINE_BYTES }, (_, byte) => {
    if (now[byte] !== undefined && !isRegion(now[byte])) return now[byte];
    const before = earlier.filter(({ has }) => has(byte)).map(({ key }) => key);
    const isTouched = now[byte] !== undefined || before.length > 0;
    return before.find((key) => !isRegion(key)) ?? (isTouched ? region : undefined);
  });
}

function isRegion(key: number): boolean {
  return key >= AttributionKey.STACK_KEY && key <= AttributionKey.HEAP_KEY;
}

/** Parts of one line, by key. */
function divide(owners: Owners, region: number): Map<number, number> {
  const touched = owners.filter((key) => key !== undefined);
  if (touched.length === 0) return new Map([[region, 1]]);
  const parts = new Map<number, number>();
  for (const key of touched) parts.set(key, (parts.get(key) ?? 0) + 1 / touched.length);
  return parts;
}
