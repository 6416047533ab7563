import { entryOf } from "../../ground/bytes/entries.ts";
import { NONE } from "./indices.ts";

/** Quantity of one column of a sample's values, in the words of pprof: `samples/count`, `space/bytes`. */
export interface ValueType {
  readonly type: string;
  readonly unit: "count" | "bytes" | "nanoseconds";
  readonly says?: string | undefined;
}

export interface SampleModule {
  readonly name: string;
  readonly path?: string | undefined;
  readonly buildId?: string | undefined;
  /** Address range `[start, end)` of the module's frames. */
  readonly start: number;
  readonly end: number;
}

/** Function at a code position; several frames share an address if functions were inlined. */
export interface SampleFrame {
  /** Readable name; a hexadecimal address if unknown. */
  readonly function: string;
  /** Linker's name. */
  readonly linkageName?: string | undefined;
  /** Source position, and the line on which the function begins. */
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly startLine?: number | undefined;
  /** Address inside the module; for callers, at the call instead of after it. */
  readonly address?: number | undefined;
  /** Index of the module. */
  readonly module?: number | undefined;
  /** True if inlined into the next outer function. */
  readonly inlined?: boolean | undefined;
  /** Language of code that is neither machine code nor wasm. */
  readonly language?: "JavaScript" | undefined;
  /** Name of the code's library; undefined for the program's own code. */
  readonly library?: string | undefined;
}

export interface SampleThread {
  /** Numbers of the process and of the thread. */
  readonly pid: number;
  readonly tid: number;
  /** Name of the thread. */
  readonly name: string;
}

/**
 * Weighted call stacks, of a sampled profile or of one to be shown in that form. Stacks are a tree as in {@link
 * HeapProfile}: callers precede callees.
 */
export interface SampleProfile {
  readonly name: string;
  readonly valueTypes: readonly ValueType[];
  readonly modules: readonly SampleModule[];
  readonly threads: readonly SampleThread[];
  readonly frames: readonly SampleFrame[];
  readonly stackPrefix: readonly number[];
  readonly stackFrame: readonly number[];
  readonly samples: SampleColumns;
  /** Amounts over time beside the samples; all by one clock. */
  readonly counters?: readonly CounterTrack[] | undefined;
  readonly history?: StackTrack | undefined;
  readonly notes: readonly string[];
}

/** Amount over time, such as live bytes. */
export interface CounterTrack {
  /** Subject of the track, equal for related tracks: an instance of a module. */
  readonly group: string;
  readonly name: string;
  readonly unit: "bytes" | "count";
  readonly clock: string;
  /** Readings of the clock, ascending. */
  readonly times: readonly number[];
  /** Amount from each of these readings on. */
  readonly values: readonly number[];
}

/** Row per sample, in the order of time; `values` has one column per value type. */
export interface SampleColumns {
  readonly length: number;
  readonly stack: readonly number[];
  readonly thread: readonly number[];
  readonly values: readonly (readonly number[])[];
  /** Milliseconds from the first sample; absent if samples have no time. */
  readonly timeMs?: readonly number[] | undefined;
}

/** Amount by stack and time, on the clock of the counters, such as allocations by call path. */
export interface StackTrack {
  readonly name: string;
  readonly unit: "bytes" | "count";
  readonly times: readonly number[];
  readonly stacks: readonly number[];
  readonly values: readonly number[];
}

export interface SampleProfileOptions {
  name: string;
  valueTypes: readonly ValueType[];
  notes?: readonly string[];
  counters?: readonly CounterTrack[] | undefined;
}

/** Maps a prefix and a frame to the number of their stack: open addressing. */
class StackIndex {
  /** Slots of three words: prefix, frame, and the stack's number + 1; 0 for an empty slot. */
  #slots = new Int32Array(3 << 10);
  #count = 0;

