import { mainName } from "../../../../explain/analyses/frames/function-names.ts";
import { LAYER } from "../../../../explain/analyses/frames/libraries.ts";
import { entryOf } from "../../../../ground/bytes/entries.ts";
import { StackTree } from "../../../../profile/model/memprof/stack-tree.ts";
import {
  FRAME_FLAGS,
  type PageContexts,
  type PageFrames,
  type PageModule,
  type PageThroughMerged,
  type PageWeight,
} from "./page-data.ts";
import { type FrameKeys, fileKeys, lineKeys, Through, withCalls } from "./through.ts";

/** A smaller tree that replaces a larger one. */
interface BoundedContexts {
  /** Parent of each row of the smaller tree. */
  readonly parent: Int32Array;
  /** Context of each row; −1 for a row of merged contexts. */
  readonly origin: Int32Array;
  /**
   * A context with the common frame of a row of merged contexts. −1 if there is no common frame, or if the row is a context.
   */
  readonly like: Int32Array;
  /** The row that names the site of a row of merged contexts; −1 for other rows. */
  readonly site: Int32Array;
  /** Number of contexts with amounts of their own that were merged into each row. */
  readonly mergedInto: Int32Array;
  /** Row of each context of the larger tree. */
  readonly rowOf: Int32Array;
  readonly isMerged: Uint8Array;
  readonly mergedContexts: number;
}

/** Frame of each context, and the context that names its site: a caller, or −1 for the context itself. */
interface ContextNames {
  readonly frame: (context: number) => number;
  readonly site: Int32Array;
}

/**
 * Keeps the contexts with the largest share of any weight, callees included. A caller's share is at least
 * that of its callees, so the kept contexts form a tree. Contexts left out below a kept one become one row,
 * and below it a row for each site and innermost frame. Sums of kept contexts, sites and functions stay
 * exact.
 *
 * @param most largest number of kept contexts; fewer if too many rows of merged contexts would result
 * @param callers caller of each context, −1 for none; callers precede their callees
 * @param weights each function makes a column with a non-negative number per context
 */
export function boundContexts(
  callers: Int32Array,
  weights: readonly (() => Float64Array)[],
  most: number,
  names: ContextNames,
): BoundedContexts {
  const count = callers.length;
  if (count <= most) {
    const same = Int32Array.from(callers.keys());
    const none = new Int32Array(count).fill(-1);
    const nothing = {
      like: none,
      site: none,
      mergedInto: new Int32Array(count),
      isMerged: new Uint8Array(count),
      mergedContexts: 0,
    };
    return { parent: callers, origin: same, rowOf: same, ...nothing };
  }
  const { shares, hasOwn } = sharesOf(callers, weights);
  // Fewer kept contexts need fewer rows of merged ones.
  for (let kept = most; ; kept = Math.ceil(kept / 2)) {
    const bounded = mergeOthers(callers, keepLargest(shares, kept), hasOwn, names);
    if (bounded.origin.length <= MOST_ROWS * most || kept === 1) return bounded;
  }
}

/** Limit of all rows, merged contexts included, as a multiple of the kept contexts. */
const MOST_ROWS = 2;

