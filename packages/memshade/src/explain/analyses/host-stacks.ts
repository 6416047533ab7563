import {
  type ContextTable,
  GrowingMibColumns,
  type HeapProfile,
  mibAt,
  REACH_OF_KIND,
  SITE_FIELDS,
  type SiteColumns,
} from "../../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../../profile/model/indices.ts";
import type { Mib } from "../../profile/model/mib.ts";

/*
 * Attribution of unsampled entries. The callers of frequent host entries are sampled. Unsampled entries are attributed
 * to the sampled callers with the same path and stage, in proportion to their amounts. A context's cell is its path
 * inside the module, and the stage.
 */

/** Fields of MIBs that are sums over blocks. The others describe single blocks and are copied. */
const MIB_SUMS = [
  "allocCount",
  "totalAccessCount",
  "totalSize",
  "totalLifetime",
  "numMigratedCpu",
  "numLifetimeOverlaps",
  "numSameAllocCpu",
  "numSameDeallocCpu",
  "totalAccessDensity",
  "totalLifetimeAccessDensity",
] as const satisfies readonly (keyof Mib)[];

/** Call path of a context as frame numbers, innermost first. */
interface Path {
  inner: number[];
  /** Frames in the host, up to the next call of a module. */
  host: number[];
  outer: number[];
}

interface Row {
  /** Number of the context in the original profile. */
  context: number;
  path: Path;
  mib: Mib;
  site: Record<string, number | Figures | undefined>;
  isEstimated: boolean;
  variances?: ReadonlyMap<string, number>;
}

/** Block count field of each byte field. Whole figures precede their parts. */
const BLOCKS_OF: Readonly<Record<string, string>> = {
  peakBytes: "peakBlocks",
  neverAccessedBytes: "neverAccessed",
  writtenNeverReadBytes: "writtenNeverRead",
  ...Object.fromEntries(Object.values(REACH_OF_KIND).map(([bytes, blocks]) => [bytes, blocks])),
  suppressedBytes: "suppressedBlocks",
};

const WHOLE_OF: Readonly<Record<string, string>> = {
  ...each("allocCount", ["peakBlocks", "neverAccessed", "writtenNeverRead", "temporary"]),
  ...each("allocCount", ["numMigratedCpu", "numLifetimeOverlaps", "numSameAllocCpu", "numSameDeallocCpu"]),
  ...each("totalSize", ["peakBytes", "neverAccessedBytes", "writtenNeverReadBytes"]),
  ...each("liveBlocks", [...Object.values(REACH_OF_KIND).map(([, blocks]) => blocks), "suppressedBlocks"]),
  ...each("liveBytes", [...Object.values(REACH_OF_KIND).map(([bytes]) => bytes), "suppressedBytes"]),
  ...each("liveBlocks", ["lateLostBlocks", "settledLostBlocks"]),
  ...each("stillReachableBlocks", ["lateReachableBlocks", "idleReachableBlocks", "doneReachableBlocks"]),
  granulesTouched: "granules",
  "capacity.blocks": "allocCount",
  "capacity.bytes": "totalSize",
  "capacity.unusedBytes": "capacity.bytes",
  "growth.usedBytes": "growth.finalBytes",
  "collected.blocks": "allocCount",
  "collected.bytes": "totalSize",
  "collected.lifetime": "totalLifetime",
  "keptAfterUse.draggedByteTime": "keptAfterUse.byteTime",
  "keptAfterUse.lateBlocks": "keptAfterUse.blocks",
  "keptAfterUse.lateBytes": "keptAfterUse.bytes",
  "keptAfterUse.lateFollowed": "keptAfterUse.followed",
  "keptAfterUse.lateByteWork": "keptAfterUse.byteWork",
  "keptAfterUse.lateUsedByteWork": "keptAfterUse.lateByteWork",
};

/**
 * Prefix of the drag figures. Followed blocks are a separate sample, of which few come from the sampled calls of one
 * stage.
 */
