import type { EstimateVariances, HeapProfile, SiteColumns } from "../model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../model/indices.ts";
import type { Mib } from "../model/mib.ts";
import { GrowingMibColumns, mibAt } from "../model/mib-columns.ts";

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
  /** Of estimated figures. */
  variances?: Record<keyof EstimateVariances, number>;
}

/** What a field's amounts are of: of so many blocks, each of which is worth as much. */
const BLOCKS_OF = { totalSize: "allocCount", liveBytes: "liveBlocks", peakBytes: "peakBlocks" } as const;
const ESTIMATED_FIELDS = Object.keys(BLOCKS_OF) as (keyof EstimateVariances)[];

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
 * where it was counted, and for columns of which nothing is known.
 */
export function marginOf(
  { contexts }: HeapProfile,
  column: ArrayLike<number> | ArrayLike<bigint>,
  rows: readonly number[],
): number | undefined {
  const { variances, mibs, site } = contexts;
  const field = ESTIMATED_FIELDS.find((one) => column === (one === "totalSize" ? mibs[one] : site?.[one]));
  if (variances === undefined || field === undefined) return undefined;
  const variance = rows.reduce((sum, row) => sum + variances[field][row]!, 0);
  return variance === 0 ? undefined : 2 * Math.sqrt(variance);
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

/** One caller of a cell, and the contexts in which it was asked. */
interface Caller {
  host: number[];
  rows: Row[];
}

/** What the asked entries of a cell did, by their caller. */
class Cells {
  /** Callers by their frames, of cells by path and stage; without a stage, those of all stages. */
  readonly #cells = new Map<string, Map<string, Caller>>();

  add(row: Row, stage: number): void {
    const { host } = row.path;
    for (const key of [keyOf(row, stage), keyOf(row)]) {
      const cell = this.#cells.get(key) ?? new Map<string, Caller>();
      this.#cells.set(key, cell);
      const caller = cell.get(host.join()) ?? { host, rows: [] };
      cell.set(host.join(), caller);
      caller.rows.push(row);
    }
  }

  /** Undefined: nobody was asked on this path. */
  callersOf(row: Row, stage: number): Caller[] | undefined {
    const cell = this.#cells.get(keyOf(row, stage)) ?? this.#cells.get(keyOf(row));
    return cell === undefined ? undefined : [...cell.values()];
  }
}

function keyOf({ path }: Row, stage?: number): string {
  return `${stage ?? ""}:${path.inner.join()}`;
}

/** The parts of a row that its callers have made. */
function spread(row: Row, callers: readonly Caller[]): Row[] {
  const sumOf = (figure: (row: Row) => bigint | number): bigint[] =>
    callers.map(({ rows }) => rows.reduce((sum, one) => sum + BigInt(figure(one)), 0n));
  const blocks = sumOf(({ mib }) => mib.allocCount);
  const shares = (amount: bigint | number, figure: (row: Row) => bigint | number): bigint[] =>
    divided(BigInt(amount), sumOf(figure), blocks);
  const parts = callers.map(
    ({ host }): Row => ({
      ...row,
      path: { ...row.path, host },
      mib: { ...row.mib },
      site: { ...row.site },
      isEstimated: true,
    }),
  );
  const give = (amounts: readonly bigint[], set: (part: Row, amount: bigint) => void): void =>
    parts.forEach((part, i) => {
      set(part, amounts[i]!);
    });
  for (const field of MIB_SUMS)
    give(
      shares(row.mib[field], ({ mib }) => mib[field]),
      ({ mib }, amount) => setField(mib, field, amount),
    );
  for (const [name, value] of Object.entries(row.site)) {
    if (typeof value === "number")
      give(
        shares(value, ({ site }) => site[name] as number),
        ({ site }, amount) => {
          site[name] = Number(amount);
        },
      );
    else if (value !== undefined) {
      const figures = Object.keys(value).filter((figure) => !EXTREMES.test(figure));
      for (const figure of figures)
        give(
          shares(value[figure]!, ({ site }) => (site[name] as Figures | undefined)?.[figure] ?? 0),
          ({ site }, amount) => {
            site[name] = { ...(site[name] as Figures), [figure]: Number(amount) };
          },
        );
    }
  }
  for (const [i, variances] of variancesOf(row, callers).entries()) parts[i]!.variances = variances;
  const { histogram } = row.mib;
  if (histogram !== undefined) {
    const counts = histogram.map((count) => divided(count, blocks, blocks));
    for (const [i, { mib }] of parts.entries()) mib.histogram = counts.map((of) => of[i]!);
  }
  return parts.filter(hasFigures).sort((a, b) => Number(a.mib.totalSize - b.mib.totalSize));
}

/**
 * How far the parts of a row's amounts may be off. The callers of a cell are a sample of as many as there were entries, but no more than
 * blocks that have the amount: those of one entry come together. One of each kind more, as if it had been met, stands for what a
 * small sample does not show (Agresti and Coull).
 */
function variancesOf(row: Row, callers: readonly Caller[]): Record<keyof EstimateVariances, number>[] {
  const found = callers.map(() => ({ totalSize: 0, liveBytes: 0, peakBytes: 0 }));
  for (const field of ESTIMATED_FIELDS) {
    const amount = figureOf(row, field);
    const sizes = callers.map(({ rows }) => {
      const met = rows.map((one) =>
        Math.min(figureOf(one, BLOCKS_OF[field]), figureOf(one, "entries") || Infinity),
      );
      return met.reduce((sum, count) => sum + count, 0);
    });
    const size = sizes.reduce((sum, count) => sum + count, 0) + 2;
    // Whose blocks are larger than those of others is off by more: the share of bytes is a ratio of two sums.
    const bytes = callers.map(({ rows }) => rows.reduce((sum, one) => sum + figureOf(one, field), 0));
    const all = bytes.reduce((sum, one) => sum + one, 0);
    const squares = bytes.map((one, i) => (sizes[i] === 0 ? 0 : one ** 2 / sizes[i]!));
    const allSquares = squares.reduce((sum, one) => sum + one, 0);
    sizes.forEach((met, i) => {
      const share = (met + 1) / size;
      const ofBlocks = (share * (1 - share)) / size;
      const part = all === 0 ? 0 : bytes[i]! / all;
      const others = allSquares - squares[i]!;
      const ofBytes = all === 0 ? 0 : (squares[i]! * (1 - part) ** 2 + others * part ** 2) / all ** 2;
      found[i]![field] = amount ** 2 * Math.max(ofBlocks, ofBytes);
    });
  }
  return found;
}

function figureOf({ mib, site }: Row, field: string): number {
  return Number(field in mib ? mib[field as keyof Mib] : (site[field] ?? 0));
}

function hasFigures({ mib, site }: Row): boolean {
  return (
    mib.allocCount > 0 ||
    mib.totalSize > 0n ||
    Object.values(site).some((value) => typeof value === "number" && value > 0)
  );
}

function setField(mib: Mib, field: (typeof MIB_SUMS)[number], value: bigint): void {
  const by: Record<string, number | bigint> = mib as never;
  by[field] = typeof by[field] === "bigint" ? value : Number(value);
}

/**
 * An amount in whole parts in proportion to weights, or to others where all of them are 0. What is left over goes to those that
 * lost most.
 */
export function divided(amount: bigint, weights: readonly bigint[], others: readonly bigint[]): bigint[] {
  const sumOf = (all: readonly bigint[]): bigint => all.reduce((sum, weight) => sum + weight, 0n);
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

/** The profile with these rows in place of its contexts. */
function rebuilt(profile: HeapProfile, rows: readonly Row[]): HeapProfile {
  const { contexts } = profile;
  const stacks = new Stacks(profile);
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
      variances: Object.fromEntries(
        ESTIMATED_FIELDS.map((field) => [
          field,
          Float64Array.from(rows, ({ variances }) => variances?.[field] ?? 0),
        ]),
      ) as unknown as EstimateVariances,
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
