/** Numbers from 0 below 1, the same for the same seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Values at the edges of what fields can hold. */
const EDGES = [
  0n,
  1n,
  2n,
  3n,
  7n,
  8n,
  0x7fn,
  0x80n,
  0xffn,
  0xffffn,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
].concat([1n << 32n, 1n << 40n, (1n << 53n) - 1n, 1n << 63n, (1n << 64n) - 1n]);

/** A damaged copy: some bytes changed, cut off, put in, taken out or repeated. */
export function mutate(bytes: Uint8Array, random: () => number): Uint8Array {
  let damaged = bytes.slice();
  const times = 1 + Math.floor(random() * random() * 5);
  for (let time = 0; time < times; time++) damaged = mutateOnce(damaged, random);
  return damaged;
}

function mutateOnce(bytes: Uint8Array, random: () => number): Uint8Array<ArrayBuffer> {
  const upTo = (end: number) => Math.floor(random() * end);
  const at = upTo(bytes.length + 1);
  const kind = upTo(8);
  const copy = bytes.slice();
  const view = new DataView(copy.buffer);
  const aligned = at & ~7;
  if (kind === 0) return copy.slice(0, at);
  if (kind === 1 && at < copy.length) copy[at]! ^= 1 << upTo(8);
  if (kind === 2 && at < copy.length) copy[at] = upTo(256);
  if (kind === 3 && aligned + 8 <= copy.length) view.setBigUint64(aligned, EDGES[upTo(EDGES.length)]!, true);
  if (kind === 4 && at + 4 <= copy.length) {
    view.setUint32(at & ~3, Number(EDGES[upTo(EDGES.length)]! & 0xffffffffn), true);
  }
  if (kind === 5 && aligned + 8 <= copy.length) {
    view.setBigUint64(aligned, view.getBigUint64(aligned, true) + BigInt(upTo(33)) - 16n, true);
  }
  const length = upTo(Math.min(200, copy.length - Math.min(at, copy.length)) + 1);
  if (kind === 6) return new Uint8Array([...copy.subarray(0, at), ...copy.subarray(at + length)]);
  if (kind === 7) {
    const from = upTo(copy.length);
    return new Uint8Array([
      ...copy.subarray(0, at),
      ...copy.subarray(from, from + length),
      ...copy.subarray(at),
    ]);
  }
  return copy;
}
