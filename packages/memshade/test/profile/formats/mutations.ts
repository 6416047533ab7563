export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

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

const NUMBERS = ["", "0", "1", "-1", "ffffffff", "4294967296", "9007199254740993", "ffffffffffffffff"].concat(
  ["9".repeat(30), "1e400"],
);
/** LEB128 of 2^32 - 1, 2^31, 2^64 - 1, and a number without an end. */
const LEBS = [
  [0xff, 0xff, 0xff, 0xff, 0x0f],
  [0x80, 0x80, 0x80, 0x80, 0x08],
  [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
  new Array<number>(12).fill(0x80),
];
const isHexDigit = (byte = 0): boolean => (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66);

/** A damaged copy: some bytes changed, cut off, inserted, removed or repeated. */
export function mutate(bytes: Uint8Array, random: () => number): Uint8Array {
  let damaged = bytes.slice();
  const times = 1 + Math.floor(random() * random() * 5);
  for (let time = 0; time < times; time++) damaged = mutateOnce(damaged, random);
  return damaged;
}

function mutateOnce(bytes: Uint8Array, random: () => number): Uint8Array<ArrayBuffer> {
  const upTo = (end: number) => Math.floor(random() * end);
  const at = upTo(bytes.length + 1);
  const kind = upTo(10);
  const copy = bytes.slice();
  const view = new DataView(copy.buffer);
  const aligned = at & ~7;
  if (kind === 0) return copy.slice(0, at);
  if (kind === 1 && at < copy.length) copy[at]! ^= 1 << upTo(8);
  if (kind === 2 && at < copy.length) copy[at] = upTo(256);
  if (kind === 3 && aligned + 8 <= copy.length) view.setBigUint64(aligned, EDGES[upTo(EDGES.length)]!, true);
  if (kind === 4 && at + 4 <= copy.length)
    view.setUint32(at & ~3, Number(EDGES[upTo(EDGES.length)]! & 0xffffffffn), true);
  if (kind === 5 && aligned + 8 <= copy.length)
    view.setBigUint64(aligned, view.getBigUint64(aligned, true) + BigInt(upTo(33)) - 16n, true);
  const spliced = (inserted: Iterable<number>, end: number) =>
    new Uint8Array([...copy.subarray(0, at), ...inserted, ...copy.subarray(end)]);
  if (kind === 8) {
    let end = at;
    while (isHexDigit(copy[end])) end++;
    return spliced(new TextEncoder().encode(NUMBERS[upTo(NUMBERS.length)]), end);
  }
  if (kind === 9) {
    const leb = LEBS[upTo(LEBS.length)]!;
    return spliced(leb, at + (random() < 0.5 ? 1 : leb.length));
  }
  const length = upTo(Math.min(200, copy.length - Math.min(at, copy.length)) + 1);
  if (kind === 6) return spliced([], at + length);
  if (kind === 7) {
    const from = upTo(copy.length);
    return spliced(copy.subarray(from, from + length), at);
  }
  return copy;
}

const STRANGERS: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  0.5,
  1e300,
  2 ** 32,
  2 ** 53,
  -0,
  "",
  "x",
  "9".repeat(30),
  [],
  [[]],
  [null],
  {},
  { length: 5 },
  { __proto__: null, toString: 1 },
];

interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])]);
}

/** The same JSON with one value replaced, removed, or repeated a thousand times. */
export function withStranger(json: string, random: () => number): string {
  const value: unknown = JSON.parse(json);
  const places = placesIn(value);
  const { holder, key } = places[Math.floor(random() * places.length)]!;
  const before = holder[key];
  const choice = Math.floor(random() * (STRANGERS.length + 3));
  if (choice < STRANGERS.length) holder[key] = STRANGERS[choice];
  else if (choice === STRANGERS.length) delete holder[key];
  else if (choice === STRANGERS.length + 1) holder[key] = Array.from({ length: 1000 }, () => before);
  else holder[key] = typeof before === "string" ? before.repeat(1000) : [before];
  return JSON.stringify(value);
}