function mergeOthers(
  callers: Int32Array,
  isKept: Uint8Array,
  hasOwn: Uint8Array,
  { frame, site: sites }: ContextNames,
): BoundedContexts {
  const count = callers.length;
  const parent: number[] = [];
  const origin: number[] = [];
  const like: number[] = [];
  const site: number[] = [];
  const mergedInto: number[] = [];
  const rowOf = new Int32Array(count);
  const isMerged = new Uint8Array(count);
  /** Row of all contexts merged below a kept context. */
  const othersOf = new Int32Array(count);
  const othersRows = new Map<number, number>();
  /** Rows of merged contexts, keyed by parent row, frame, and the row that names the site. */
  const named = new Map<string, number>();
  let mergedContexts = 0;
  const addRow = (above: number, from: number, frameOf: number, siteRow: number): number => {
    parent.push(above);
    origin.push(from);
    like.push(frameOf);
    site.push(siteRow);
    mergedInto.push(0);
    return parent.length - 1;
  };
  const rowBelow = (above: number, context: number, siteRow: number): number => {
    const key = `${above} ${frame(context)} ${siteRow}`;
    return entryOf(named, key, () => addRow(above, -1, context, siteRow));
  };
  for (let context = 0; context < count; context++) {
    const caller = callers[context]!;
    const above = caller === -1 ? -1 : rowOf[caller]!;
    if (isKept[context] === 1) {
      rowOf[context] = addRow(above, context, -1, -1);
      continue;
    }
    isMerged[context] = 1;
    const isInside = caller !== -1 && isMerged[caller] === 1;
    const row = isInside ? othersOf[caller]! : (othersRows.get(above) ?? addRow(above, -1, -1, -1));
    if (!isInside) othersRows.set(above, row);
    othersOf[context] = row;
    rowOf[context] = row;
    if (hasOwn[context] === 0) continue;
    const at = sites[context]! === -1 ? context : sites[context]!;
    const siteRow = isMerged[at] === 1 ? rowBelow(row, at, -1) : rowOf[at]!;
    const own = at === context ? siteRow : rowBelow(isMerged[at] === 1 ? siteRow : row, context, siteRow);
    rowOf[context] = own;
    mergedInto[own]!++;
    mergedContexts++;
  }
  return {
    parent: Int32Array.from(parent),
    origin: Int32Array.from(origin),
    like: Int32Array.from(like),
    site: Int32Array.from(site),
    mergedInto: Int32Array.from(mergedInto),
    rowOf,
    isMerged,
    mergedContexts,
  };
}

/**
 * Returns each context's largest share of a weight, callees included; and 1 for each context with any amount
 * of its own.
 */
function sharesOf(
  callers: Int32Array,
  weights: readonly (() => Float64Array)[],
): { shares: Float64Array; hasOwn: Uint8Array } {
  const shares = new Float64Array(callers.length);
  const hasOwn = new Uint8Array(callers.length);
  for (const weight of weights) {
    const sums = weight();
    let total = 0;
    for (let context = 0; context < sums.length; context++) {
      total += sums[context]!;
      if (sums[context] !== 0) hasOwn[context] = 1;
    }
    if (total === 0) continue;
    // Callees follow their callers.
    for (let context = callers.length - 1; context >= 0; context--) {
      const caller = callers[context]!;
      if (caller !== -1) sums[caller]! += sums[context]!;
      shares[context] = Math.max(shares[context]!, sums[context]! / total);
    }
  }
  return { shares, hasOwn };
}

/** Marks the `most` largest shares with 1; of equal shares the first ones. */
function keepLargest(shares: Float64Array, most: number): Uint8Array {
  const least = shares.toSorted()[shares.length - most]!;
  let atLeast = most;
  for (const share of shares) if (share > least) atLeast--;
  return Uint8Array.from(shares, (share) => {
    if (share !== least) return share > least ? 1 : 0;
    return atLeast-- > 0 ? 1 : 0;
  });
}

/** Most contexts on a page; others are merged below their caller, with their sums. */
export const MOST_CONTEXTS = 100_000;

/** Frame of all merged callers. */
const OTHERS = { function: "others, merged", flags: FRAME_FLAGS.others };

/** A frame in the form that readers of profiles use. */
export interface FrameRow {
  readonly function: string;
  /** Number returned by `PageBuilder.module`; absent for none. */
  readonly module?: number | undefined;
  /**
   * Offset in the module's code, or the address. Without a module, a number that distinguishes frames of one
   * function.
   */
  readonly address?: number | undefined;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Bits of `FRAME_FLAGS`, without `library`. */
  readonly flags?: number | undefined;
  /** Name of the library; undefined for the program's own code. */
  readonly library?: string | undefined;
}

/** Known properties of a frame that may exist already. */
interface KnownOfFrame {
  readonly name: string | undefined;
  readonly module: number | undefined;
  readonly address: number | undefined;
  readonly file: string | undefined;
  readonly line: number | undefined;
}

export type WeightKind = Omit<PageWeight, "values" | "total" | "deviations" | "before" | "totalBefore">;

/** Amounts of contexts: two columns of equal length. */
interface Share {
  readonly contexts: ArrayLike<number>;
  readonly values: ArrayLike<number>;
}