const FOLLOWED = "keptAfterUse.";
/** Fields that the followed blocks represent. */
const STANDING_FOR: Readonly<Record<string, string>> = {
  [`${FOLLOWED}blocks`]: "allocCount",
  [`${FOLLOWED}bytes`]: "totalSize",
};

/**
 * Groups of disjoint figures: a block counts in at most one figure of a group, so their sum is limited by the whole.
 */
const APART: readonly (readonly string[])[] = [
  ["neverAccessed", "writtenNeverRead"],
  ["neverAccessedBytes", "writtenNeverReadBytes"],
  [...Object.values(REACH_OF_KIND).map(([, blocks]) => blocks), "suppressedBlocks"],
  [...Object.values(REACH_OF_KIND).map(([bytes]) => bytes), "suppressedBytes"],
];

const ESTIMATED_FIELDS: readonly string[] = [
  ...["allocCount", "totalSize", "temporary", ...SITE_FIELDS],
  ...[`${FOLLOWED}lateBlocks`, `${FOLLOWED}lateBytes`],
];

/** Block count field that gives the sample size of a field, if the field is no number of blocks. */
const SAMPLED_BLOCKS: Readonly<Record<string, string>> = {
  ...BLOCKS_OF,
  totalSize: "allocCount",
  liveBytes: "liveBlocks",
  ...each("allocCount", ["granules", "granulesTouched", "reallocations"]),
  ...each("liveBlocks", ["behindLostBytes", "behindLostBlocks", "lateBehindBlocks"]),
  ...each(`${FOLLOWED}lateFollowed`, [`${FOLLOWED}lateBlocks`, `${FOLLOWED}lateBytes`]),
};

function each(whole: string, parts: readonly string[]): Record<string, string> {
  return Object.fromEntries(parts.map((part) => [part, whole]));
}

type Figures = Readonly<Record<string, number>>;

/** Names of figures that describe a single block or chain. */
const EXTREMES = /^(most|largest|smallest|min|max|longest|shortest)/;

/**
 * Returns a profile in which unsampled entries have the callers of sampled ones. Their contexts become several with one
 * stack id; the one with most bytes is last.
 */
export function withEstimatedCallers(profile: HeapProfile): HeapProfile {
  const { frames, contexts } = profile;
  if (frames.host?.includes("left-out") !== true || contexts.site === undefined) return profile;
  const rows = Array.from({ length: contexts.length }, (_, context) =>
    rowAt(profile, context, contexts.site!),
  );
  const cells = new Cells();
  const isLeftOut = ({ path }: Row): boolean =>
    path.host.length > 0 && frames.host![path.host[0]!] === "left-out";
  const stageOf = ({ context }: Row): number => contexts.site!.stage?.[context] ?? 0;
  for (const row of rows) if (row.path.host.length > 0 && !isLeftOut(row)) cells.add(row, stageOf(row));
  return rebuilt(
    profile,
    rows.flatMap((row) => {
      const callers = isLeftOut(row) ? cells.callersOf(row, stageOf(row)) : undefined;
      return callers === undefined ? [row] : spread(row, callers);
    }),
  );
}

/**
 * Returns the 95 % margin of error of a column's sum in some contexts, caused by the sampling of callers. Undefined if
 * the figures were counted, and for columns without known variances.
 *
 * @param whole field of which the column is a part selected by an analysis; smaller parts have fewer samples
 */
export function marginOf(
  { contexts }: HeapProfile,
  column: ArrayLike<number> | ArrayLike<bigint>,
  rows: readonly number[],
  whole?: "allocCount" | "totalSize",
): number | undefined {
  const varianceIn = variancesIn(contexts, column, whole);
  if (varianceIn === undefined) return undefined;
  // Figures of one call on several paths come from the same sample, so their errors are added before squaring.
  const deviations = new Map<number, number>();
  for (const row of rows) {
    // Columns with their own variances combine several stages, so all of their contexts are treated as correlated.
    const sample = variancesOfColumns.has(column) ? 0 : (contexts.samples?.[row] ?? 0);
    deviations.set(sample, (deviations.get(sample) ?? 0) + Math.sqrt(varianceIn(row)));
  }
  const variance = [...deviations.values()].reduce((sum, deviation) => sum + deviation ** 2, 0);
  return variance === 0 ? undefined : 2 * Math.sqrt(variance);
}

