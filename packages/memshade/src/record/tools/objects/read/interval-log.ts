import { FRAME_HEADER_BYTES } from "../../../contexts/layout.ts";
import { CHANGE_BYTES, Change, COUNTER_BYTES, Control, INTERVAL_BYTES, Interval } from "../layout.ts";
import type { ObjectsLayout } from "../memory-plan.ts";
import { ObjectTables } from "./object-tables.ts";
import { type IntervalChanges, readIntervals } from "./read-intervals.ts";

/** Intervals kept; beyond them, neighbours are merged. */
const MOST_INTERVALS = 512;
/** Length of the first intervals, bytes allocated. */
const SHORTEST_BYTES = 4096;
/** Looking at a counter takes less than a hundredth of the time in which so many bytes are allocated, as a rule. */
const BYTES_PER_COUNTER = 256;

/** Writes down which counters of an instance went up in each interval, in the thread that runs it. */
export class IntervalLog {
  readonly #view: DataView;
  readonly #layout: ObjectsLayout;
  readonly #tables: ObjectTables;
  readonly #addresses: number[] = [];
  readonly #values: number[] = [];
  /** Frames whose counters are not among these yet begin here. */
  #framesEnd: number;
  #count = 0;

  constructor(memory: WebAssembly.Memory, layout: ObjectsLayout) {
    this.#view = new DataView(memory.buffer);
    this.#layout = layout;
    this.#tables = new ObjectTables(memory.buffer, layout);
    this.#framesEnd = layout.arena;
    // In frames are all counters of allocations, where there are frames.
    if (!layout.contexts)
      for (let number = 0; number < layout.counterCount; number++)
        this.#watch(layout.counters + number * COUNTER_BYTES);
    this.#view.setFloat64(Control.period, SHORTEST_BYTES, true);
  }

  /** Bytes until the next end. */
  get period(): number {
    return Math.max(this.#view.getFloat64(Control.period, true), this.#addresses.length * BYTES_PER_COUNTER);
  }

  /** An interval ends here. */
  end(): void {
    this.#watchNewFrames();
    const changes = new Map<number, number>();
    this.#addresses.forEach((address, index) => {
      const value = this.#tables.counterAt(address);
      if (value === this.#values[index]) return;
      changes.set(address, value - this.#values[index]);
      this.#values[index] = value;
    });
    while (this.#count >= MOST_INTERVALS || !this.#hasRoom(changes)) {
      if (this.#count < 2) return;
      this.#merge();
    }
    this.#append(changes);
  }

  #watchNewFrames(): void {
    const { framesEnd } = this.#tables;
    if (framesEnd <= this.#framesEnd) return;
    for (const { address, bytes } of this.#tables.frames(this.#framesEnd))
      for (let at = address + FRAME_HEADER_BYTES; at < address + bytes; at += COUNTER_BYTES) this.#watch(at);
    this.#framesEnd = framesEnd;
  }

  #watch(address: number): void {
    this.#addresses.push(address);
    this.#values.push(0);
  }

  #hasRoom({ size }: IntervalChanges): boolean {
    const { intervals, intervalsEnd } = this.#layout;
    const used = this.#view.getUint32(Control.intervals, true);
    return intervals + used + INTERVAL_BYTES + size * CHANGE_BYTES <= intervalsEnd;
  }

  #append(changes: IntervalChanges): void {
    const view = this.#view;
    const used = view.getUint32(Control.intervals, true);
    let at = this.#layout.intervals + used;
    view.setFloat64(at + Interval.changes, changes.size, true);
    at += INTERVAL_BYTES;
    for (const [address, amount] of changes) {
      view.setFloat64(at + Change.counter, address, true);
      view.setFloat64(at + Change.amount, amount, true);
      at += CHANGE_BYTES;
    }
    this.#count++;
    view.setUint32(Control.intervals, at - this.#layout.intervals, true);
  }

  /** Neighbours become one, and intervals twice as long. */
  #merge(): void {
    const view = this.#view;
    const before = readIntervals(view, this.#layout);
    view.setUint32(Control.intervals, 0, true);
    this.#count = 0;
    for (let i = 0; i < before.length; i += 2) {
      const changes = new Map(before[i]);
      for (const [address, amount] of before[i + 1] ?? [])
        changes.set(address, (changes.get(address) ?? 0) + amount);
      this.#append(changes);
    }
    view.setFloat64(Control.period, view.getFloat64(Control.period, true) * 2, true);
  }
}