/** Tables of a page, and the new rows of merged contexts. */
export interface BuiltTables {
  readonly strings: readonly string[];
  readonly modules: readonly PageModule[];
  readonly frames: PageFrames;
  readonly contexts: PageContexts;
  readonly weights: readonly PageWeight[];
  readonly throughMerged?: PageThroughMerged | undefined;
  /** Row of each context numbered by `PageBuilder.context`. Several contexts may share a row. */
  readonly rowOf: Int32Array;
  /** 1 for each such context that was merged. */
  readonly isMerged: Uint8Array;
  /** Number of contexts with amounts of their own that were merged into each row. */
  readonly ownMerged: Int32Array;
  readonly mergedContexts: number;
}

/**
 * Collects strings, modules, frames, the context tree and weights from the profiles of all tools. Equal rows
 * are stored once.
 */
export class PageBuilder {
  readonly strings = new Numbering();
  readonly #modules: PageModule[] = [];
  readonly #frames: FrameRow[] = [];
  readonly #frameNumbers = new Map<string, number>();
  /** Frames by module and address. `#framesIn` has the first frame by name, file and line. */
  readonly #framesAt = new Map<string, readonly number[]>();
  readonly #framesIn = new Map<string, number>();
  /** Number 0 is the empty stack. */
  readonly #tree = new StackTree();
  readonly #sites: number[] = [];
  readonly #weights: { kind: WeightKind; shares: Share[]; variances: Share[] }[] = [];

  /** Registers the module with an index in the run. Returns its number. */
  module(index: number, module: PageModule): number {
    this.#modules[index] ??= module;
    return index;
  }

