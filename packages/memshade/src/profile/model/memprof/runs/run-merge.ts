import type { BlockMerge } from "../merge/block-merge.ts";
import type { RunReader } from "./run-reader.ts";

/** Above the depth of any stack. */
const DEEPEST = 2 ** 20;

/** See {@link RunMerge.take}. */
export interface TakenContext {
  readonly histogram: BigUint64Array | undefined;
  readonly otherFunctions: ReadonlySet<bigint>;
}

const NO_FUNCTIONS: ReadonlySet<bigint> = new Set();

/**
 * A walk through several runs at once, each stack once. All runs come to a stack after its caller: so those that have
 * gone deepest are first, and of them those with the lowest frame.
 */
export class RunMerge {
  /** Number of frames of the stack that the walk is at, at first the empty one. */
  depth = 0;
  /** Its innermost frame, as the runs number it. */
  frame = 0;
  hasContext = false;
  readonly #readers: readonly RunReader[];
  readonly #ranks: Uint32Array;
  /** By run: what its stack is ordered by; infinite at its end. */
  readonly #keys: Float64Array;
  /** The runs that have the stack that the walk is at, ascending. */
  readonly #here: number[];

  /** @param ranks of the frames, all different, from 0 */
  constructor(readers: readonly RunReader[], ranks: Uint32Array) {
    this.#readers = readers;
    this.#ranks = ranks;
    this.#keys = new Float64Array(readers.length);
    this.#here = [...readers.keys()];
    this.hasContext = readers.some((reader) => reader.hasContext);
  }

  /** Whether the stack that the walk is at is that of a call site in the last run. */
  get isCallSite(): boolean {
    const last = this.#readers.length - 1;
    return this.#here.at(-1) === last && this.#readers[last]!.isCallSite;
  }

  /** Goes on to the next stack. @returns false at the end */
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
   * Puts the block of the context that the walk is at into a row, whatever was there.
   *
   * @returns what belongs to it besides
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

/** The longer one, with the shorter one added entry by entry. */
export function addHistograms(known: BigUint64Array | undefined, more: BigUint64Array): BigUint64Array {
  const [longer, shorter] =
    known !== undefined && known.length >= more.length ? [known, more] : [more.slice(), known];
  for (let index = 0; index < (shorter?.length ?? 0); index++) longer[index]! += shorter![index]!;
  return longer;
}
