import { UserError } from "../../../../ground/bytes/errors.ts";
import { LINE_BYTES } from "../../../../ground/bytes/sizes.ts";
import type { LocalityOptions } from "../../options.ts";
import { constantsOf, describedLayout } from "../../table-layout.ts";
import {
  BIN_BYTES,
  BLOCK_SHIFT,
  ENTRY_BYTES,
  FINE_BITS,
  SINGLE_BITS,
  SITE_BYTES,
  STATE_BYTES,
  WAITING_BYTES,
} from "./layout.ts";

/** Bins of a histogram of values up to 2^64. */
export const HISTOGRAM_BINS = 2 ** SINGLE_BITS + 2 ** FINE_BITS * (64 - SINGLE_BITS);
const STAMPS_PER_WORD = 64;
const WORDS_PER_BLOCK = 2 ** BLOCK_SHIFT / STAMPS_PER_WORD;
/** Counts of a block: a byte per word, 16 bits for each of eight parts of 16 words, and 32 bits for the block. */
const TREE_BYTES_PER_BLOCK = WORDS_PER_BLOCK + 2 * 8 + 4;
const MARK_WORD_BYTES = STAMPS_PER_WORD / 8;
const STAMPS_PER_ENTRY = 2;
const SPARE_STAMPS = 8192;
/** Hashes of lines are below this: 32 bits of the line times a multiplier. */
export const HASH_RANGE = 2 ** 32;
const GOLDEN_MULTIPLIER = 0x9e3779b1;
/** The golden ratio without its one. */
const GOLDEN_REST = 0.6180339887;
/** Up to this rate, a single comparison shows that neither of two neighbouring lines is sampled. */
const LARGEST_LINEAR_RATE = 1 / 8;
/** The limit is below this share of the steps of linear hashes, so that neighbours are never both sampled. */
const LINEAR_MARGIN = 0.9;
/** Size of the buffer of references that wait for the next poll: a power of two. */
export const BUFFER_BYTES = 1 << 22;
const SMALLEST_RATE = 1e-6;
const LARGEST_CACHE_BYTES = 2 ** 36;
const DEFAULT_RATE = 0.01;
const DEFAULT_CACHE_BYTES = 32 * 1024;

/** Addresses and sizes of the tables of `--locality`. `README.md` describes the tables. */
export type LocalityLayout = ReturnType<typeof planLocality>;

/** @throws UserError for options out of range */
export function planLocality(
  options: LocalityOptions,
  from: number,
  lines: number,
  accesses: number,
  clock: number,
) {
  const { cacheBytes = DEFAULT_CACHE_BYTES, rate = DEFAULT_RATE } = options;
  if (!(rate >= SMALLEST_RATE && rate <= 1))
    throw new UserError(`the sampling rate of the locality must be between ${SMALLEST_RATE} and 1`);
  if (!(cacheBytes >= LINE_BYTES && cacheBytes <= LARGEST_CACHE_BYTES))
    throw new UserError("the size of the cache must be between 64 bytes and 64 GiB");
  let end = from;
  const place = (bytes: number): number => {
    const at = end;
    end += Math.ceil(bytes / 64) * 64;
    return at;
  };
  const { limit, multiplier, linesShift } = hashing(rate);
  const entries = Math.ceil(lines / 2 ** linesShift) + 1;
  const stamps = STAMPS_PER_ENTRY * entries + SPARE_STAMPS;
  const treeWords = WORDS_PER_BLOCK * Math.ceil((stamps / STAMPS_PER_WORD + 1) / WORDS_PER_BLOCK);
  const siteCapacity = 2 ** Math.ceil(Math.log2(Math.max(1024, accesses * 2)));
  const histogram = () => place(HISTOGRAM_BINS * BIN_BYTES);
  const layout = {
    lines,
    entries: place(entries * ENTRY_BYTES),
    /** Base-2 logarithm of the number of lines per entry. At most one of these lines is followed. */
    linesShift,
    marks: place(treeWords * MARK_WORD_BYTES),
    tree: place((treeWords / WORDS_PER_BLOCK) * TREE_BYTES_PER_BLOCK),
    treeWords,
    distances: histogram(),
    times: histogram(),
    firsts: histogram(),
    sites: place(siteCapacity * SITE_BYTES),
    siteCapacity,
    buffer: place(BUFFER_BYTES + WAITING_BYTES),
    state: place(STATE_BYTES),
    endBytes: 0,
    /** A line's hash: the lower 32 bits of its number times this. */
    multiplier,
    /** Address of the working set's countdown. */
    clock,
    /** Lines whose hash is at most this are sampled. */
    limit,
    /** Size of the cache whose misses are counted per site. */
    cacheLines: Math.floor(cacheBytes / LINE_BYTES),
  };
  layout.endBytes = end;
  return layout;
}

/**
 * Returns bytes of tables per byte of program memory: entries of lines, with their stamps in the tree. Reading the tables at
 * the end of a run takes some 250 bytes more for each followed line: as much as 4 per byte at a rate of 1.
 */
export function localityBytesPerByte({ rate = DEFAULT_RATE }: LocalityOptions): number {
  const { linesShift } = hashing(rate);
  const bytesPerWord = MARK_WORD_BYTES + TREE_BYTES_PER_BLOCK / WORDS_PER_BLOCK;
  const perEntry = ENTRY_BYTES + (STAMPS_PER_ENTRY / STAMPS_PER_WORD) * bytesPerWord;
  return perEntry / (2 ** linesShift * LINE_BYTES);
}

function hashing(rate: number) {
  const limit = Math.max(1, Math.round(rate * HASH_RANGE)) - 1;
  const multiplier = hashMultiplier(rate);
  return { limit, multiplier, linesShift: Math.floor(Math.log2(leastGap(limit, multiplier))) };
}

/**
 * Returns the factor of a line's number for its hash. Multiples of a number that is far from simple fractions spread evenly
 * over every array, whatever its stride. Low rates use such a number slightly above the rate itself. The hashes for which a
 * line or the next one is sampled are then one range. Higher rates use the golden ratio.
 */
export function hashMultiplier(rate: number): number {
  if (rate > LARGEST_LINEAR_RATE) return GOLDEN_MULTIPLIER;
  return (Math.round(HASH_RANGE / (Math.floor(LINEAR_MARGIN / rate) - 1 + GOLDEN_REST)) | 1) >>> 0;
}

/** Returns the least distance of two lines whose hashes are both at most `limit`. */
function leastGap(limit: number, multiplier: number): number {
  for (let gap = 1, hash = multiplier; ; gap++, hash = (hash + multiplier) >>> 0)
    if (Math.min(hash, HASH_RANGE - hash) <= limit) return gap;
}

/** Values of the runtime's imported constants. */
export function localityConstants(
  layout: LocalityLayout,
  control: number,
  accesses: number,
): Record<string, number> {
  const { siteCapacity } = layout;
  return { ...constantsOf(layout), SITE_MASK: siteCapacity - 1, CONTROL: control, ACCESSES: accesses };
}

export const PREFIX = "locality.";

/** Returns the layout of the locality's tables from a module's description of the tool; undefined if it has none. */
export function localityLayoutOf(
  described: Readonly<Record<string, number | string | boolean>>,
): LocalityLayout | undefined {
  return describedLayout(PREFIX, described);
}