  frame(row: FrameRow): number {
    const { function: name, module = -1, address = -1, file = "", line = 0, column = 0, flags = 0 } = row;
    // Code that was not inlined belongs to one function at each address, but tools may name that function
    // differently.
    const isPlain = (flags & FRAME_FLAGS.inlined) === 0;
    const key =
      address < 0 || module < 0
        ? `${module} ${address} ${flags} ${line}:${column} ${file}\n${name}`
        : `${module}:${address}${isPlain ? "" : ` ${line} ${name}`}`;
    const existing = this.#frameNumbers.get(key);
    if (existing !== undefined) return existing;
    const number = this.#frames.push(row) - 1;
    this.#frameNumbers.set(key, number);
    if (address >= 0) this.#framesAt.set(`${module}:${address}`, [...this.framesAt(module, address), number]);
    const source = sourceKey(name, file, line);
    if (!this.#framesIn.has(source)) this.#framesIn.set(source, number);
    return number;
  }

  framesAt(module: number, address: number): readonly number[] {
    return this.#framesAt.get(`${module}:${address}`) ?? [];
  }

  /** Returns the existing frame that matches the known properties; adds a frame if none does. */
  knownFrame({ name, module, address, file, line }: KnownOfFrame): number {
    if (module !== undefined && address !== undefined) {
      const candidates = this.framesAt(module, address);
      const matches = (number: number) => {
        const row = this.#frames[number]!;
        return (name ?? row.function) === row.function && (line ?? 0) === (row.line ?? 0);
      };
      const isPlain = (number: number) => ((this.#frames[number]!.flags ?? 0) & FRAME_FLAGS.inlined) === 0;
      const found = candidates.find(matches) ?? candidates.find(isPlain);
      if (found !== undefined) return found;
    }
    const text = name ?? (address === undefined ? "[no name]" : `0x${address.toString(16)}`);
    const inSource = file === undefined ? undefined : this.#framesIn.get(sourceKey(text, file, line ?? 0));
    return inSource ?? this.frame({ function: text, module, address, file, line });
  }

  frameRow(frame: number): FrameRow {
    return this.#frames[frame]!;
  }

  /** Returns the context of `frame` called by `caller`; −1 is the caller of an outermost frame. */
  context(caller: number, frame: number): number {
    return this.#tree.child(caller + 1, frame) - 1;
  }

  /** Returns the context of a path of frames, innermost first; −1 without frames. */
  path(frames: readonly number[]): number {
    let context = -1;
    for (let index = frames.length - 1; index >= 0; index--) context = this.context(context, frames[index]!);
    return context;
  }

  callerOf(context: number): number {
    return this.#tree.parentOf(context + 1) - 1;
  }

  frameOf(context: number): number {
    return this.#tree.frameOf(context + 1);
  }

  /** Sets the context (itself or a caller) that names the site of a context. The first call wins. */
  setSite(context: number, site: number): void {
    this.#sites[context] ??= site;
  }

  siteOf(context: number): number {
    return this.#sites[context] ?? -1;
  }

  /** Adds amounts of a weight to contexts. Amounts added several times are summed. */
  addWeight(kind: WeightKind, contexts: ArrayLike<number>, values: ArrayLike<number>): void {
    const existing = this.#weights.find(({ kind: { id } }) => id === kind.id);
    if (existing === undefined) this.#weights.push({ kind, shares: [{ contexts, values }], variances: [] });
    else existing.shares.push({ contexts, values });
  }

  /** Adds amounts to an existing weight; without effect if there is no such weight. */
  addTo(id: string, contexts: ArrayLike<number>, values: ArrayLike<number>): void {
    this.#weights.find(({ kind }) => kind.id === id)?.shares.push({ contexts, values });
  }

  /** Adds variances of estimated amounts; each context's estimates are independent. */
  addVariances(id: string, contexts: ArrayLike<number>, values: ArrayLike<number>): void {
    this.#weights.find(({ kind }) => kind.id === id)?.variances.push({ contexts, values });
  }

  /**
   * Builds the tables. Contexts beyond the limit are merged below their callers.
   *
   * @param mostContexts limit, rows of merged contexts not included
   */
  build(mostContexts: number): BuiltTables {
    this.#tree.seal();
    const { length, parent, frame } = this.#tree.view();
    const callers = Int32Array.from({ length: length - 1 }, (_, context) => parent[context + 1]! - 1);
    const sites = Int32Array.from({ length: length - 1 }, (_, context) => this.#sites[context] ?? -1);
    const added = (shares: readonly Share[]): Float64Array => {
      const values = new Float64Array(length - 1);
      for (const { contexts, values: own } of shares)
        for (let index = 0; index < contexts.length; index++)
          if (contexts[index]! >= 0) values[contexts[index]!]! += own[index]!;
      return values;
    };
    const columns = this.#weights.map(
      ({ shares }) =>
        () =>
          added(shares),
    );
    const bounded = boundContexts(callers, columns, mostContexts, {
      frame: (context) => frame[context + 1]!,
      site: sites,
    });
    const rows = bounded.origin.length;
    const frames = new Int32Array(rows);
    const site = new Int32Array(rows);
    for (let row = 0; row < rows; row++) {
      const [from, like] = [bounded.origin[row]!, bounded.like[row]!];
      const named = from >= 0 ? from : like;
      frames[row] = named >= 0 ? frame[named + 1]! : this.frame(OTHERS);
      site[row] = from < 0 ? bounded.site[row]! : sites[from] === -1 ? -1 : bounded.rowOf[sites[from]!]!;
    }
    const ofRows = (column: Float64Array): Float64Array => {
      const values = new Float64Array(rows);
      for (let context = 0; context < column.length; context++)
        values[bounded.rowOf[context]!]! += column[context]!;
      return values;
    };
    const weights = this.#weights.map(({ kind, variances }, index): PageWeight => {
      const all = columns[index]!();
      const total = all.reduce((sum, value) => sum + value, 0);
      const deviations =
        variances.length === 0 ? {} : { deviations: ofRows(added(variances).map(Math.sqrt)) };
      return { ...kind, values: ofRows(all), total, ...deviations };
    });
    const table = this.#buildFrames();
    const contexts = { length: rows, parent: bounded.parent, frame: frames, site };
    const isMerged = bounded.mergedContexts > 0;
    const all = { parent: callers, frame: Int32Array.from(frame.subarray(1, length)) };
    return {
      strings: this.strings.texts,
      modules: Array.from(this.#modules, (module) => module ?? { name: "unknown module" }),
      frames: table,
      contexts: isMerged ? { ...contexts, merged: bounded.mergedInto } : contexts,
      weights,
      ...(isMerged
        ? { throughMerged: throughMerged(table, { all, contexts }, weights, (index) => columns[index]!()) }
        : {}),
      rowOf: bounded.rowOf,
      isMerged: bounded.isMerged,
      ownMerged: bounded.mergedInto,
      mergedContexts: bounded.mergedContexts,
    };
  }

  #buildFrames(): PageFrames {
    const rows = this.#frames;
    const text = (value: string | undefined) => (value === undefined ? -1 : this.strings.of(value));
    return {
      length: rows.length,
      function: Int32Array.from(rows, (row) => text(mainName(row.function))),
      module: Int32Array.from(rows, ({ module = -1 }) => module),
      file: Int32Array.from(rows, ({ file }) => text(file)),
      line: Int32Array.from(rows, ({ line = 0 }) => line),
      column: Int32Array.from(rows, ({ column = 0 }) => column),
      address: Float64Array.from(rows, ({ address = -1, module = -1 }) => (module < 0 ? -1 : address)),
      flags: Uint8Array.from(rows, flagsOf),
      library: Int32Array.from(rows, ({ library }) => text(library)),
    };
  }
}

function flagsOf({ flags = 0, library }: FrameRow): number {
  if (library === undefined) return flags;
  return flags | FRAME_FLAGS.library | (library === LAYER ? FRAME_FLAGS.allocator : 0);
}

/** Numbers texts; equal texts get the same number. */
class Numbering {
  readonly texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  of(text: string): number {
    const existing = this.#numbers.get(text);
    if (existing !== undefined) return existing;
    this.#numbers.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }
}

function sourceKey(name: string, file: string, line: number): string {
  return `${name}\n${file}\n${line}`;
}

type Tree = Pick<PageContexts, "parent" | "frame">;

/** Relative rounding error of sums of fractions added in different orders. */
const ROUNDING = 1e-9;

/**
 * Returns the amounts that lines and files have from calls on merged paths, whose callers are missing in the
 * page's contexts.
 *
 * @param trees all contexts, and those of the page
 * @param valuesOf returns the amount of each context (of all contexts) of the weight with an index
 */
function throughMerged(
  frames: PageFrames,
  { all, contexts }: { readonly all: Tree; readonly contexts: Tree },
  weights: readonly PageWeight[],
  valuesOf: (weight: number) => Float64Array,
): PageThroughMerged {
  const [lines, files] = [lineKeys(frames), fileKeys(frames)].map((keys) => ({
    keys,
    whole: new Through(all, keys),
    told: new Through(contexts, keys),
  }));
  const missing = weights.map(({ id, values }, index) => {
    const [whole, shownSums] = [withCalls(all, valuesOf(index)), withCalls(contexts, values)];
    const [ofLines, ofFiles] = [lines!, files!].map((of) =>
      without(of.whole.sums(whole), of.told.sums(shownSums)),
    );
    return { weight: id, ofLines: ofLines!, ofFiles: ofFiles! };
  });
  const shownLines = somethingIn(missing.map(({ ofLines }) => ofLines));
  const shownFiles = somethingIn(missing.map(({ ofFiles }) => ofFiles));
  return {
    lines: framesOf(lines!.keys, shownLines),
    files: framesOf(files!.keys, shownFiles),
    columns: missing
      .map(({ weight, ofLines, ofFiles }) => ({
        weight,
        ofLines: Float64Array.from(shownLines, (key) => ofLines[key]!),
        ofFiles: Float64Array.from(shownFiles, (key) => ofFiles[key]!),
      }))
      .filter(({ ofLines, ofFiles }) =>
        [ofLines, ofFiles].some((column) => column.some((value) => value !== 0)),
      ),
  };
}

function without(whole: Float64Array, shownSums: Float64Array): Float64Array {
  return whole.map((sum, key) => {
    const missing = sum - shownSums[key]!;
    return Math.abs(missing) <= ROUNDING * Math.abs(sum) ? 0 : missing;
  });
}

/** Returns the rows in which any column has a number. */
function somethingIn(columns: readonly Float64Array[]): Int32Array {
  const length = columns[0]?.length ?? 0;
  return Int32Array.from({ length }, (_, row) => row).filter((row) =>
    columns.some((column) => column[row] !== 0),
  );
}

function framesOf({ first }: FrameKeys, keys: Int32Array): Int32Array {
  return keys.map((key) => first[key]!);
}
