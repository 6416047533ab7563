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
 * Of frequent entries a sample was asked who made them. What the others did is spread over the callers of those that did the same in
 * the same stage of sampling, in proportion to what these did: a context's cell is its path inside the module, and the stage.
 */

/** Fields of MIBs that are sums over blocks. The others, of single blocks, stay as they are. */
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

/** A context's call path as numbers of frames, innermost first. */
interface Path {
  /** Up to the innermost entry. */
  inner: number[];
  /** In the host, up to the next call of a module. */
  host: number[];
  /** Further out. */
  outer: number[];
}

/** A context of the profile with figures for some of its blocks, or all. */
interface Row {
  /** Its number in the profile that was read. */
  context: number;
  path: Path;
  mib: Mib;
  /** Columns of the site by name. */
  site: Record<string, number | Figures | undefined>;
  isEstimated: boolean;
  /** Margins of estimated figures, by field. */
  variances?: ReadonlyMap<string, number>;
}

/** Bytes, and the blocks that they are of. The whole stands before its parts. */
const BLOCKS_OF: Readonly<Record<string, string>> = {
  peakBytes: "peakBlocks",
  neverAccessedBytes: "neverAccessed",
  writtenNeverReadBytes: "writtenNeverRead",
  ...Object.fromEntries(Object.values(REACH_OF_KIND).map(([bytes, blocks]) => [bytes, blocks])),
  suppressedBytes: "suppressedBlocks",
};

/** Figures that are some of others. */
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

/** Of blocks that were followed to their last access: a sample of their own, few of which were made by calls of one stage that were asked. */
const FOLLOWED = "keptAfterUse.";
/** What the followed blocks stand for. */
const STANDING_FOR: Readonly<Record<string, string>> = {
  [`${FOLLOWED}blocks`]: "allocCount",
  [`${FOLLOWED}bytes`]: "totalSize",
};

/** Figures that have no block in common: what one of them takes of the whole is none of the others'. */
const APART: readonly (readonly string[])[] = [
  ["neverAccessed", "writtenNeverRead"],
  ["neverAccessedBytes", "writtenNeverReadBytes"],
  [...Object.values(REACH_OF_KIND).map(([, blocks]) => blocks), "suppressedBlocks"],
  [...Object.values(REACH_OF_KIND).map(([bytes]) => bytes), "suppressedBytes"],
];

/** How far they may be off is told. */
const ESTIMATED_FIELDS: readonly string[] = [
  ...["allocCount", "totalSize", "temporary", ...SITE_FIELDS],
  ...[`${FOLLOWED}lateBlocks`, `${FOLLOWED}lateBytes`],
];

/** What was met of them: blocks, where the field is not a number of those itself. */
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

/** Figures that columns have together. */
type Figures = Readonly<Record<string, number>>;

/** Of figures, those that are of a single block or chain. */
const EXTREMES = /^(most|largest|smallest|min|max|longest|shortest)/;

/**
 * A profile in which entries that were left out have the callers of those that were asked. Their contexts become several of one stack
 * id, that with most bytes last.
 */
