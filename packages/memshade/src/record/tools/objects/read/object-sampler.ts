import { FRAME_HEADER_BYTES } from "../../../contexts/layout.ts";
import { type HostStackOf, stackNoter } from "../../working-set/read/note-stack.ts";
import {
  CHANGE_BYTES,
  Change,
  COUNTER_BYTES,
  Control,
  INTERVAL_BYTES,
  Interval,
  SAMPLE_BYTES,
  Sample,
  SampleState,
} from "../layout.ts";
import type { ObjectsLayout } from "../memory-plan.ts";
import { ObjectTables } from "./object-tables.ts";
import { type IntervalChanges, readIntervals } from "./read-intervals.ts";

/** Random numbers that are the same in every run: mulberry32. */
export class RandomNumbers {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) >>> 0;
  }

  /** Returns the next number, from 0 up to but excluding 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** Globals by which a module passes objects to its host. */
export interface ObjectGlobals {
  readonly "memshade.objects.countdown": WebAssembly.Global;
  readonly "memshade.objects.object": WebAssembly.Global;
  readonly "memshade.objects.entries": WebAssembly.Global;
}

interface Followed {
  /** Row in the table, −1 if the sample was dropped. */
  row: number;
  /**
   * Token that lives as long as the object, which is its key in a weak map. An object with a weak reference
   * stays live until the current job ends; the token takes this effect in place of the object.
   */
  readonly token: WeakRef<object>;
  /**
   * Weak reference to an object that nothing else refers to. If it survives a collection, the job in which
   * both were made is still running.
   */
  readonly job: WeakRef<object>;
}

const LONGEST_COUNTDOWN = 2 ** 30;

/**
 * Samples of an instance after new entries of the host whose callers are all noted. After these, one in
 * `STACKS_LATER` is noted.
 */
const STACKS_AT_FIRST = 16;
const STACKS_LATER = 32;

/** Samplers so far in this thread. Each has its own sequence of random numbers, the same in every run. */
let samplers = 0;

/** Samplers that follow objects. An object may outlive its instance. */
const following = new Set<ObjectSampler>();

/**
 * Follows single objects of an instance, in the thread that runs it, without keeping them alive. Writes the
 * state of each into the tool's memory.
 */
export class ObjectSampler {
  readonly #view: DataView;
  readonly #layout: ObjectsLayout;
  readonly #globals: ObjectGlobals;
  readonly #countdown: WebAssembly.Global;
  /** Undefined if the host's stacks are not recorded. */
  readonly #noteStack: (() => void) | undefined;
  readonly #random = new RandomNumbers(++samplers);
  readonly #tokens = new WeakMap<object, object>();
  readonly #registry = new FinalizationRegistry<Followed>((followed) => this.#died(followed));
  readonly #followed = new Set<Followed>();
  readonly #intervals: IntervalLog;
  /** Bytes until the next sample, and until the interval ends. */
  #untilSample: number;
  #untilInterval: number;
  /** Entries of the host at its last noted stack, and that stack. */
  #entries = -1;
  #stack = 0;
  /** Samples so far that followed a new entry of the host. */
  #taken = 0;
  /** Function that the module calls with an object. */
  readonly take: () => void;

  constructor(
    memory: WebAssembly.Memory,
    layout: ObjectsLayout,
    globals: ObjectGlobals,
    hostStackOf: HostStackOf | undefined,
  ) {
    this.#view = new DataView(memory.buffer);
    this.#layout = layout;
    this.#countdown = globals["memshade.objects.countdown"];
    this.#globals = globals;
    const { stacks, stacksEnd } = layout;
    if (hostStackOf !== undefined)
      this.#noteStack = stackNoter(
        memory,
        { stack: Control.stack, used: Control.stackNext, stacks, stacksEnd, calls: "" },
        hostStackOf,
      );
    this.take = () => this.#take();
    const view = this.#view;
    view.setFloat64(Control.mean, layout.meanBytes, true);
    view.setFloat64(Control.settled, -1, true);
    // The module may have allocated while it was instantiated.
    view.setFloat64(Control.allocated, layout.meanBytes - this.#countdown.value, true);
    this.#intervals = new IntervalLog(memory, layout);
    this.#untilSample = this.#distance();
    this.#untilInterval = this.#intervals.period;
    this.#countdown.value = this.#startCountdown();
  }

