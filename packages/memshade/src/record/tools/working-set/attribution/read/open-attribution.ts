import { LINE_BYTES } from "../../../../../ground/bytes/sizes.ts";
import {
  BUCKETS,
  bucketOf,
  FRESH_BUCKET,
} from "../../../../../profile/model/working-set/working-set-series.ts";
import { Control } from "../../layout.ts";
import type { WorkingSetLayout } from "../../memory-plan.ts";
import { Histories, intervalOf } from "../../read/histories.ts";
import { BLOCK_BYTES, Block, FREED_BYTES, Freed, Key, Kind, OWNED_BYTES, Owned } from "../layout.ts";
import type { AttributionLayout } from "../memory-plan.ts";

const GRANULE_BYTES = 8;
/** Mark of a byte that was touched in its current block. */
const TOUCHED = 1;
const KINDS = 4;

/** Sum over the lines of one interval: by key, kind, and the number of time scales at which the lines are new. */
export interface AttributionEntry {
  key: number;
  kind: number;
  bucket: number;
  weight: number;
}

/**
 * Attributes the lines of the open interval as `tools/working-set/attribution/assembly/snapshot.ts` would if it ended
 * now. Changes nothing. `lines`: number of lines of the program's memory.
 */
export function attributeOpenInterval(
  buffer: ArrayBufferLike,
  workingSet: WorkingSetLayout,
  layout: AttributionLayout,
  lines: number,
): AttributionEntry[] {
  return new OpenInterval(buffer, workingSet, layout).attribute(lines);
}

class OpenInterval {
  readonly #view: DataView;
  readonly #layout: AttributionLayout;
  readonly #workingSet: WorkingSetLayout;
  readonly #interval: number;
  readonly #histories: Histories;
  readonly #shares: OpenShares;
  /** Keys of the bytes of the current line, and 1 for bytes of live blocks. */
  readonly #keys = new Uint32Array(LINE_BYTES);
  readonly #isLive = new Uint8Array(LINE_BYTES);
  readonly #entries = new Map<number, AttributionEntry>();

  constructor(buffer: ArrayBufferLike, workingSet: WorkingSetLayout, layout: AttributionLayout) {
    this.#view = new DataView(buffer);
    this.#layout = layout;
    this.#workingSet = workingSet;
    this.#interval = this.#view.getUint32(workingSet.control + Control.interval, true);
    this.#histories = new Histories(buffer, workingSet, this.#interval);
    this.#shares = new OpenShares(this.#view, layout, this.#interval);
  }

  attribute(lines: number): AttributionEntry[] {
    const { written, both } = this.#workingSet;
    const { buffer } = this.#view;
    const planes = [0, written, both].map((at) => ({
      quads: new Int32Array(buffer, at, lines / 4),
      marks: new Uint8Array(buffer, at, lines),
    }));
    for (let line = 0; line < lines; line++) {
      // Four marks at a time, since nearly all of them are zero.
      if ((line & 3) === 0 && planes.every(({ quads }) => quads[line >> 2] === 0)) line += 3;
      else if (planes.some(({ marks }) => marks[line] !== 0)) this.#attributeLine(line);
    }
    return [...this.#entries.values()];
  }

  #add(key: number, kind: number, bucket: number, weight: number): void {
    const name = (key * KINDS + kind) * BUCKETS + bucket;
    const entry = this.#entries.get(name);
    if (entry === undefined) this.#entries.set(name, { key, kind, bucket, weight });
    else entry.weight += weight;
  }

