/**
 * SHA-256 as in FIPS 180-4, for places where neither `node:crypto` nor an asynchronous API will do. It takes
 * about 10 ms per MiB.
 */
export function sha256(bytes: Uint8Array): Uint8Array {
  const { initialState, round } = constantsOfSha256();
  const state = initialState.slice();
  const schedule = new Uint32Array(64);
  const whole = bytes.length - (bytes.length % BLOCK_BYTES);
  for (let offset = 0; offset < whole; offset += BLOCK_BYTES) addBlock(state, schedule, round, bytes, offset);
  const tail = padTail(bytes.subarray(whole), bytes.length);
  for (let offset = 0; offset < tail.length; offset += BLOCK_BYTES)
    addBlock(state, schedule, round, tail, offset);
  const digest = new Uint8Array(32);
  const view = new DataView(digest.buffer);
  state.forEach((word, index) => {
    view.setUint32(index * 4, word);
  });
  return digest;
}

const BLOCK_BYTES = 64;
const LENGTH_BYTES = 8;

/** Computed when they are needed first: most runs of most commands hash nothing. */
let constants: { readonly initialState: Uint32Array; readonly round: Uint32Array } | undefined;

function constantsOfSha256() {
  constants ??= {
    initialState: fractionalBits(8, (prime) => Math.sqrt(prime)),
    round: fractionalBits(64, (prime) => Math.cbrt(prime)),
  };
  return constants;
}

/** First 32 bits of the fractional parts of a root of the first primes: where all the constants come from. */
function fractionalBits(count: number, root: (prime: number) => number): Uint32Array {
  const words = new Uint32Array(count);
  for (let candidate = 2, found = 0; found < count; candidate++) {
    let isPrime = true;
    for (let divisor = 2; divisor * divisor <= candidate; divisor++) isPrime &&= candidate % divisor !== 0;
    if (isPrime) words[found++] = Math.floor((root(candidate) % 1) * 2 ** 32);
  }
  return words;
}

/** The bytes after the last whole block, a single one bit, zeros, and the length in bits (big-endian). */
function padTail(rest: Uint8Array, totalBytes: number): Uint8Array {
  const blocks = Math.ceil((rest.length + 1 + LENGTH_BYTES) / BLOCK_BYTES);
  const tail = new Uint8Array(blocks * BLOCK_BYTES);
  tail.set(rest);
  tail[rest.length] = 0x80;
  new DataView(tail.buffer).setBigUint64(tail.length - LENGTH_BYTES, BigInt(totalBytes) * 8n);
  return tail;
}

function addBlock(
  state: Uint32Array,
  schedule: Uint32Array,
  round: Uint32Array,
  bytes: Uint8Array,
  offset: number,
): void {
  for (let i = 0, at = offset; i < 16; i++, at += 4) {
    schedule[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
  }
  for (let i = 16; i < 64; i++) {
    const early = schedule[i - 15];
    const late = schedule[i - 2];
    const earlyMix = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
    const lateMix = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
    schedule[i] = schedule[i - 16] + earlyMix + schedule[i - 7] + lateMix;
  }
  let a = state[0] | 0;
  let b = state[1] | 0;
  let c = state[2] | 0;
  let d = state[3] | 0;
  let e = state[4] | 0;
  let f = state[5] | 0;
  let g = state[6] | 0;
  let h = state[7] | 0;
  for (let i = 0; i < 64; i++) {
    const eMix = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const choice = (e & f) ^ (~e & g);
    const first = (h + eMix + choice + round[i] + schedule[i]) | 0;
    const aMix = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + aMix + majority) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}