/**
 * Returns the variance of a column's figure per context; undefined if all was counted. Parameters are as for {@link
 * marginOf}.
 */
export function variancesIn(
  { variances, mibs, site }: ContextTable,
  column: ArrayLike<number> | ArrayLike<bigint>,
  whole?: "allocCount" | "totalSize",
): ((row: number) => number) | undefined {
  if (variances === undefined) return undefined;
  const own = variancesOfColumns.get(column);
  if (own !== undefined) return (row) => own[row]!;
  const [field] = Object.entries({ ...mibs, ...site }).find(([, candidate]) => candidate === column) ?? [];
  const fieldVariances = field === undefined ? undefined : variances[field];
  if (fieldVariances !== undefined || whole === undefined) return (row) => fieldVariances?.[row] ?? 0;
  return (row) => {
    const part = Number(column[row]) / (Number(mibs[whole][row]) || 1);
    return (variances[whole]?.[row] ?? 0) * part * Math.max(1, part);
  };
}

const variancesOfColumns = new WeakMap<object, ArrayLike<number>>();

/** Registers the variances of a column that an analysis computed. */
export function withVariances<Column extends object>(column: Column, variances: ArrayLike<number>): Column {
  variancesOfColumns.set(column, variances);
  return column;
}

function rowAt({ frames, stacks, contexts }: HeapProfile, context: number, columns: SiteColumns): Row {
  const frameNumbers: number[] = [];
  for (let stack: number = contexts.stack[context]!; stack !== NONE; stack = stacks.prefix[stack]!)
    frameNumbers.push(stacks.frame[stack]!);
  const isHost = (frame: number): boolean => frames.host?.[frame] !== undefined;
  const first = frameNumbers.findIndex(isHost);
  const start = first < 0 ? frameNumbers.length : first;
  const end = frameNumbers.findIndex((frame, depth) => depth >= start && !isHost(frame));
  const stop = end < 0 ? frameNumbers.length : end;
  const site = Object.entries(columns).flatMap(([name, column]) =>
    column === undefined || name === "stage" ? [] : [[name, column[context] as Row["site"][string]] as const],
  );
  return {
    context,
    path: {
      inner: frameNumbers.slice(0, start),
      host: frameNumbers.slice(start, stop),
      outer: frameNumbers.slice(stop),
    },
    mib: mibAt(contexts.mibs, context as IndexIntoContextTable),
    site: Object.fromEntries(site),
    isEstimated: false,
  };
}

interface Caller {
  host: number[];
  /** Sampled contexts of the caller in one stage. */
  rows: Row[];
  /** Sampled contexts of the caller in all stages. */
  allRows: Row[];
}

/** Amounts of sampled entries by path and caller. */
class Cells {
  /** Contexts by host frames, by cell key; a key without a stage combines all stages. */
  readonly #cells = new Map<string, Map<string, Row[]>>();

  add(row: Row, stage: number): void {
    const host = row.path.host.join();
    for (const key of [keyOf(row, stage), keyOf(row)]) {
      const cell = this.#cells.get(key) ?? new Map<string, Row[]>();
      this.#cells.set(key, cell);
      cell.set(host, [...(cell.get(host) ?? []), row]);
    }
  }

  callersOf(row: Row, stage: number): Caller[] | undefined {
    const rowsByHost = this.#cells.get(keyOf(row));
    if (rowsByHost === undefined) return undefined;
    const ofStage = this.#cells.get(keyOf(row, stage));
    return [...rowsByHost].map(([host, rows]) => ({
      host: rows[0]!.path.host,
      rows: ofStage === undefined ? rows : (ofStage.get(host) ?? []),
      allRows: rows,
    }));
  }
}

function keyOf({ path }: Row, stage?: number): string {
  return `${stage ?? ""}:${path.inner.join()}`;
}

