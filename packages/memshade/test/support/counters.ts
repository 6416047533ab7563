import { type InstrumentedInfo, type InstrumentOptions, instrument } from "../../src/record/tools/index.ts";

const GRANULE_BYTES = 8;

export interface GranuleCount {
  count: number;
  reads: boolean;
}

/** Non-zero counters by address of their granule. A word is (accesses << 1) | (1 if one of them read). */
export function granulesOf(words: Uint32Array): Record<number, GranuleCount> {
  const found: Record<number, GranuleCount> = {};
  for (let granule = 0; granule < words.length; granule++) {
    const word = words[granule];
    if (word !== 0) found[granule * GRANULE_BYTES] = { count: word >>> 1, reads: (word & 1) === 1 };
  }
  return found;
}

/** An instance of an instrumented module, and the counters in its shadow memory. */
export class Watched {
  readonly exports: Record<string, (...operands: never[]) => unknown>;
  readonly info: InstrumentedInfo;
  readonly instance: WebAssembly.Instance;
  readonly #shadow: WebAssembly.Memory;

  constructor(bytes: Uint8Array, options: InstrumentOptions = {}, imports: WebAssembly.Imports = {}) {
    const { bytes: rewritten, info } = instrument(bytes, { maxBlocks: 64, maxContexts: 64, ...options });
    this.info = info;
    this.instance = new WebAssembly.Instance(new WebAssembly.Module(rewritten as BufferSource), imports);
    this.exports = this.instance.exports as never;
    this.#shadow = this.instance.exports["memshade.memory"] as WebAssembly.Memory;
  }

  call(name: string, ...operands: unknown[]): unknown {
    return this.exports[name](...(operands as never[]));
  }

  /** The counters, one per granule of the covered memory. Writable: filling them with 0 resets them. */
  get words(): Uint32Array {
    return new Uint32Array(this.#shadow.buffer, 0, (this.info.layout?.coveredBytes ?? 0) / GRANULE_BYTES);
  }

  counts(): Record<number, number> {
    return Object.fromEntries(Object.entries(this.granules()).map(([at, { count }]) => [at, count]));
  }

  granules(): Record<number, GranuleCount> {
    return granulesOf(this.words);
  }

  total(): number {
    let sum = 0;
    for (const word of this.words) sum += word >>> 1;
    return sum;
  }

  clear(): void {
    this.words.fill(0);
  }
}

/** Counts all accesses, each at its own granule. */
export const EXACT = {
  countersOnly: true,
  exactHistogram: true,
  includeStack: true,
  includeAllocator: true,
} as const;
/** Counts all accesses, merged per base address. */
export const MERGED = { countersOnly: true, includeStack: true, includeAllocator: true } as const;
/** The default counters of users: without the stack. */
export const DEFAULT = { countersOnly: true } as const;
