import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import type { BlockMerge } from "../merge/block-merge.ts";

/** Destination of a run's bytes, which are valid until `append` returns. */
export interface RunSink {
  append(bytes: Uint8Array): void;
}

const STACK = { context: 1, callSite: 2, flagBits: 2 } as const;

interface RunContext {
  readonly blocks: BlockMerge;
  readonly row: number;
  readonly histogram: BigUint64Array | undefined;
  /** Functions whose records have the context although they are not in its innermost inline chain. */
  readonly otherFunctions: Iterable<bigint>;
}

const PIECE_BYTES = 1 << 16;

/** Writes a run stack by stack, in the order of the walk, the empty one first. */
export class RunWriter {
  readonly #sink: RunSink;
  readonly #writer = new ByteWriter(PIECE_BYTES + (PIECE_BYTES >> 3));
  #depth = 0;

  constructor(sink: RunSink) {
    this.#sink = sink;
  }

  /** @param depth number of the stack's frames; with 0, `frame` is ignored */
  stack(depth: number, frame: number, isCallSite: boolean, context: RunContext | undefined): void {
    const flags = (context === undefined ? 0 : STACK.context) + (isCallSite ? STACK.callSite : 0);
    this.#writer.u32Leb(this.#depth + 1 - depth).u32Leb(frame * 2 ** STACK.flagBits + flags);
    this.#depth = depth;
    if (context !== undefined) this.#context(context);
    if (this.#writer.length >= PIECE_BYTES) this.#flush();
  }

  end(): void {
    this.#flush();
  }

  #context({ blocks, row, histogram, otherFunctions }: RunContext): void {
    const writer = this.#writer;
    writer.u64Leb(blocks.dependsOnOrder ? blocks.lastInputOf(row) + 1 : 0);
    for (let field = 0; field < blocks.fields.length; field++)
      writer.wordsLeb(blocks.lowOf(field, row), blocks.highOf(field, row));
    const guids = [...otherFunctions];
    writer.u32Leb(histogram?.length ?? 0).u32Leb(guids.length);
    for (const value of histogram ?? []) writer.u64Leb(value);
    for (const guid of guids) writer.u64Leb(guid);
  }

  #flush(): void {
    this.#sink.append(this.#writer.view());
    this.#writer.clear();
  }
}

export interface RunSource {
  readonly size: number;
  read(at: number, into: Uint8Array): void;
}

const WINDOW_BYTES = 1 << 16;
/**
 * Bytes that the window must hold before a stack is read, so that its numbers need no checks. Lists check each number.
 */
const STACK_BYTES = 1 << 9;
const NUMBER_BYTES = 10;
const NONE: readonly bigint[] = [];

/** Reads a run stack by stack, from the empty stack on. */
export class RunReader {
  depth = 0;
  frame = 0;
  hasContext = false;
  isCallSite = false;
  /** Context's block, two words per field, and the number of the last input. */
  readonly words: Uint32Array;
  lastInput = 0;
  histogram: BigUint64Array | undefined;
  otherFunctions: readonly bigint[] = NONE;
  readonly #source: RunSource;
  readonly #window: Uint8Array;
  #windowEnd = 0;
  #position = 0;
  #taken = 0;
  #low = 0;
  #high = 0;

  constructor(source: RunSource, fieldCount: number) {
    this.#source = source;
    this.#window = new Uint8Array(Math.min(WINDOW_BYTES, source.size));
    this.words = new Uint32Array(2 * fieldCount);
    this.next();
  }