  /** Handles an object that has used up the countdown, for a sample, the end of an interval, or both. */
  #take(): void {
    const view = this.#view;
    const passed = view.getInt32(Control.loaded, true) - view.getInt32(Control.rest, true);
    const allocated = view.getFloat64(Control.allocated, true) + passed;
    view.setFloat64(Control.allocated, allocated, true);
    this.#untilSample -= passed;
    this.#untilInterval -= passed;
    if (this.#untilSample < 0) {
      this.#noteCallers();
      this.#add(view.getUint32(Control.site, true), view.getUint32(Control.size, true), allocated);
      this.#untilSample = this.#distance();
    }
    if (this.#untilInterval < 0) {
      this.#intervals.end();
      this.#untilInterval = this.#intervals.period;
    }
    view.setInt32(Control.next, this.#startCountdown() + 1, true);
  }

  /** Notes the host's stack for some samples only, because it takes longer than the rest of a sample. */
  #noteCallers(): void {
    if (this.#noteStack === undefined) return;
    const entries: number = this.#globals["memshade.objects.entries"].value;
    if (entries !== this.#entries) {
      this.#entries = entries;
      const isNoted = this.#taken < STACKS_AT_FIRST || this.#taken % STACKS_LATER === 0;
      this.#taken++;
      if (isNoted) this.#noteStack();
      this.#stack = isNoted ? this.#view.getUint32(Control.stack, true) : 0;
    }
    this.#view.setUint32(Control.stack, this.#stack, true);
  }

  #add(site: number, size: number, birth: number): void {
    const view = this.#view;
    if (view.getUint32(Control.samples, true) >= this.#layout.sampleCapacity) this.#giveUpHalf();
    const row = view.getUint32(Control.samples, true);
    const at = this.#rowAt(row);
    view.setUint32(at + Sample.site, site, true);
    view.setUint32(at + Sample.state, SampleState.taken, true);
    view.setFloat64(at + Sample.size, size, true);
    // An object is chosen if a point of a Poisson process falls into it.
    view.setFloat64(at + Sample.weight, 1 / -Math.expm1(-size / view.getFloat64(Control.mean, true)), true);
    view.setFloat64(at + Sample.birth, birth, true);
    view.setFloat64(at + Sample.death, 0, true);
    view.setUint32(at + Sample.stack, view.getUint32(Control.stack, true), true);
    view.setUint32(at + Sample.frame, view.getUint32(Control.frame, true), true);
    view.setUint32(Control.samples, row + 1, true);
    this.#follow(this.#globals["memshade.objects.object"].value as object, row);
  }

