import { type HeapProfile, SITE_FIELDS, type SiteField } from "../model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../model/indices.ts";
import { combineMibs, type Mib } from "../model/mib.ts";
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

/** One context, with its call path as numbers of frames. */
interface Row {
  stackId: bigint;
  /** Frames up to the innermost entry, in the host up to the next call of a module, and further out; innermost first. */
  inner: number[];
  host: number[];
  outer: number[];
  isLeftOut: boolean;
  stage: number;
  mib: Mib;
  site: Record<SiteField | "temporary", number>;
  isEstimated: boolean;
}

/** A profile in which entries that were left out have the callers of those that were asked. */
export function withEstimatedCallers(profile: HeapProfile): HeapProfile {
  if (profile.frames.host === undefined || profile.contexts.site === undefined) return profile;
  const rows = Array.from({ length: profile.contexts.length }, (_, context) => rowAt(profile, context));
  const [asked, leftOut] = [rows.filter((row) => !row.isLeftOut), rows.filter((row) => row.isLeftOut)];
  const merged = new Map<string, Row>();
  const add = (row: Row): void => {
    const key = [...row.inner, ...row.host, ...row.outer].join();
    const known = merged.get(key);
    merged.set(key, known === undefined ? row : together(known, row));
  };
  asked.forEach(add);
  const cells = new Cells(asked);
  for (const row of leftOut) {
    const callers = cells.callersOf(row);
    if (callers === undefined) add(row);
    else spread(row, callers).forEach(add);
  }
  return rebuilt(profile, [...merged.values()]);
}

function rowAt(profile: HeapProfile, context: number): Row {
  const { frames, stacks, contexts } = profile;
  const path: number[] = [];
  for (let stack: number = contexts.stack[context]!; stack !== NONE; stack = stacks.prefix[stack]!)
    path.push(stacks.frame[stack]!);
  const isHost = (frame: number): boolean => frames.host?.[frame] !== undefined;
  const first = path.findIndex(isHost);
  const start = first < 0 ? path.length : first;
  const end = path.findIndex((frame, depth) => depth >= start && !isHost(frame));
  const stop = end < 0 ? path.length : end;
  const sites = contexts.site!;
  return {
    stackId: contexts.stackId[context]!,
    inner: path.slice(0, start),
    host: path.slice(start, stop),
    outer: path.slice(stop),
    isLeftOut: first >= 0 && frames.host![path[first]!] === "left-out",
    stage: sites.stage?.[context] ?? 0,
    mib: mibAt(contexts.mibs, context as IndexIntoContextTable),
    site: {
      ...(Object.fromEntries(SITE_FIELDS.map((field) => [field, sites[field][context]!])) as Row["site"]),
      temporary: sites.temporary?.[context] ?? 0,
    },
    isEstimated: false,
  };
}

/** What the asked entries of a cell did, by their caller. */
class Cells {
  /** Callers of a cell, by the text of the path and the stage; without a stage, those of all stages. */
  readonly #cells = new Map<string, Map<string, Row>>();

  constructor(asked: readonly Row[]) {
    for (const row of asked) {
      if (row.host.length === 0) continue;
      for (const key of [keyOf(row, row.stage), keyOf(row)]) {
        const cell = this.#cells.get(key) ?? new Map<string, Row>();
        const known = cell.get(row.host.join());
        cell.set(row.host.join(), known === undefined ? row : together(known, row));
        this.#cells.set(key, cell);
      }
    }
  }

  /** Undefined: nobody was asked on this path. */
  callersOf(row: Row): Row[] | undefined {
    const cell = this.#cells.get(keyOf(row, row.stage)) ?? this.#cells.get(keyOf(row));
    return cell === undefined ? undefined : [...cell.values()];
  }
}

function keyOf({ inner }: Row, stage?: number): string {
  return `${stage ?? ""}:${inner.join()}`;
}

/** The parts of a row that its callers have made. */
function spread(row: Row, callers: readonly Row[]): Row[] {
  const blocks = callers.map(({ mib }) => BigInt(mib.allocCount));
  const parts = callers.map(
    ({ host }): Row => ({
      ...row,
      host,
      isLeftOut: false,
      isEstimated: true,
      mib: { ...row.mib },
      site: { ...row.site },
    }),
  );
  for (const field of MIB_SUMS) {
    const shares = divided(
      BigInt(row.mib[field]),
      callers.map(({ mib }) => BigInt(mib[field])),
      blocks,
    );
    for (const [i, { mib }] of parts.entries()) setField(mib, field, shares[i]!);
  }
  for (const field of [...SITE_FIELDS, "temporary"] as const) {
    const shares = divided(
      BigInt(row.site[field]),
      callers.map(({ site }) => BigInt(site[field])),
      blocks,
    );
    for (const [i, { site }] of parts.entries()) site[field] = Number(shares[i]!);
  }
  const { histogram } = row.mib;
  if (histogram !== undefined) {
    const shares = histogram.map((count) => divided(count, blocks, blocks));
    for (const [i, { mib }] of parts.entries()) mib.histogram = shares.map((of) => of[i]!);
  }
  return parts.filter(
    ({ mib, site }) => mib.allocCount > 0 || site.liveBlocks > 0 || site.peakBlocks > 0 || mib.totalSize > 0n,
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

/** Two rows as one; extremes are not those of a part that was spread. */
function together(a: Row, b: Row): Row {
  const site = { ...a.site };
  for (const field of Object.keys(site) as (keyof Row["site"])[]) site[field] += b.site[field];
  const mib = combineMibs(a.mib, b.mib);
  if (!a.isEstimated && b.isEstimated)
    for (const field of Object.keys(mib) as (keyof Mib)[])
      if (/^(min|max|alloc.*(Timestamp|Id)|dealloc)/.test(field))
        Object.assign(mib, { [field]: a.mib[field] });
  return { ...a, mib, site, isEstimated: a.isEstimated || b.isEstimated };
}

/** The profile with these rows in place of its contexts. */
function rebuilt(profile: HeapProfile, rows: readonly Row[]): HeapProfile {
  const stacks = new Stacks(profile);
  const mibs = new GrowingMibColumns();
  const stack = Int32Array.from(rows, ({ inner, host, outer, mib }) => {
    mibs.add(mib);
    return stacks.rowOf([...inner, ...host, ...outer]);
  });
  const column = (field: SiteField | "temporary") => Float64Array.from(rows, ({ site }) => site[field]);
  return {
    ...profile,
    stacks: stacks.table() as unknown as HeapProfile["stacks"],
    contexts: {
      length: rows.length,
      stackId: BigUint64Array.from(rows, ({ stackId }) => stackId),
      stack: stack as unknown as HeapProfile["contexts"]["stack"],
      mibs: mibs.build(),
      site: {
        ...(Object.fromEntries(SITE_FIELDS.map((field) => [field, column(field)])) as Record<
          SiteField,
          Float64Array
        >),
        ...(profile.contexts.site?.temporary === undefined ? {} : { temporary: column("temporary") }),
      },
      isEstimated: Uint8Array.from(rows, ({ isEstimated }) => (isEstimated ? 1 : 0)),
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