export function withEstimatedCallers(profile: HeapProfile): HeapProfile {
  const { frames, contexts } = profile;
  if (frames.host === undefined || contexts.site === undefined) return profile;
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
 * How far the sum of a column in some contexts may be off, as those who made the calls were sampled: 19 times of 20 by no more. Undefined
 * where it was counted, and for columns of which nothing is known. `whole`: the column is of some of those blocks or bytes, as an analysis
 * picked them out. The fewer they are, the fewer were in the sample.
 */
export function marginOf(
  { contexts }: HeapProfile,
  column: ArrayLike<number> | ArrayLike<bigint>,
  rows: readonly number[],
  whole?: "allocCount" | "totalSize",
): number | undefined {
  const varianceIn = variancesIn(contexts, column, whole);
  if (varianceIn === undefined) return undefined;
  // What one call allocates on several paths is asked for but once: such figures are off together.
  const deviations = new Map<number, number>();
  for (const row of rows) {
    // So is what an analysis makes of figures that say something of other stages too.
    const sample = variancesOfColumns.has(column) ? 0 : (contexts.samples?.[row] ?? 0);
    deviations.set(sample, (deviations.get(sample) ?? 0) + Math.sqrt(varianceIn(row)));
  }
  const variance = [...deviations.values()].reduce((sum, deviation) => sum + deviation ** 2, 0);
  return variance === 0 ? undefined : 2 * Math.sqrt(variance);
}

/** The variance of a column's figure in each context; undefined where all was counted. `column`, `whole`: as for `marginOf`. */
export function variancesIn(
  { variances, mibs, site }: ContextTable,
  column: ArrayLike<number> | ArrayLike<bigint>,
  whole?: "allocCount" | "totalSize",
): ((row: number) => number) | undefined {
  if (variances === undefined) return undefined;
  const own = variancesOfColumns.get(column);
  if (own !== undefined) return (row) => own[row]!;
  const [field] = Object.entries({ ...mibs, ...site }).find(([, one]) => one === column) ?? [];
  const known = field === undefined ? undefined : variances[field];
  if (known !== undefined || whole === undefined) return (row) => known?.[row] ?? 0;
  return (row) => {
    const part = Number(column[row]) / (Number(mibs[whole][row]) || 1);
    return (variances[whole]?.[row] ?? 0) * part * Math.max(1, part);
  };
}

const variancesOfColumns = new WeakMap<object, ArrayLike<number>>();

/** A column that an analysis has made, with the variances of its figures. */
export function withVariances<Column extends object>(column: Column, variances: ArrayLike<number>): Column {
  variancesOfColumns.set(column, variances);
  return column;
}

function rowAt({ frames, stacks, contexts }: HeapProfile, context: number, columns: SiteColumns): Row {
  const all: number[] = [];
  for (let stack: number = contexts.stack[context]!; stack !== NONE; stack = stacks.prefix[stack]!)
    all.push(stacks.frame[stack]!);
  const isHost = (frame: number): boolean => frames.host?.[frame] !== undefined;
  const first = all.findIndex(isHost);
  const start = first < 0 ? all.length : first;
  const end = all.findIndex((frame, depth) => depth >= start && !isHost(frame));
  const stop = end < 0 ? all.length : end;
  const site = Object.entries(columns).flatMap(([name, column]) =>
    column === undefined || name === "stage" ? [] : [[name, column[context] as Row["site"][string]] as const],
  );
  return {
    context,
    path: { inner: all.slice(0, start), host: all.slice(start, stop), outer: all.slice(stop) },
    mib: mibAt(contexts.mibs, context as IndexIntoContextTable),
    site: Object.fromEntries(site),
    isEstimated: false,
  };
}

/** A caller of a path. */
interface Caller {
  host: number[];
  /** The contexts in which it was asked, in one stage. */
  rows: Row[];
  /** And in all stages. */
  all: Row[];
}

/** What the asked entries of a path did, by their caller. */
class Cells {
  /** Contexts by the frames of their callers, of cells by path and stage; without a stage, those of all stages. */
  readonly #cells = new Map<string, Map<string, Row[]>>();

  add(row: Row, stage: number): void {
    const host = row.path.host.join();
    for (const key of [keyOf(row, stage), keyOf(row)]) {
      const cell = this.#cells.get(key) ?? new Map<string, Row[]>();
      this.#cells.set(key, cell);
      cell.set(host, [...(cell.get(host) ?? []), row]);
    }
  }

  /** Undefined: nobody was asked on this path. */
  callersOf(row: Row, stage: number): Caller[] | undefined {
    const all = this.#cells.get(keyOf(row));
    if (all === undefined) return undefined;
    const ofStage = this.#cells.get(keyOf(row, stage));
    return [...all].map(([host, rows]) => ({
      host: rows[0]!.path.host,
      rows: ofStage === undefined ? rows : (ofStage.get(host) ?? []),
      all: rows,
    }));
  }
}

function keyOf({ path }: Row, stage?: number): string {
  return `${stage ?? ""}:${path.inner.join()}`;
}

/** The parts of a row that its callers have made. */
function spread(row: Row, callers: readonly Caller[]): Row[] {
  const given = new Shares(row, callers).all();
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
    for (const [i, { mib }] of parts.entries()) mib.histogram = counts.map((of) => of[i]!);
  }
  return parts.filter(hasFigures).sort((a, b) => Number(a.mib.totalSize - b.mib.totalSize));
}

/** How the figures of a row are divided among its callers. */
class Shares {
  readonly #row: Row;
  readonly #callers: readonly Caller[];
  readonly #given = new Map<string, bigint[]>();

  constructor(row: Row, callers: readonly Caller[]) {
    this.#row = row;
    this.#callers = callers;
  }