  #follow(object: object, row: number): void {
    const token = {};
    this.#tokens.set(object, token);
    const followed = { row, token: new WeakRef(token), job: new WeakRef({}) };
    this.#followed.add(followed);
    following.add(this);
    // A registered young object, and all objects reachable from it, stay until the next full collection. So
    // the token is registered instead: nothing is reachable from it.
    this.#registry.register(token, followed);
  }

  #died(followed: Followed): void {
    if (!this.#followed.delete(followed) || followed.row < 0) return;
    if (this.#followed.size === 0) following.delete(this);
    const view = this.#view;
    const at = this.#rowAt(followed.row);
    view.setFloat64(at + Sample.death, this.#now(), true);
    view.setUint32(at + Sample.state, SampleState.dead, true);
  }

  /**
   * Checks all objects after a garbage collection. The result is final, except for objects made in the
   * current job.
   */
  settle(): void {
    for (const followed of this.#followed) {
      if (followed.token.deref() === undefined) {
        this.#died(followed);
        continue;
      }
      const isKnown = followed.job.deref() === undefined;
      const state = isKnown ? SampleState.live : SampleState.unknown;
      this.#view.setUint32(this.#rowAt(followed.row) + Sample.state, state, true);
    }
    this.#view.setFloat64(Control.settled, this.#now(), true);
  }

  #now(): number {
    const view = this.#view;
    return (
      view.getFloat64(Control.allocated, true) + view.getInt32(Control.loaded, true) - this.#countdown.value
    );
  }

  /**
   * Drops each sample of the full table with a probability of one half. The others stand for twice as many,
   * and samples are half as frequent from now on.
   */
  #giveUpHalf(): void {
    const view = this.#view;
    const count = view.getUint32(Control.samples, true);
    const rows = new Int32Array(count).fill(-1);
    const table = new Uint8Array(view.buffer);
    let keptRows = 0;
    for (let row = 0; row < count; row++) {
      if (this.#random.next() < 0.5) continue;
      const from = this.#rowAt(row);
      const to = this.#rowAt(keptRows);
      table.copyWithin(to, from, from + SAMPLE_BYTES);
      view.setFloat64(to + Sample.weight, view.getFloat64(to + Sample.weight, true) * 2, true);
      rows[row] = keptRows++;
    }
    for (const followed of this.#followed) {
      followed.row = rows[followed.row];
      if (followed.row < 0) this.#followed.delete(followed);
    }
    view.setUint32(Control.samples, keptRows, true);
    view.setFloat64(Control.mean, view.getFloat64(Control.mean, true) * 2, true);
  }

  #distance(): number {
    const mean = this.#view.getFloat64(Control.mean, true);
    return Math.max(1, Math.round(-Math.log(1 - this.#random.next()) * mean));
  }

  #startCountdown(): number {
    const bytes = Math.min(LONGEST_COUNTDOWN, this.#untilSample, this.#untilInterval);
    this.#view.setInt32(Control.loaded, bytes, true);
    return bytes;
  }

  #rowAt(row: number): number {
    return this.#layout.samples + row * SAMPLE_BYTES;
  }
}

/** Most intervals that are kept; beyond that, neighbours are merged. */
const MOST_INTERVALS = 512;
/** Length of the first intervals, bytes allocated. */
const SHORTEST_BYTES = 4096;
/**
 * Bytes per counter in the shortest interval. Reading a counter usually takes less than a hundredth of the
 * time in which so many bytes are allocated.
 */
const BYTES_PER_COUNTER = 256;

/** Records the counters of an instance that changed in each interval, in the thread that runs it. */
class IntervalLog {
  readonly #view: DataView;
  readonly #layout: ObjectsLayout;
  readonly #tables: ObjectTables;
  readonly #addresses: number[] = [];
  readonly #values: number[] = [];
  /** Frames from this address on are not watched yet. */
  #framesEnd: number;
  #count = 0;

  constructor(memory: WebAssembly.Memory, layout: ObjectsLayout) {
    this.#view = new DataView(memory.buffer);
    this.#layout = layout;
    this.#tables = new ObjectTables(memory.buffer, layout);
    this.#framesEnd = layout.arena;
    // Frames, if there are any, hold all counters of allocations.
    if (!layout.contexts)
      for (let number = 0; number < layout.counterCount; number++)
        this.#watch(layout.counters + number * COUNTER_BYTES);
    this.#view.setFloat64(Control.period, SHORTEST_BYTES, true);
  }

  /** Length of the current interval, bytes. */
  get period(): number {
    return Math.max(this.#view.getFloat64(Control.period, true), this.#addresses.length * BYTES_PER_COUNTER);
  }

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

  /** Merges each pair of neighbours; intervals become twice as long. */
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