  #u32(address: number): number {
    return this.#view.getUint32(address, true);
  }

  #bucketAt(stampAt: number): number {
    return bucketOf(this.#interval, intervalOf(this.#view.getUint16(stampAt, true)));
  }

  #attributeLine(line: number): void {
    const { firstTouch, fill, owners, touchers, covered, byteStamps } = this.#layout;
    const { read, written } = this.#histories.of(line);
    const bucket = Math.min(read, written);
    if (firstTouch) this.#add(this.#u32(touchers + line * 4), Kind.touch, bucket, 1);
    if (!fill && !owners) return;
    const isCovered = (line + 1) * LINE_BYTES <= covered;
    if (isCovered) this.#findOwners(line);
    else this.#keys.fill(UNTOUCHED);
    if (fill) this.#countBytes(byteStamps + line * LINE_BYTES * 2);
    if (!owners) return;
    const region = this.#regionKey(line);
    if (isCovered) this.#shares.add(line, this.#keys, region, bucket, this.#addShare);
    else this.#addShare(region, bucket, 1);
  }

  readonly #addShare = (key: number, bucket: number, weight: number): void =>
    this.#add(key, Kind.share, bucket, weight);

  #countBytes(stamps: number): void {
    const counts = new Uint8Array(BUCKETS);
    for (let byte = 0; byte < LINE_BYTES; byte++)
      if (this.#keys[byte] !== UNTOUCHED) counts[this.#bucketAt(stamps + byte * 2)]++;
    counts.forEach((count, bucket) => {
      if (count > 0) this.#add(Key.bytes, Kind.fill, bucket, count);
    });
  }

  #findOwners(line: number): void {
    const { bytes, owners, starts, firsts, heads, freed } = this.#layout;
    const base = line * LINE_BYTES;
    const marks = new Uint8Array(this.#view.buffer, bytes + base, LINE_BYTES);
    const region = this.#regionKey(line);
    const keys = this.#keys;
    for (let byte = 0; byte < LINE_BYTES; byte++) keys[byte] = marks[byte] === 0 ? UNTOUCHED : region;
    if (!owners) return;
    const isLive = this.#isLive.fill(0);
    this.#ownBytes(this.#u32(firsts + line * 4), base, marks);
    for (let start = base; start < base + LINE_BYTES; start += GRANULE_BYTES)
      this.#ownBytes(this.#u32(starts + (start / GRANULE_BYTES) * 4), base, marks);
    for (let number = this.#u32(heads + line * 4); number !== 0; ) {
      const entry = freed + number * FREED_BYTES;
      for (let byte = 0; byte < LINE_BYTES; byte++) {
        const isSet = (this.#view.getUint8(entry + Freed.mask + (byte >>> 3)) >>> (byte & 7)) & 1;
        if (isSet === 1 && isLive[byte] === 0) keys[byte] = this.#u32(entry + Freed.key);
      }
      number = this.#u32(entry + Freed.next);
    }
  }

  /** Sets the keys of the bytes at `base` that were touched in a live block. */
  #ownBytes(number: number, base: number, marks: Uint8Array): void {
    if (number === 0) return;
    const block = this.#layout.blocks + number * BLOCK_BYTES;
    const from = this.#u32(block + Block.address) - base;
    const to = Math.min(LINE_BYTES, from + this.#u32(block + Block.size));
    const key = this.#u32(block + Block.key);
    for (let byte = Math.max(0, from); byte < to; byte++) {
      if (marks[byte] !== TOUCHED || this.#isLive[byte] === 1) continue;
      this.#keys[byte] = key;
      this.#isLive[byte] = 1;
    }
  }

  #regionKey(line: number): number {
    const { control } = this.#workingSet;
    if (line >= this.#u32(control + Control.stackFrom) && line < this.#u32(control + Control.stackTo))
      return Key.stack;
    return line >= this.#u32(control + Control.heapFrom) ? Key.heap : Key.statics;
  }
}

const LEAST_WEIGHT = 1e-9;
/** Key of a byte that was not touched; no owner has it. */
const UNTOUCHED = 0;

/** Bytes of a line that were touched in an interval before the open one, as bits: the first 32 and the others. */
interface Earlier {
  key: number;
  bucket: number;
  low: number;
  high: number;
}

/**
 * Computes the changes of a line's shares at all time scales if the open interval ends now. Equivalent to
 * `tools/working-set/attribution/assembly/owned.ts`, but changes no table.
 */
class OpenShares {
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
   * `owners`: keys of the bytes touched in the open interval. `region`: key of bytes without a block. `bucket`: that of
   * the line's previous touch.
   */
  add(
    line: number,
    owners: Uint32Array,
    region: number,
    bucket: number,
    add: (key: number, bucket: number, weight: number) => void,
  ): void {
    const earlier = this.#earlier(line);
    const sole = soleOwner(owners, region);
    if (sole !== undefined && areOf(sole, bucket, earlier)) {
      add(sole, bucket, 1);
      return;
    }
    const buckets = new Set([bucket, FRESH_BUCKET, ...earlier.map((entry) => entry.bucket)]);
    let from = 0;
    for (const to of [...buckets].sort((a, b) => a - b)) {
      const entriesInside = earlier.filter((entry) => entry.bucket <= from);
      const weights = new Map<number, number>();
      this.#divide(owners, entriesInside, region, 1, weights);
      if (from >= bucket) this.#divide(this.#nobody, entriesInside, region, -1, weights);
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

  /** Adds the parts of a line by key. A byte belongs to its block until it is touched in another one. */
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

/** Returns the owner of all touched bytes; undefined if there are several. */
function soleOwner(owners: Uint32Array, region: number): number | undefined {
  let sole = UNTOUCHED;
  for (const key of owners) {
    if (key === UNTOUCHED || key === sole) continue;
    if (sole !== UNTOUCHED) return undefined;
    sole = key;
  }
  return sole === UNTOUCHED ? region : sole;
}

/** True if all earlier touches have one key, and some are as recent as the line itself. */
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