  /** Returns the number of a known stack; otherwise assigns and returns `number`. */
  add(prefix: number, frame: number, number: number): number {
    const slot = this.#find(prefix, frame);
    const stored = this.#slots[slot + 2]!;
    if (stored !== 0) return stored - 1;
    this.#slots[slot] = prefix;
    this.#slots[slot + 1] = frame;
    this.#slots[slot + 2] = number + 1;
    if (6 * ++this.#count > this.#slots.length) this.#grow();
    return number;
  }

  #find(prefix: number, frame: number): number {
    const slots = this.#slots;
    const capacity = slots.length / 3;
    let place = (Math.imul(Math.imul(prefix, 0x9e3779b1) ^ frame, 0x85ebca6b) >>> 7) & (capacity - 1);
    for (;;) {
      const slot = 3 * place;
      if (slots[slot + 2] === 0 || (slots[slot] === prefix && slots[slot + 1] === frame)) return slot;
      place = (place + 1) & (capacity - 1);
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(2 * old.length);
    for (let slot = 0; slot < old.length; slot += 3)
      if (old[slot + 2] !== 0)
        this.#slots.set(old.subarray(slot, slot + 3), this.#find(old[slot]!, old[slot + 1]!));
  }
}

/** Builds a {@link SampleProfile} of distinct frames and stacks. */
export class SampleProfileBuilder {
  readonly #options: SampleProfileOptions;
  readonly #modules: SampleModule[] = [];
  readonly #threads: SampleThread[] = [];
  readonly #frames: SampleFrame[] = [];
  readonly #frameIndex = new Map<string, number>();
  /** Cache by frame object, because most frames are given repeatedly. */
  readonly #givenFrames = new WeakMap<SampleFrame, number>();
  readonly #prefix: number[] = [];
  readonly #frame: number[] = [];
  readonly #stacks = new StackIndex();
  readonly #stack: number[] = [];
  readonly #thread: number[] = [];
  readonly #values: number[][];
  readonly #timeMs: number[] = [];

  constructor(options: SampleProfileOptions) {
    this.#options = options;
    this.#values = options.valueTypes.map(() => []);
  }

  addModule(module: SampleModule): number {
    return this.#modules.push(module) - 1;
  }

  addThread(thread: SampleThread): number {
    return this.#threads.push(thread) - 1;
  }

  frame(frame: SampleFrame): number {
    return entryOf(this.#givenFrames, frame, () => this.#frameOf(frame));
  }

  #frameOf(frame: SampleFrame): number {
    const { function: name, linkageName, file, line, column, startLine, address, module } = frame;
    const { inlined, language, library } = frame;
    const key = JSON.stringify([
      name,
      linkageName,
      file,
      line,
      column,
      startLine,
      address,
      module,
      inlined === true,
      language,
      library,
    ]);
    return entryOf(this.#frameIndex, key, () => this.#frames.push(frame) - 1);
  }

  /** Returns the stack of `frame` called from `prefix`, which is {@link NONE} for an outermost frame. */
  stack(prefix: number, frame: number): number {
    const next = this.#prefix.length;
    const index = this.#stacks.add(prefix, frame, next);
    if (index !== next) return index;
    this.#frame.push(frame);
    this.#prefix.push(prefix);
    return index;
  }

  stackOf(frames: readonly SampleFrame[]): number {
    let stack: number = NONE;
    for (let i = frames.length - 1; i >= 0; i--) stack = this.stack(stack, this.frame(frames[i]!));
    return stack;
  }

  /** Adds a sample. `stack` is {@link NONE} for a sample without one; either all samples have a time or none has. */
  addSample(thread: number, stack: number, values: readonly number[], timeMs?: number): void {
    this.#thread.push(thread);
    this.#stack.push(stack);
    this.#values.forEach((column, i) => void column.push(values[i]!));
    if (timeMs !== undefined) this.#timeMs.push(timeMs);
  }

  finish(history?: StackTrack): SampleProfile {
    const { name, valueTypes, counters, notes = [] } = this.#options;
    const hasTimes = this.#timeMs.length > 0 && this.#timeMs.length === this.#stack.length;
    return {
      name,
      valueTypes,
      notes,
      counters,
      history,
      modules: this.#modules,
      threads: this.#threads,
      frames: this.#frames,
      stackPrefix: this.#prefix,
      stackFrame: this.#frame,
      samples: {
        length: this.#stack.length,
        stack: this.#stack,
        thread: this.#thread,
        values: this.#values,
        timeMs: hasTimes ? this.#timeMs : undefined,
      },
    };
  }
}

/** Sums samples of equal stacks, without threads and times; rows are in the order of first appearance. */
export function sumByStack({ samples, valueTypes }: SampleProfile): { stack: number; values: number[] }[] {
  const rows = new Map<number, number[]>();
  for (let row = 0; row < samples.length; row++) {
    const stack = samples.stack[row]!;
    const sums = entryOf(rows, stack, () => valueTypes.map(() => 0));
    for (let i = 0; i < sums.length; i++) sums[i]! += samples.values[i]![row]!;
  }
  return [...rows].map(([stack, values]) => ({ stack, values }));
}

/** Returns the frames of a stack, innermost first. */
export function framesOfSampleStack(profile: SampleProfile, stack: number): number[] {
  const frames: number[] = [];
  for (let at = stack; at !== NONE; at = profile.stackPrefix[at]!) frames.push(profile.stackFrame[at]!);
  return frames;
}
