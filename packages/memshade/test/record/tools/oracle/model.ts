// Definition of wasted accesses and working sets, byte by byte and as directly as possible. The model shares no code with the tools: events
// go in, counters come out.

export type Site = number;
type Writer = Site | "zero" | "init";

/** `I`: invalid; `F`: valid, and unread since it was written; `R`: valid, and read. */
type State = "I" | "F" | "R";

const NO_STORES = {
  stores: 0,
  written: 0,
  read: 0,
  overwritten: 0,
  deallocated: 0,
  exit: 0,
  silent: 0,
  silentBytes: 0,
  hostRead: 0,
  same: 0,
  overZero: 0,
  approximate: 0,
};
const NO_LOADS = {
  loads: 0,
  bytes: 0,
  silent: 0,
  redundant: 0,
  redundantBytes: 0,
  zeroBytes: 0,
  approximate: 0,
};
export type StoreCounts = typeof NO_STORES;
export type LoadCounts = typeof NO_LOADS;

interface Byte {
  value: number;
  state: State;
  writer: Writer | undefined;
  reader: Site | undefined;
  seen: number;
}

/** Size of the floats of an operand in bytes; undefined if it may be no float. */
export type FloatBytes = 4 | 8 | undefined;

const LINE = 64;
const TOLERANCE = 0.01;

/** One address space, and the state of its bytes. */
export class Model {
  readonly stores = new Map<Site, StoreCounts>();
  readonly loads = new Map<Site, LoadCounts>();
  /** "kind first second" → bytes. */
  readonly pairs = new Map<string, number>();
  readonly linesRead = new Set<number>();
  readonly linesWritten = new Set<number>();
  accesses = 0;
  readonly #bytes: Byte[] = [];
  /** True to count as the tool deadstores does. */
  readonly #compat: boolean;
  readonly #blocks = new Map<number, number>();
  #stack: number;

  constructor(size: number, stack: number, compat: boolean) {
    this.#compat = compat;
    this.#stack = stack;
    this.zero(size);
  }

  get size(): number {
    return this.#bytes.length;
  }

  /** Appends memory that the system has cleared. */
  zero(size: number): void {
    const [state, writer] = this.#compat ? (["I", undefined] as const) : (["F", "zero"] as const);
    for (let i = 0; i < size; i++) this.#bytes.push({ value: 0, state, writer, reader: undefined, seen: 0 });
  }