  next(): boolean {
    this.#need(STACK_BYTES);
    if (this.#position === this.#windowEnd) return false;
    this.#number();
    this.depth += 1 - this.#low;
    this.#number();
    const flags = this.#low & (2 ** STACK.flagBits - 1);
    this.frame = this.#low >>> STACK.flagBits;
    this.isCallSite = (flags & STACK.callSite) !== 0;
    this.hasContext = (flags & STACK.context) !== 0;
    if (this.hasContext) this.#readContext();
    return true;
  }

  #readContext(): void {
    const { words } = this;
    this.#number();
    this.lastInput = this.#low + this.#high * 2 ** 32 - 1;
    for (let at = 0; at < words.length; at += 2) {
      this.#number();
      words[at] = this.#low;
      words[at + 1] = this.#high;
    }
    this.#number();
    const values = this.#low;
    this.#number();
    const functionCount = this.#low;
    this.histogram = values === 0 ? undefined : BigUint64Array.from({ length: values }, () => this.#wide());
    this.otherFunctions =
      functionCount === 0 ? NONE : Array.from({ length: functionCount }, () => this.#wide());
  }

  #wide(): bigint {
    this.#need(NUMBER_BYTES);
    this.#number();
    return (BigInt(this.#high) << 32n) | BigInt(this.#low);
  }

  #number(): void {
    const window = this.#window;
    let byte = window[this.#position++]!;
    this.#high = 0;
    if (byte < 0x80) {
      this.#low = byte;
      return;
    }
    let low = byte & 0x7f;
    for (let shift = 7; shift < 28; shift += 7) {
      byte = window[this.#position++]!;
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.#low = low;
        return;
      }
    }
    byte = window[this.#position++]!;
    this.#low = (low | (byte << 28)) >>> 0;
    let high = (byte & 0x7f) >>> 4;
    for (let shift = 3; byte >= 0x80; shift += 7) {
      byte = window[this.#position++]!;
      high |= (byte & 0x7f) << shift;
    }
    this.#high = high >>> 0;
  }

  /** Fills the window with at least `count` bytes, or up to the end of the source. */
  #need(count: number): void {
    const window = this.#window;
    if (this.#windowEnd - this.#position >= count || this.#taken === this.#source.size) return;
    window.copyWithin(0, this.#position, this.#windowEnd);
    const unread = this.#windowEnd - this.#position;
    const more = Math.min(window.length - unread, this.#source.size - this.#taken);
    this.#source.read(this.#taken, window.subarray(unread, unread + more));
    this.#taken += more;
    this.#position = 0;
    this.#windowEnd = unread + more;
  }
}

const DEEPEST = 2 ** 20;

interface TakenContext {
  readonly histogram: BigUint64Array | undefined;
  readonly otherFunctions: ReadonlySet<bigint>;
}

const NO_FUNCTIONS: ReadonlySet<bigint> = new Set();

/**
 * Walks through several runs at once and visits each stack once. Every run visits a stack after its caller. The next
 * stack is therefore the deepest one, and of equally deep stacks the one with the lowest frame.
 */
export class RunMerge {
  /** Number of frames of the current stack; initially the empty stack. */
  depth = 0;
  frame = 0;
  hasContext = false;
  readonly #readers: readonly RunReader[];
  readonly #ranks: Uint32Array;
  /** Sort key of the run's stack, by run; infinite at the end of the run. */
  readonly #keys: Float64Array;
  readonly #here: number[];

  constructor(readers: readonly RunReader[], ranks: Uint32Array) {
    this.#readers = readers;
    this.#ranks = ranks;
    this.#keys = new Float64Array(readers.length);
    this.#here = [...readers.keys()];
    this.hasContext = readers.some((reader) => reader.hasContext);
  }

  /** True if the current stack belongs to a call site in the last run. */
  get isCallSite(): boolean {
    const last = this.#readers.length - 1;
    return this.#here.at(-1) === last && this.#readers[last]!.isCallSite;
  }

  next(): boolean {
    const readers = this.#readers;
    const keys = this.#keys;
    const here = this.#here;
    const ranks = this.#ranks;
    for (let index = 0; index < here.length; index++) {
      const reader = readers[here[index]!]!;
      keys[here[index]!] = reader.next()
        ? (DEEPEST - reader.depth) * 2 ** 32 + ranks[reader.frame]!
        : Number.POSITIVE_INFINITY;
    }
    let least = Number.POSITIVE_INFINITY;
    here.length = 0;
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]!;
      if (key > least || key === Number.POSITIVE_INFINITY) continue;
      if (key < least) {
        here.length = 0;
        least = key;
      }
      here.push(index);
    }
    if (here.length === 0) return false;
    const { depth, frame } = readers[here[0]!]!;
    this.depth = depth;
    this.frame = frame;
    this.hasContext = false;
    for (let index = 0; index < here.length; index++)
      if (readers[here[index]!]!.hasContext) this.hasContext = true;
    return true;
  }

  /**
   * Stores the block of the current context into a row and overwrites the row's content.
   *
   * @returns the context's further data
   */
  take(blocks: BlockMerge, row: number): TakenContext {
    let isNew = true;
    let histogram: BigUint64Array | undefined;
    let otherFunctions: Set<bigint> | undefined;
    for (const index of this.#here) {
      const reader = this.#readers[index]!;
      if (!reader.hasContext) continue;
      blocks.addWide(reader.words, row, isNew, reader.lastInput);
      isNew = false;
      if (reader.histogram !== undefined) histogram = addHistograms(histogram, reader.histogram);
      for (const guid of reader.otherFunctions) otherFunctions = (otherFunctions ?? new Set()).add(guid);
    }
    return { histogram, otherFunctions: otherFunctions ?? NO_FUNCTIONS };
  }
}

/** Adds two histograms entry by entry. The result has the length of the longer one. */
export function addHistograms(accumulated: BigUint64Array | undefined, more: BigUint64Array): BigUint64Array {
  const [longer, shorter] =
    accumulated !== undefined && accumulated.length >= more.length
      ? [accumulated, more]
      : [more.slice(), accumulated];
  for (let index = 0; index < (shorter?.length ?? 0); index++) longer[index]! += shorter![index]!;
  return longer;
}