/** Divides a row into the parts of its callers. */
function spread(row: Row, callers: readonly Caller[]): Row[] {
  const given = new Shares(row, callers).divideAll();
  const parts = callers.map(({ host }, i): Row => {
    const part: Row = {
      ...row,
      path: { ...row.path, host },
      mib: { ...row.mib },
      site: { ...row.site },
      isEstimated: true,
    };
    for (const [field, amounts] of given) setFigure(part, field, amounts[i]!);
    return part;
  });
  for (const [i, variances] of variancesOf(row, callers).entries()) parts[i]!.variances = variances;
  const { histogram } = row.mib;
  if (histogram !== undefined) {
    const blocks = given.get("allocCount")!;
    const counts = histogram.map((count) => divided(count, blocks, blocks));
    for (const [i, { mib }] of parts.entries()) mib.histogram = counts.map((shares) => shares[i]!);
  }
  return parts.filter(hasFigures).sort((a, b) => Number(a.mib.totalSize - b.mib.totalSize));
}

class Shares {
  readonly #row: Row;
  readonly #callers: readonly Caller[];
  readonly #given = new Map<string, bigint[]>();

  constructor(row: Row, callers: readonly Caller[]) {
    this.#row = row;
    this.#callers = callers;
  }

  /**
   * Returns one amount per caller, by field. Live and ended amounts are divided separately by the sampled callers'
   * shares, so that live blocks never exceed allocated ones. Other parts are limited by their whole.
   */
  divideAll(): ReadonlyMap<string, readonly bigint[]> {
    this.#giveWithEnded("allocCount", "liveBlocks");
    this.#giveWithEnded("totalSize", "liveBytes", ["allocCount", "liveBlocks"]);
    for (const field of fieldsOf(this.#row)) this.#give(field);
    return this.#given;
  }

  /** Divides the live amount, the ended amount, and their sum. */
  #giveWithEnded(total: string, live: string, blocks?: readonly [string, string]): void {
    const ended = (sampled: Row): bigint => endedOf(sampled, total, live);
    // An inconsistent file may have more live than allocated.
    if (figureOf(this.#row, total) < figureOf(this.#row, live)) return;
    if (blocks?.some((field) => !this.#given.has(field)) === true) return;
    const endedBlocks = blocks && {
      given: this.#given.get(blocks[0])!.map((amount, i) => amount - this.#given.get(blocks[1])![i]!),
      blocksOf: (sampled: Row) => endedOf(sampled, ...blocks),
      hasSizes: true,
    };
    const liveShares = this.#divided((sampled) => figureOf(sampled, live), blocks && this.#blocks(blocks[1]));
    const endedShares = this.#divided(ended, endedBlocks);
    this.#given.set(live, liveShares);
    this.#given.set(
      total,
      endedShares.map((share, i) => share + liveShares[i]!),
    );
  }

  #blocks(field: string, hasSizes = true): BlockShares {
    return { given: this.#given.get(field)!, blocksOf: (sampled) => figureOf(sampled, field), hasSizes };
  }

  #give(field: string): void {
    if (this.#given.has(field)) return;
    const stoodFor = STANDING_FOR[field];
    if (stoodFor !== undefined) {
      this.#give(stoodFor);
      this.#given.set(field, divided(figureOf(this.#row, field), this.#given.get(stoodFor)!, []));
      return;
    }
    const [whole, bytesOf] = [WHOLE_OF[field], BLOCKS_OF[field]];
    for (const before of [whole, bytesOf]) if (before !== undefined) this.#give(before);
    let room = whole === undefined ? undefined : this.#given.get(whole);
    for (const other of APART.find((fields) => fields.includes(field)) ?? [])
      room = room?.map((limit, i) => limit - (this.#given.get(other)?.[i] ?? 0n));
    const isFollowed = field.startsWith(FOLLOWED);
    if (isFollowed) this.#give(`${FOLLOWED}blocks`);
    // A caller without blocks has no lifetimes, accesses or granules.
    const blocks = isFollowed
      ? this.#blocks(`${FOLLOWED}blocks`, false)
      : bytesOf !== undefined
        ? this.#blocks(bytesOf)
        : room === undefined && this.#given.has("allocCount")
          ? this.#blocks("allocCount", false)
          : undefined;
    this.#given.set(
      field,
      this.#divided((sampled) => figureOf(sampled, field), blocks, room, isFollowed),
    );
  }

  /**
   * Divides a figure in proportion to the callers' sampled amounts. The amounts of the row's stage are used, or of all
   * stages if there are none, or else the block counts. No caller gets more than `room` allows.
   */
  #divided(
    figure: (row: Row) => bigint,
    blocks?: BlockShares,
    room: readonly bigint[] | undefined = undefined,
    ofAllStages = false,
  ): bigint[] {
    const amount = figure(this.#row);
    const rows = ofAllStages ? this.#callers.map(({ allRows }) => allRows) : sampleOf(this.#callers, figure);
    const found = rows.map((callerRows) => sumBy(callerRows, figure));
    const within = (weights: readonly bigint[], fallback: readonly bigint[]): bigint[] =>
      (room && dividedWithin(amount, weights, fallback, { most: room })) ??
      divided(amount, weights, fallback);
    if (blocks === undefined)
      return within(found, room ?? this.#callers.map((caller) => sumBy(caller.rows, allocated)));
    const count = sumOf(blocks.given) || 1n;
    const weights = blocks.given.map((given, i) => {
      const sampledBlocks = sumBy(rows[i]!, blocks.blocksOf);
      return sampledBlocks === 0n
        ? (given * amount * PRECISION) / count
        : (given * found[i]! * PRECISION) / sampledBlocks;
    });
    if (!blocks.hasSizes) return within(weights, blocks.given);
    const { minSize, maxSize } = this.#row.mib;
    const least = blocks.given.map((given) => given * BigInt(minSize));
    const most = blocks.given.map((given, i) => atMost(given * BigInt(maxSize), room?.[i]));
    return (
      dividedWithin(amount, weights, blocks.given, { least, most }) ?? within(weights, room ?? blocks.given)
    );
  }
}

interface BlockShares {
  given: readonly bigint[];
  blocksOf: (row: Row) => bigint;
  /**
   * True if the figure is the size of the blocks: each share is bounded by the row's smallest and largest block size.
   */
  hasSizes: boolean;
}

/** Fixed-point scale of weights, per block. */
const PRECISION = 2n ** 20n;

function atMost(amount: bigint, limit: bigint | undefined): bigint {
  return limit === undefined || amount < limit ? amount : limit;
}

/** Returns each caller's contexts that determine the division of a figure. */
function sampleOf(callers: readonly Caller[], figure: (row: Row) => bigint): Row[][] {
  const isKnown = callers.some(({ rows }) => rows.some((row) => figure(row) > 0n));
  return callers.map(({ rows, allRows }) => (isKnown ? rows : allRows));
}

/**
 * Computes the variances of the parts of a row's amounts. The sample size of a caller is the number of its entries, but
 * at most its number of blocks with the amount, because blocks of one entry are correlated. One additional success and
 * failure correct for small samples (Agresti and Coull).
 */
function variancesOf(row: Row, callers: readonly Caller[]): Map<string, number>[] {
  const found = callers.map(() => new Map<string, number>());
  for (const field of ESTIMATED_FIELDS.filter((candidate) => figureOf(row, candidate) > 0n)) {
    const amount = Number(figureOf(row, field));
    // The retention of blocks may change between stages.
    const rows = field.startsWith(FOLLOWED)
      ? callers.map((caller) => caller.rows)
      : sampleOf(callers, (sampled) => figureOf(sampled, field));
    const blocks = SAMPLED_BLOCKS[field] ?? field;
    const sizes = rows.map((callerRows) => {
      const counts = callerRows.map((sampled) =>
        Math.min(Number(figureOf(sampled, blocks)), Number(figureOf(sampled, "entries")) || Infinity),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    });
    const size = sizes.reduce((sum, count) => sum + count, 0) + 2;
    // Callers with larger blocks have larger errors: the share of bytes is a ratio of two sums.
    const amounts = rows.map((callerRows) =>
      Number(sumBy(callerRows, (sampled) => figureOf(sampled, field))),
    );
    const totalAmount = amounts.reduce((sum, value) => sum + value, 0);
    const squares = amounts.map((value, i) => (sizes[i] === 0 ? 0 : value ** 2 / sizes[i]!));
    const allSquares = squares.reduce((sum, value) => sum + value, 0);
    sizes.forEach((sampleSize, i) => {
      const share = (sampleSize + 1) / size;
      // An empty sample gives a deviation of half the amount.
      const ofBlocks = (share * (1 - share)) / (size - 1);
      const part = totalAmount === 0 ? 0 : amounts[i]! / totalAmount;
      const otherSquares = allSquares - squares[i]!;
      const ofBytes =
        totalAmount === 0 ? 0 : (squares[i]! * (1 - part) ** 2 + otherSquares * part ** 2) / totalAmount ** 2;
      found[i]!.set(field, amount ** 2 * Math.max(ofBlocks, ofBytes));
    });
  }
  return found;
}

function fieldsOf({ site }: Row): string[] {
  const ofSite = Object.entries(site).flatMap(([name, value]) => {
    if (typeof value === "number") return [name];
    const figures = Object.keys(value ?? {}).filter((figure) => !EXTREMES.test(figure));
    return figures.map((figure) => `${name}.${figure}`);
  });
  return [...MIB_SUMS, ...ofSite];
}

/** Returns a figure; `field` is a field of the MIB or site, or `column.figure`. */
function figureOf({ mib, site }: Row, field: string): bigint {
  if (field in mib) return BigInt(mib[field as (typeof MIB_SUMS)[number]]);
  const [name, figure] = field.split(".");
  const value = site[name!];
  return BigInt((typeof value === "object" ? value[figure!] : value) ?? 0);
}

function endedOf(row: Row, total: string, live: string): bigint {
  const ended = figureOf(row, total) - figureOf(row, live);
  return ended < 0n ? 0n : ended;
}

function allocated({ mib }: Row): bigint {
  return BigInt(mib.allocCount);
}

function sumBy(rows: readonly Row[], figure: (row: Row) => bigint): bigint {
  return rows.reduce((sum, row) => sum + figure(row), 0n);
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}

function hasFigures(row: Row): boolean {
  return fieldsOf(row).some((field) => figureOf(row, field) > 0n);
}

function setFigure({ mib, site }: Row, field: string, value: bigint): void {
  if (field in mib) {
    const by: Record<string, number | bigint> = mib as never;
    by[field] = typeof by[field] === "bigint" ? value : Number(value);
    return;
  }
  const [name, figure] = field.split(".");
  site[name!] =
    figure === undefined ? Number(value) : { ...(site[name!] as Figures), [figure]: Number(value) };
}

/**
 * Divides an amount into whole parts in proportion to weights, or to `fallback` if all weights are 0. The rest goes to
 * the parts with the largest remainders.
 */
export function divided(amount: bigint, weights: readonly bigint[], fallback: readonly bigint[]): bigint[] {
  const by = [weights, fallback].find((candidates) => sumOf(candidates) > 0n) ?? weights.map(() => 1n);
  const sum = sumOf(by);
  const parts = by.map((weight) => (amount * weight) / sum);
  let remaining = amount - sumOf(parts);
  const lost = by.map((weight, index) => ({ index, rest: (amount * weight) % sum }));
  lost.sort((a, b) => (a.rest === b.rest ? a.index - b.index : a.rest > b.rest ? -1 : 1));
  for (const { index } of lost) {
    if (remaining === 0n) break;
    parts[index]! += 1n;
    remaining--;
  }
  return parts;
}

/**
 * Divides an amount with a lower and an upper limit per part; undefined if the amount is outside of the limits' sums.
 */
export function dividedWithin(
  amount: bigint,
  weights: readonly bigint[],
  fallback: readonly bigint[],
  { least = weights.map(() => 0n), most }: { least?: readonly bigint[]; most: readonly bigint[] },
): bigint[] | undefined {
  if (most.some((limit, i) => limit < least[i]!) || sumOf(least) > amount || sumOf(most) < amount)
    return undefined;
  let parts = divided(amount, weights, fallback).map((part, i) =>
    part < least[i]! ? least[i]! : atMost(part, most[i]!),
  );
  for (let remaining = amount - sumOf(parts); remaining !== 0n; remaining = amount - sumOf(parts)) {
    const sign = remaining < 0n ? -1n : 1n;
    const limits = remaining < 0n ? least : most;
    // Each pass either fills some parts to their limits, or distributes the whole rest.
    const room = parts.map((part, i) => sign * (limits[i]! - part));
    const open = weights.map((weight, i) => (room[i] === 0n ? 0n : weight));
    const more = divided(sign * remaining, open, room);
    parts = parts.map((part, i) => part + sign * atMost(more[i]!, room[i]!));
  }
  return parts;
}

function rebuilt(profile: HeapProfile, rows: readonly Row[]): HeapProfile {
  const { contexts } = profile;
  const stacks = new Stacks(profile);
  const samples = new Map<string, number>();
  const mibs = new GrowingMibColumns();
  const stack = Int32Array.from(rows, ({ path, mib }) => {
    mibs.add(mib);
    return stacks.rowOf([...path.inner, ...path.host, ...path.outer]);
  });
  const site = Object.entries(contexts.site!).flatMap(([name, column]) => {
    if (column === undefined || name === "stage" || name === "entries") return [];
    const values = rows.map((row) => row.site[name]);
    return [[name, column instanceof Float64Array ? Float64Array.from(values as number[]) : values] as const];
  });
  return {
    ...profile,
    stacks: stacks.table() as unknown as HeapProfile["stacks"],
    contexts: {
      length: rows.length,
      stackId: BigUint64Array.from(rows, ({ context }) => contexts.stackId[context]!),
      stack: stack as unknown as HeapProfile["contexts"]["stack"],
      mibs: mibs.build(),
      site: Object.fromEntries(site) as unknown as SiteColumns,
      isEstimated: Uint8Array.from(rows, ({ isEstimated }) => (isEstimated ? 1 : 0)),
      samples: Int32Array.from(rows, ({ context, path }) => {
        const key = `${contexts.site!.stage?.[context] ?? 0}:${path.host.join()}`;
        const sampleNumber = samples.get(key) ?? samples.size;
        samples.set(key, sampleNumber);
        return sampleNumber;
      }),
      variances: Object.fromEntries(
        ESTIMATED_FIELDS.map((field) => [
          field,
          Float64Array.from(rows, ({ variances }) => variances?.get(field) ?? 0),
        ]),
      ),
    },
  };
}

/** Stacks of a profile and added ones; callers precede callees. */
class Stacks {
  readonly #prefix: number[];
  readonly #frame: number[];
  readonly #rows = new Map<string, number>();

  constructor({ stacks }: HeapProfile) {
    this.#prefix = Array.from(stacks.prefix);
    this.#frame = Array.from(stacks.frame);
    for (let row = 0; row < stacks.length; row++)
      this.#rows.set(`${stacks.prefix[row]} ${stacks.frame[row]}`, row);
  }

  rowOf(frames: readonly number[]): number {
    let row: number = NONE;
    for (let depth = frames.length - 1; depth >= 0; depth--) {
      const key = `${row} ${frames[depth]}`;
      let next = this.#rows.get(key);
      if (next === undefined) {
        next = this.#prefix.push(row) - 1;
        this.#frame.push(frames[depth]!);
        this.#rows.set(key, next);
      }
      row = next;
    }
    return row;
  }

  table(): { length: number; prefix: Int32Array; frame: Int32Array } {
    return {
      length: this.#prefix.length,
      prefix: Int32Array.from(this.#prefix),
      frame: Int32Array.from(this.#frame),
    };
  }
}