  /** A loader writes bytes here. */
  init(address: number, values: readonly number[]): void {
    values.forEach((value, i) => {
      const byte = this.#bytes[address + i];
      byte.value = value;
      if (!this.#compat) [byte.state, byte.writer] = ["F", "init"];
    });
  }

  contains(address: number, size: number): boolean {
    return address >= 0 && address + size <= this.size;
  }

  valuesAt(address: number, size: number): number[] {
    return this.#range(address, size).map(({ value }) => value);
  }

  load(site: Site, address: number, size: number, float?: FloatBytes): void {
    this.accesses++;
    this.#loadOf(site, address, size, float);
  }

  store(site: Site, address: number, values: readonly number[], float?: FloatBytes): void {
    this.accesses++;
    this.#storeOf(site, address, values, float);
  }

  /** @param stored the new values; undefined if a compare-exchange found another value */
  update(site: Site, address: number, size: number, stored: readonly number[] | undefined): void {
    this.accesses++;
    if (this.#compat) {
      this.#read(this.#range(address, size));
      this.#touch(this.linesRead, address, size);
      stored?.forEach((value, i) => {
        this.#bytes[address + i].value = value;
      });
    } else {
      this.#loadOf(site, address, size);
      if (stored !== undefined) this.#storeOf(site, address, stored);
    }
    // A compare-exchange takes its line for writing, even if it does not store.
    this.#touch(this.linesWritten, address, size);
  }

  copy(site: Site, to: number, from: number, size: number): void {
    this.accesses++;
    this.#loadOf(site, from, size);
    this.#storeOf(site, to, this.valuesAt(from, size));
  }

  /** The host reads for the program, or writes bytes that are not compared. */
  hostReads(address: number, size: number): void {
    this.#read(this.#range(address, size));
    this.#touch(this.linesRead, address, size);
  }

  hostWrites(site: Site, address: number, size: number): void {
    this.#overwrite(site, this.#range(address, size));
    this.#touch(this.linesWritten, address, size);
  }

  /** A host whose reads are unknown has control. */
  hostMayRead(): void {
    for (const byte of this.#bytes) {
      if (byte.state !== "F") continue;
      if (typeof byte.writer === "number") this.#storesOf(byte.writer).hostRead++;
      byte.state = "R";
    }
  }

  allocate(address: number, size: number): void {
    this.#end(address, size);
    this.#blocks.set(address, size);
  }

  /** The zeros are a store of the allocation's site. */
  allocateZeroed(site: Site, address: number, size: number): void {
    this.allocate(address, size);
    this.#overwrite(site, this.#range(address, size));
  }

  reallocate(old: number, address: number, size: number): void {
    const before = this.#blocks.get(old) ?? 0;
    const kept = Math.min(before, size);
    this.#blocks.delete(old);
    this.#blocks.set(address, size);
    if (address === old) {
      this.#end(address + kept, Math.max(before, size) - kept);
      return;
    }
    this.#end(address, size);
    if (!this.#compat)
      for (let i = 0; i < kept; i++) {
        const { state, writer, reader, seen } = this.#bytes[old + i];
        Object.assign(this.#bytes[address + i], { state, writer, reader, seen });
        Object.assign(this.#bytes[old + i], { state: "I", writer: undefined, reader: undefined });
      }
    this.#end(old, before);
  }

  free(address: number): void {
    this.#end(address, this.#blocks.get(address) ?? 0);
    this.#blocks.delete(address);
  }

  moveStack(to: number): void {
    this.#end(Math.min(this.#stack, to), Math.abs(this.#stack - to));
    this.#stack = to;
  }

  get stack(): number {
    return this.#stack;
  }

  exit(): void {
    for (const { state, writer } of this.#bytes)
      if (state === "F" && typeof writer === "number") this.#storesOf(writer).exit++;
  }

  #range(address: number, size: number): Byte[] {
    return this.#bytes.slice(address, address + size);
  }

  #touch(lines: Set<number>, address: number, size: number): void {
    for (let at = address; at < address + size; at++) lines.add(Math.floor(at / LINE));
  }

  #loadOf(site: Site, address: number, size: number, float?: FloatBytes): void {
    const bytes = this.#range(address, size);
    const counts = this.#loadsOf(site);
    counts.loads++;
    counts.bytes += size;
    counts.zeroBytes += bytes.filter(({ value }) => value === 0).length;
    if (size > 0 && bytes.every(({ state }) => state === "R")) counts.silent++;
    const haveReaders = bytes.every(({ reader }) => reader !== undefined);
    if (size > 0 && haveReaders && bytes.every(({ seen, value }) => seen === value)) {
      counts.redundant++;
      counts.redundantBytes += size;
      for (const { reader } of bytes) this.#pair(`redundant ${reader} ${site}`);
    } else if (
      haveReaders &&
      isNear(
        bytes.map(({ seen }) => seen),
        this.valuesAt(address, size),
        float,
      )
    )
      counts.approximate++;
    this.#read(bytes);
    for (const byte of bytes) [byte.reader, byte.seen] = [site, byte.value];
    this.#touch(this.linesRead, address, size);
  }

  #storeOf(site: Site, address: number, values: readonly number[], float?: FloatBytes): void {
    const bytes = this.#range(address, values.length);
    const counts = this.#storesOf(site);
    const valid = bytes.filter(({ state }) => state !== "I");
    const same = bytes.filter(({ state, value }, i) => state !== "I" && value === values[i]);
    counts.same += same.length;
    if (values.length > 0 && same.length === values.length) {
      counts.silent++;
      counts.silentBytes += values.length;
      if (bytes.every(({ writer }) => writer === "zero")) counts.overZero++;
      for (const { writer } of bytes) this.#pair(`silent ${writer} ${site}`);
    } else if (
      valid.length === values.length &&
      isNear(
        bytes.map(({ value }) => value),
        values,
        float,
      )
    )
      counts.approximate++;
    this.#overwrite(site, bytes);
    bytes.forEach((byte, i) => {
      byte.value = values[i];
    });
    this.#touch(this.linesWritten, address, values.length);
  }

  /** A store whose values are not compared. */
  #overwrite(site: Site, bytes: readonly Byte[]): void {
    const counts = this.#storesOf(site);
    counts.stores++;
    counts.written += bytes.length;
    for (const byte of bytes) {
      if (byte.state === "F" && typeof byte.writer === "number") {
        this.#storesOf(byte.writer).overwritten++;
        this.#pair(`overwritten ${byte.writer} ${site}`);
      }
      [byte.state, byte.writer] = ["F", site];
    }
  }

  #read(bytes: readonly Byte[]): void {
    for (const byte of bytes) {
      if (byte.state !== "F") continue;
      if (typeof byte.writer === "number") this.#storesOf(byte.writer).read++;
      byte.state = "R";
    }
  }

  /** The memory belongs to another block, or to none. */
  #end(address: number, size: number): void {
    for (const byte of this.#range(address, size)) {
      if (byte.state === "F" && typeof byte.writer === "number") this.#storesOf(byte.writer).deallocated++;
      [byte.state, byte.writer, byte.reader] = ["I", undefined, undefined];
    }
  }

  #pair(name: string): void {
    this.pairs.set(name, (this.pairs.get(name) ?? 0) + 1);
  }

  #storesOf(site: Site): StoreCounts {
    return countsOf(this.stores, site, NO_STORES);
  }

  #loadsOf(site: Site): LoadCounts {
    return countsOf(this.loads, site, NO_LOADS);
  }
}

/** True if two floats are nearly equal, but differ in their bits. */
function isNear(before: readonly number[], now: readonly number[], float: FloatBytes): boolean {
  if (float === undefined || before.every((value, i) => value === now[i])) return false;
  const [old, young] = [floatOf(before), floatOf(now)];
  if (!Number.isFinite(old) || !Number.isFinite(young)) return false;
  if (old === 0 || young === 0) return old === young;
  return Math.abs(young - old) <= TOLERANCE * Math.abs(old);
}

function floatOf(bytes: readonly number[]): number {
  const view = new DataView(Uint8Array.from(bytes).buffer);
  return bytes.length === 4 ? view.getFloat32(0, true) : view.getFloat64(0, true);
}

function countsOf<Counts extends object>(all: Map<Site, Counts>, site: Site, none: Counts): Counts {
  const known = all.get(site);
  if (known !== undefined) return known;
  const counts = { ...none };
  all.set(site, counts);
  return counts;
}
