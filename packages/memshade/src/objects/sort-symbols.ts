const RADIX_BITS = 11;
const RADIX = 1 << RADIX_BITS;

/** Row numbers by address, size and row. */
export function sortedRows(addresses: Float64Array, sizes: Float64Array): Uint32Array {
  const rows = sortRowsByAddress(addresses);
  // Runs of equal addresses are short, aliases mostly; only they need a look at the sizes.
  for (let start = 0; start < rows.length; ) {
    let end = start + 1;
    while (end < rows.length && addresses[rows[end]] === addresses[rows[start]]) end++;
    if (end - start > 1) rows.subarray(start, end).sort((a, b) => sizes[a] - sizes[b] || a - b);
    start = end;
  }
  return rows;
}

function sortRowsByAddress(addresses: Float64Array): Uint32Array {
  let lowest = Number.POSITIVE_INFINITY;
  let highest = Number.NEGATIVE_INFINITY;
  let isSorted = true;
  for (let row = 0; row < addresses.length; row++) {
    const address = addresses[row];
    if (address < highest) isSorted = false;
    if (address < lowest) lowest = address;
    if (address > highest) highest = address;
  }
  const rows = new Uint32Array(addresses.length);
  for (let row = 0; row < rows.length; row++) rows[row] = row;
  if (isSorted) return rows;
  if (highest - lowest >= 2 ** 32) return rows.sort((a, b) => addresses[a] - addresses[b] || a - b);
  const keys = new Uint32Array(addresses.length);
  for (let row = 0; row < keys.length; row++) keys[row] = addresses[row] - lowest;
  return radixSort(rows, keys);
}

/** Sorts rows by their 32-bit keys, stably: large tables have hundreds of thousands of symbols. */
function radixSort(rows: Uint32Array, keys: Uint32Array): Uint32Array {
  let from = rows;
  let to: Uint32Array = new Uint32Array(rows.length);
  const ends = new Uint32Array(RADIX);
  for (let shift = 0; shift < 32; shift += RADIX_BITS) {
    ends.fill(0);
    for (let i = 0; i < keys.length; i++) ends[(keys[i] >>> shift) & (RADIX - 1)]++;
    for (let digit = 0, sum = 0; digit < RADIX; digit++) {
      const count = ends[digit];
      ends[digit] = sum;
      sum += count;
    }
    for (let i = 0; i < from.length; i++) {
      const row = from[i];
      to[ends[(keys[row] >>> shift) & (RADIX - 1)]++] = row;
    }
    [from, to] = [to, from];
  }
  return from;
}
