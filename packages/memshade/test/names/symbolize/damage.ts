import type { ObjectFile } from "../../../src/code/objects/index.ts";

/** Returns seeded random numbers from 0 to `below` - 1 (xorshift). */
export function randomNumbers(seed: number): (below: number) => number {
  let state = (seed * 2654435761 + 88675123) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const TELLING_BYTES = [0, 1, 0x7f, 0x80, 0xff, 0xfe, 4, 8];

/** An object whose debug information is damaged in a few bytes, after decompression and relocation. */
export function damaged(object: ObjectFile, seed: number): ObjectFile {
  const random = randomNumbers(seed);
  const names = object.sections
    .map(({ name }) => name.replace(/^\.zdebug_/, ".debug_"))
    .filter((name) => name.startsWith(".debug_") && (object.section(name)?.length ?? 0) > 0);
  const chosen = new Set(Array.from({ length: 1 + random(3) }, () => names[random(names.length)]!));
  const contents = new Map([...chosen].map((name) => [name, damage(object.section(name)!, random)]));
  return new Proxy(object, {
    get: (target, key) => {
      if (key === "sectionInPieces") return () => undefined;
      if (key === "section") return (name: string) => contents.get(name) ?? target.section(name);
      const value = Reflect.get(target, key, target) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function damage(content: Uint8Array, random: (below: number) => number): Uint8Array {
  const bytes = new Uint8Array(content);
  const place = () => (random(3) === 0 ? random(Math.min(64, bytes.length)) : random(bytes.length));
  for (let left = 1 + random(8); left > 0; left--) {
    const at = place();
    switch (random(5)) {
      case 0:
        bytes[at] ^= 1 << random(8);
        break;
      case 1:
        bytes[at] = TELLING_BYTES[random(TELLING_BYTES.length)]!;
        break;
      case 2:
        bytes.fill(TELLING_BYTES[random(TELLING_BYTES.length)]!, at, at + 1 + random(16));
        break;
      case 3: {
        const from = place();
        bytes.copyWithin(at, from, from + 1 + random(32));
        break;
      }
      default:
        if (random(8) === 0) return bytes.subarray(0, at);
        bytes[at] = random(256);
    }
  }
  return bytes;
}
