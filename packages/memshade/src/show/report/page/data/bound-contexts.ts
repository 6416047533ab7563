/** A smaller tree in place of a larger one. */
export interface BoundedContexts {
  /** By row of the smaller tree. */
  readonly parent: Int32Array;
  /** The context that a row is; −1: it stands for merged ones. */
  readonly origin: Int32Array;
  /** Of rows of merged contexts, a context with the frame that they have in common; −1: they have none, or the row is a context. */
  readonly like: Int32Array;
  /** The row that names the site of a row of merged contexts; −1 for others. */
  readonly site: Int32Array;
  /** How many contexts that have numbers of their own were merged into a row. */
  readonly mergedInto: Int32Array;
  /** The row of each context of the larger tree. */
  readonly rowOf: Int32Array;
  /** 1 for each context of the larger tree that was merged. */
  readonly isMerged: Uint8Array;
  readonly mergedContexts: number;
}

/** The frame of each context, and the context that names its site: itself, a caller, or −1 for itself. */
export interface ContextNames {
  readonly frame: (context: number) => number;
  readonly site: Int32Array;
}

/**
 * Keeps the contexts that matter: those with the largest share, with all that they call, of any weight. No one matters more than its
 * caller, so that what is kept is a tree. What is left out below a context becomes one row below it, and below that a row for each
 * site and each innermost frame: the sums of what is kept stay exact, and those of sites and functions too.
 *
 * @param most contexts that are kept; fewer where the rows of merged ones would be more than these
 * @param callers of each context, −1 for none; callers stand before what they call
 * @param weights make a column each, with one number from 0 a context
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
  // The fewer are kept, the fewer rows merged ones have below them.
  for (let kept = most; ; kept = Math.ceil(kept / 2)) {
    const bounded = mergeOthers(callers, keepLargest(shares, kept), hasOwn, names);
    if (bounded.origin.length <= MOST_ROWS * most || kept === 1) return bounded;
  }
}

/** So many rows at most, those of merged contexts included, as a multiple of the contexts that may be kept. */
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
  /** The row of all that is merged below the same kept context. */
  const othersOf = new Int32Array(count);
  const others = new Map<number, number>();
  /** Rows of merged contexts by the row that they are below, their frame and the row that names their site. */
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
    let row = named.get(key);
    if (row === undefined) {
      row = addRow(above, -1, context, siteRow);
      named.set(key, row);
    }
    return row;
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
    const row = isInside ? othersOf[caller]! : (others.get(above) ?? addRow(above, -1, -1, -1));
    if (!isInside) others.set(above, row);
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

/** The largest part that each context has of a weight, with what it calls; and 1 for each that has any number of its own. */
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
    // What a context calls stands behind it.
    for (let context = callers.length - 1; context >= 0; context--) {
      const caller = callers[context]!;
      if (caller !== -1) sums[caller]! += sums[context]!;
      shares[context] = Math.max(shares[context]!, sums[context]! / total);
    }
  }
  return { shares, hasOwn };
}

/** 1 for the `most` largest; of equal ones, those that stand first. */
function keepLargest(shares: Float64Array, most: number): Uint8Array {
  const least = shares.toSorted()[shares.length - most]!;
  let atLeast = most;
  for (const share of shares) if (share > least) atLeast--;
  return Uint8Array.from(shares, (share) => {
    if (share !== least) return share > least ? 1 : 0;
    return atLeast-- > 0 ? 1 : 0;
  });
}
