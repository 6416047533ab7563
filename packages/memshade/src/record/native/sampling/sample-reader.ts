import { counted, groupDigits } from "../../../profile/model/counted.ts";
import { CPU_SCHEMA, CPU_VERSION, type CpuSamples } from "../../../profile/model/cpu.ts";
import type { ProcessModule } from "../collect/modules.ts";
import { Header, Place, THREAD_BYTES, Thread, WalkEnd } from "../layout.ts";
import { RING_BYTES, Sample, SamplePlace, Sampling } from "./layout.ts";

/** Samples of one process: data for the run, and messages while it runs. */
export class ProcessSamples {
  readonly #hz: number;
  readonly #reader: SampleReader;
  #moves = 0;

  constructor(hz: number, image: string) {
    this.#hz = hz;
    this.#reader = new SampleReader(image);
  }

  /**
   * Reads new samples. Call this often.
   * @returns sentences for the user
   */
  readFrom(memory: SampledMemory): string[] {
    this.#reader.readFrom(memory);
    const moves = memory.header(Sampling.moves);
    if (moves === this.#moves) return [];
    this.#moves = moves;
    return [moveInWords(memory)];
  }

  /** Returns the content of `cpu.json` for all samples so far. */
  file(memory: SampledMemory): CpuSamples {
    this.#reader.readFrom(memory);
    const { threads, stacks, rows, own, endedEarly, cut } = this.#reader.read;
    const inTime = rows.toSorted((a, b) => a.ms - b.ms);
    const missed = memory.u64(Sampling.missed);
    const refused = memory.u64(Sampling.refused);
    return {
      schema: CPU_SCHEMA,
      version: CPU_VERSION,
      hz: this.#hz,
      threads,
      stacks,
      samples: {
        ms: inTime.map(({ ms }) => ms),
        thread: inTime.map(({ thread }) => thread),
        stack: inTime.map(({ stack }) => stack),
        periods: inTime.map(({ periods }) => periods),
      },
      lost: missed + refused,
      own,
      endedEarly,
      notTracked: [
        ...lossInWords(missed, refused, rows.length + own, this.#hz),
        ...(own === 0
          ? []
          : [
              `${counted(own, "sample", "samples")} in the profiler's own code ${own === 1 ? "is" : "are"} left out.`,
            ]),
        ...(endedEarly === cut
          ? []
          : [
              `${counted(endedEarly - cut, "sample has an incomplete call path", "samples have incomplete call paths")}: the code has no unwind information.`,
            ]),
        ...(cut === 0
          ? []
          : [
              `${counted(cut, "sample has a stack", "samples have stacks")} deeper than the recorded limit: the outermost frames are missing.`,
            ]),
        ...(this.#moves === 0 ? [] : [`${capitalized(moveInWords(memory))}.`]),
        ...failureInWords(memory.header(Sampling.failure)),
      ],
    };
  }
}

function lossInWords(missed: number, refused: number, taken: number, hz: number): string[] {
  const words: string[] = [];
  if (missed > 0) {
    const isCoarse = missed > taken;
    words.push(
      `${groupDigits(missed)} of ${groupDigits(taken + missed)} samples ${missed === 1 ? "was" : "were"} lost: ` +
        (isCoarse
          ? `the system's clock is too coarse for ${hz}hz.`
          : "the system was late, or the program blocked signals. The next sample of the thread counts for them."),
    );
  }
  if (refused > 0)
    words.push(
      `${counted(refused, "sample was", "samples were")} lost because they came faster than they could be read.`,
    );
  return words;
}

function moveInWords(memory: SampledMemory): string {
  const signal = memory.header(Sampling.signal);
  const used = `the program uses signal ${memory.header(Sampling.taken)} itself`;
  return signal === 0
    ? `${used} and all other suitable signals: no more samples are taken`
    : `${used}: samples are taken by signal ${signal} instead`;
}

function failureInWords(errno: number): string[] {
  if (errno === 0) return [];
  return [`Some threads have no samples: the system gave them no timer (error ${errno}).`];
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Access to a process's memory for reading samples. */
export interface SampledMemory {
  header(field: number): number;
  u64(at: number): number;
  setU64(at: number, value: number): void;
  bytes(at: number, length: number): Buffer;
  write(at: number, bytes: Uint8Array): void;
  modules(): readonly ProcessModule[];
}

/** Samples of a process: stacks as a tree, and a row per sample in the order of the ring. */
export interface ReadSamples {
  threads: { id: number; name: string }[];
  stacks: { caller: number[]; site: number[] };
  rows: { ms: number; thread: number; stack: number; periods: number }[];
  own: number;
  endedEarly: number;
  cut: number;
}

const NONE = -1;
const SITES = 2 ** 32;
const NAME_BYTES = 16;
const NS_PER_MS = 1e6;
/** Precision of times: a microsecond. */
const PER_MS = 1e3;

/** Reads samples from the ring of a process, while it runs and after its end. */
class SampleReader {
  readonly read: ReadSamples = {
    threads: [],
    stacks: { caller: [], site: [] },
    rows: [],
    own: 0,
    endedEarly: 0,
    cut: 0,
  };
  /** Indices of stacks, by caller and site. */
  readonly #stacks = new Map<number, number>();
  /** Indices of threads, by their index in the process's table and their id. */
  readonly #threads = new Map<string, number>();
  readonly #image: string;
  /** Sites of memshade's own code. */
  #own = { start: 0, end: 0 };
  #modules = 0;

  /** @param image path of the preloaded image */
  constructor(image: string) {
    this.#image = image;
  }

  /** Reads new samples. Call this often, because threads without room lose samples. */
  readFrom(memory: SampledMemory): void {
    const head = memory.u64(Sampling.head);
    let tail = memory.u64(Sampling.tail);
    if (head === tail) return;
    this.#findImage(memory);
    const first = tail % RING_BYTES;
    const whole = memory.bytes(SamplePlace.ring + first, Math.min(head - tail, RING_BYTES - first));
    const rest = memory.bytes(SamplePlace.ring, head - tail - whole.length);
    const taken = Uint8Array.from(Buffer.concat([whole, rest]));
    const seen = new Set<number>();
    let at = 0;
    while (at < taken.length) {
      const bytes = new DataView(taken.buffer, at).getUint32(Sample.bytes, true);
      // A thread is writing this sample.
      if (bytes === 0) break;
      seen.add(this.#add(new DataView(taken.buffer, at, bytes)));
      at += bytes;
    }
    // Clears the samples, because the length of an unwritten sample must be 0.
    for (let remaining = at; remaining > 0; ) {
      const place = tail % RING_BYTES;
      const length = Math.min(remaining, RING_BYTES - place);
      memory.write(SamplePlace.ring + place, new Uint8Array(length));
      tail += length;
      remaining -= length;
    }
    memory.setU64(Sampling.tail, tail);
    for (const index of seen) this.#nameThread(memory, index);
  }

  /** Returns the index of the sample's thread in the process's table. */
  #add(sample: DataView): number {
    const word = (field: number): number => sample.getUint32(field, true);
    const [index, end] = [word(Sample.thread) & 0xffff, word(Sample.thread) >>> 16];
    const sites = Array.from({ length: word(Sample.frames) }, (_, i) => word(Sample.sites + 4 * i));
    if (sites.length > 0 && this.#isOwn(sites[0])) {
      this.read.own++;
      return index;
    }
    if (end !== WalkEnd.whole) this.read.endedEarly++;
    if (end === WalkEnd.cut) this.read.cut++;
    let stack = NONE;
    // Sites of hooks are left out: the program has called the allocator.
    for (const site of sites.reverse()) if (!this.#isOwn(site)) stack = this.#stackOf(stack, site);
    const ns = word(Sample.timeHigh) * SITES + word(Sample.time);
    const ms = Math.round((ns / NS_PER_MS) * PER_MS) / PER_MS;
    const thread = this.#threadOf(index, word(Sample.id));
    this.read.rows.push({ ms, thread, stack, periods: 1 + word(Sample.missed) });
    return index;
  }

  #isOwn(site: number): boolean {
    return site >= this.#own.start && site < this.#own.end;
  }

  #stackOf(caller: number, site: number): number {
    const key = (caller + 1) * SITES + site;
    let stack = this.#stacks.get(key);
    if (stack === undefined) {
      stack = this.read.stacks.site.push(site) - 1;
      this.read.stacks.caller.push(caller);
      this.#stacks.set(key, stack);
    }
    return stack;
  }

  #threadOf(index: number, id: number): number {
    const key = `${index} ${id}`;
    let thread = this.#threads.get(key);
    if (thread === undefined) {
      thread = this.read.threads.push({ id, name: "" }) - 1;
      this.#threads.set(key, thread);
    }
    return thread;
  }

  /** Reads the thread's name again, since threads are often named after they began. */
  #nameThread(memory: SampledMemory, index: number): void {
    const head = memory.bytes(Place.threads + index * THREAD_BYTES, Thread.name + NAME_BYTES);
    const thread = this.#threads.get(`${index} ${head.readUInt32LE(Thread.id)}`);
    if (thread === undefined) return;
    const name = head.subarray(Thread.name).toString("utf8");
    this.read.threads[thread].name = name.split("\0", 1)[0];
  }

  #findImage(memory: SampledMemory): void {
    const count = memory.header(Header.modules);
    if (count === this.#modules) return;
    this.#modules = count;
    this.#own = memory.modules().find(({ name }) => name === this.#image) ?? this.#own;
  }
}