  /**
   * By field, one amount per caller. What is live and what has ended is divided by what those who were asked have of it, each for itself: so
   * nobody has more live blocks than were allocated. Other parts find their room in their whole.
   */
  all(): ReadonlyMap<string, readonly bigint[]> {
    this.#giveWithEnded("allocCount", "liveBlocks");
    this.#giveWithEnded("totalSize", "liveBytes", ["allocCount", "liveBlocks"]);
    for (const field of fieldsOf(this.#row)) this.#give(field);
    return this.#given;
  }

  /** Live ones, those that have ended, and both together. */
  #giveWithEnded(all: string, live: string, blocks?: readonly [string, string]): void {
    const ended = (one: Row): bigint => endedOf(one, all, live);
    // A file may say otherwise.
    if (figureOf(this.#row, all) < figureOf(this.#row, live)) return;
    if (blocks?.some((field) => !this.#given.has(field)) === true) return;
    const endedBlocks = blocks && {
      given: this.#given.get(blocks[0])!.map((of, i) => of - this.#given.get(blocks[1])![i]!),
      of: (one: Row) => endedOf(one, ...blocks),
      hasSizes: true,
    };
    const liveShares = this.#divided((one) => figureOf(one, live), blocks && this.#blocks(blocks[1]));
    const endedShares = this.#divided(ended, endedBlocks);
    this.#given.set(live, liveShares);
    this.#given.set(
      all,
      endedShares.map((share, i) => share + liveShares[i]!),
    );
  }

  #blocks(field: string, hasSizes = true): BlockShares {
    return { given: this.#given.get(field)!, of: (one) => figureOf(one, field), hasSizes };
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
      room = room?.map((left, i) => left - (this.#given.get(other)?.[i] ?? 0n));
    const isFollowed = field.startsWith(FOLLOWED);
    if (isFollowed) this.#give(`${FOLLOWED}blocks`);
    // Nobody has lifetimes, accesses or granules without blocks.
    const blocks = isFollowed
      ? this.#blocks(`${FOLLOWED}blocks`, false)
      : bytesOf !== undefined
        ? this.#blocks(bytesOf)
        : room === undefined && this.#given.has("allocCount")
          ? this.#blocks("allocCount", false)
          : undefined;
    this.#given.set(
      field,
      this.#divided((one) => figureOf(one, field), blocks, room, isFollowed),
    );
  }

  /**
   * A figure in proportion to what the callers were found to have of it: in the row's stage, or in all of them where it is none in that
   * one, or to their blocks where nobody has any. Nobody has more than there is room for.
   */
  #divided(
    figure: (row: Row) => bigint,
    blocks?: BlockShares,
    room: readonly bigint[] | undefined = undefined,
    ofAllStages = false,
  ): bigint[] {
    const amount = figure(this.#row);
    const rows = ofAllStages ? this.#callers.map(({ all }) => all) : sampleOf(this.#callers, figure);
    const found = rows.map((of) => sumBy(of, figure));
    const within = (weights: readonly bigint[], others: readonly bigint[]): bigint[] =>
      (room && dividedWithin(amount, weights, others, { most: room })) ?? divided(amount, weights, others);
    if (blocks === undefined)
      return within(found, room ?? this.#callers.map((one) => sumBy(one.rows, allocated)));
    const count = sumOf(blocks.given) || 1n;
    const weights = blocks.given.map((given, i) => {
      const met = sumBy(rows[i]!, blocks.of);
      return met === 0n ? (given * amount * PRECISION) / count : (given * found[i]! * PRECISION) / met;
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

/** How the blocks are divided that a figure is of, and how many each row has. */
interface BlockShares {
  given: readonly bigint[];
  of: (row: Row) => bigint;
  /** The figure is their bytes: so much is between the sizes of the row's smallest block and its largest one. */
  hasSizes: boolean;
}

/** Parts of a block that weights tell apart. */
const PRECISION = 2n ** 20n;

function atMost(amount: bigint, limit: bigint | undefined): bigint {
  return limit === undefined || amount < limit ? amount : limit;
}

/** Contexts of each caller that tell how a figure is divided. */
function sampleOf(callers: readonly Caller[], figure: (row: Row) => bigint): Row[][] {
  const isKnown = callers.some(({ rows }) => rows.some((row) => figure(row) > 0n));
  return callers.map(({ rows, all }) => (isKnown ? rows : all));
}

/**
 * How far the parts of a row's amounts may be off. The callers of a cell are a sample of as many as there were entries, but no more than
 * blocks that have the amount: those of one entry come together. One of each kind more, as if it had been met, stands for what a
 * small sample does not show (Agresti and Coull).
 */
function variancesOf(row: Row, callers: readonly Caller[]): Map<string, number>[] {
  const found = callers.map(() => new Map<string, number>());
  for (const field of ESTIMATED_FIELDS.filter((one) => figureOf(row, one) > 0n)) {
    const amount = Number(figureOf(row, field));
    // How long blocks are kept may change from one stage to the next.
    const rows = field.startsWith(FOLLOWED)
      ? callers.map((caller) => caller.rows)
      : sampleOf(callers, (one) => figureOf(one, field));
    const blocks = SAMPLED_BLOCKS[field] ?? field;
    const sizes = rows.map((of) => {
      const met = of.map((one) =>
        Math.min(Number(figureOf(one, blocks)), Number(figureOf(one, "entries")) || Infinity),
      );
      return met.reduce((sum, count) => sum + count, 0);
    });
    const size = sizes.reduce((sum, count) => sum + count, 0) + 2;
    // Whose blocks are larger than those of others is off by more: the share of bytes is a ratio of two sums.
    const amounts = rows.map((of) => Number(sumBy(of, (one) => figureOf(one, field))));
    const all = amounts.reduce((sum, one) => sum + one, 0);
    const squares = amounts.map((one, i) => (sizes[i] === 0 ? 0 : one ** 2 / sizes[i]!));
    const allSquares = squares.reduce((sum, one) => sum + one, 0);
    sizes.forEach((met, i) => {
      const share = (met + 1) / size;
      // Of a sample of none, half of the amount is a deviation: it may be anybody's.
      const ofBlocks = (share * (1 - share)) / (size - 1);
      const part = all === 0 ? 0 : amounts[i]! / all;
      const others = allSquares - squares[i]!;
      const ofBytes = all === 0 ? 0 : (squares[i]! * (1 - part) ** 2 + others * part ** 2) / all ** 2;
      found[i]!.set(field, amount ** 2 * Math.max(ofBlocks, ofBytes));
    });
  }
  return found;
}

/** Fields that are sums, of a row. */
function fieldsOf({ site }: Row): string[] {
  const ofSite = Object.entries(site).flatMap(([name, value]) => {
    if (typeof value === "number") return [name];
    const figures = Object.keys(value ?? {}).filter((figure) => !EXTREMES.test(figure));
    return figures.map((figure) => `${name}.${figure}`);
  });
  return [...MIB_SUMS, ...ofSite];
}

/** `field`: of the MIB, of the site, or `column.figure`. */
function figureOf({ mib, site }: Row, field: string): bigint {
  if (field in mib) return BigInt(mib[field as (typeof MIB_SUMS)[number]]);
  const [name, figure] = field.split(".");
  const value = site[name!];
  return BigInt((typeof value === "object" ? value[figure!] : value) ?? 0);
}

function endedOf(row: Row, all: string, live: string): bigint {
  const ended = figureOf(row, all) - figureOf(row, live);
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
 * An amount in whole parts in proportion to weights, or to others where all of them are 0. What is left over goes to those that
 * lost most.
 */
export function divided(amount: bigint, weights: readonly bigint[], others: readonly bigint[]): bigint[] {
  const by = [weights, others].find((all) => sumOf(all) > 0n) ?? weights.map(() => 1n);
  const sum = sumOf(by);
  const parts = by.map((weight) => (amount * weight) / sum);
  let left = amount - sumOf(parts);
  const lost = by.map((weight, index) => ({ index, rest: (amount * weight) % sum }));
  lost.sort((a, b) => (a.rest === b.rest ? a.index - b.index : a.rest > b.rest ? -1 : 1));
  for (const { index } of lost) {
    if (left === 0n) break;
    parts[index]! += 1n;
    left--;
  }
  return parts;
}

/** The same with at least and at most so much for each; undefined where the amount is not between their sums. */
export function dividedWithin(
  amount: bigint,
  weights: readonly bigint[],
  others: readonly bigint[],
  { least = weights.map(() => 0n), most }: { least?: readonly bigint[]; most: readonly bigint[] },
): bigint[] | undefined {
  if (most.some((limit, i) => limit < least[i]!) || sumOf(least) > amount || sumOf(most) < amount)
    return undefined;
  let parts = divided(amount, weights, others).map((part, i) =>
    part < least[i]! ? least[i]! : atMost(part, most[i]!),
  );
  for (let left = amount - sumOf(parts); left !== 0n; left = amount - sumOf(parts)) {
    const sign = left < 0n ? -1n : 1n;
    const limits = left < 0n ? least : most;
    // Each time some come to their limits, or all is given.
    const room = parts.map((part, i) => sign * (limits[i]! - part));
    const open = weights.map((weight, i) => (room[i] === 0n ? 0n : weight));
    const more = divided(sign * left, open, room);
    parts = parts.map((part, i) => part + sign * atMost(more[i]!, room[i]!));
  }
  return parts;
}

/** The profile with these rows in place of its contexts. */
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
        const known = samples.get(key) ?? samples.size;
        samples.set(key, known);
        return known;
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

/** The stacks of a profile, and those that are added: they stand behind the ones that call them. */
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

  /** `frames`: innermost first. */
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
