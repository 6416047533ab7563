/** A smaller tree in place of a larger one. */
export interface BoundedContexts {
  /** By row of the smaller tree. */
  readonly parent: Int32Array;
  /** The context that a row is; −1: it stands for merged ones. */
  readonly origin: Int32Array;
  /** How many contexts that have numbers of their own were merged into a row. */
  readonly mergedInto: Int32Array;
  /** The row of each context of the larger tree. */
  readonly rowOf: Int32Array;
  /** 1 for each context of the larger tree that was merged. */
  readonly isMerged: Uint8Array;
  readonly mergedContexts: number;
}

/**
 * Keeps the contexts that matter: those with the largest share, with all that they call, of any weight. No one matters more than its
 * caller, so that what is kept is a tree. What is left out below a context becomes one row below it, so that its sums stay exact.
 *
 * @param callers of each context, −1 for none; callers stand before what they call
 * @param weights make a column each, with one number from 0 a context
 */
export function boundContexts(
  callers: Int32Array,
  weights: readonly (() => Float64Array)[],
  most: number,
): BoundedContexts {
  const count = callers.length;
  if (count <= most) {
    const same = Int32Array.from(callers.keys());
    const nothing = { mergedInto: new Int32Array(count), isMerged: new Uint8Array(count), mergedContexts: 0 };
    return { parent: callers, origin: same, rowOf: same, ...nothing };
  }
  const { shares, hasOwn } = sharesOf(callers, weights);
  const isKept = keepLargest(shares, most);
  const parent: number[] = [];
  const origin: number[] = [];
  const mergedInto: number[] = [];
  const rowOf = new Int32Array(count);
  const isMerged = new Uint8Array(count);
  /** Rows of merged contexts by the row that they are below, −1 included. */
  const others = new Map<number, number>();
  let mergedContexts = 0;
  for (let context = 0; context < count; context++) {
    const caller = callers[context]!;
    const above = caller === -1 ? -1 : rowOf[caller]!;
    if (isKept[context] === 1) {
      rowOf[context] = parent.length;
      parent.push(above);
      origin.push(context);
      mergedInto.push(0);
      continue;
    }
    isMerged[context] = 1;
    let row = caller !== -1 && isMerged[caller] === 1 ? above : others.get(above);
    if (row === undefined) {
      row = parent.length;
      others.set(above, row);
      parent.push(above);
      origin.push(-1);
      mergedInto.push(0);
    }
    rowOf[context] = row;
    mergedInto[row]! += hasOwn[context]!;
    mergedContexts += hasOwn[context]!;
  }
  return {
    parent: Int32Array.from(parent),
    origin: Int32Array.from(origin),
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
