import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ByteSource } from "../../../../src/ground/bytes/byte-source.ts";
import { FormatError } from "../../../../src/ground/bytes/errors.ts";
import {
  type RawProfile,
  readRaw,
  scanDumps,
  scanRaw,
  writeRaw,
} from "../../../../src/profile/formats/memprof-raw/index.ts";
import { mibFromPacked } from "../../../../src/profile/model/memprof/merge/block-merge.ts";
import { rawProfile as anyRawProfile } from "./arbitrary.ts";

/** A file that is read into memory in pieces only; records the largest piece. */
class FileOf implements ByteSource {
  largest = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get size(): number {
    return this.#bytes.length;
  }

  read(offset: number, length: number): Uint8Array {
    return this.#bytes.slice(offset, offset + length);
  }

  readInto(offset: number, target: Uint8Array): Uint8Array {
    this.largest = Math.max(this.largest, target.length);
    const piece = this.#bytes.subarray(offset, offset + target.length);
    target.set(piece);
    return target.subarray(0, piece.length);
  }
}

/** Result of a scan in the form of `readRaw`, with the meaningless pointer of blocks removed. */
function scanned(source: ByteSource | Uint8Array): Pick<RawProfile, "segments" | "contexts"> {
  const scan = scanRaw(source);
  const cursor = scan.contexts();
  const contexts: RawProfile["contexts"] = [];
  while (cursor.next()) {
    const mib = mibFromPacked(cursor.mib, cursor.mibAt, scan.version === 3 ? 132 : 144);
    const histogram = cursor.histogram();
    const pcs = Array.from({ length: cursor.depth }, (_, index) =>
      cursor.pcs.getBigUint64(cursor.pcsAt + 8 * index, true),
    );
    contexts.push({
      stackId: 0n,
      pcs,
      mib: histogram === undefined ? mib : { ...mib, histogram: [...histogram] },
    });
  }
  expect(contexts.length).toBe(scan.length);
  return { segments: [...scan.segments], contexts };
}

function expected(bytes: Uint8Array): Pick<RawProfile, "segments" | "contexts"> {
  const { segments, contexts } = readRaw(bytes);
  return { segments, contexts: contexts.map((context) => ({ ...context, stackId: 0n })) };
}

function joined(...dumps: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(dumps));
}

describe("going through a raw profile", () => {
  it("meets every context with its block, PCs and histogram, in any version, whole or by pieces", () => {
    fc.assert(
      fc.property(anyRawProfile, fc.constantFrom(3 as const, 4 as const, 5 as const), (profile, version) => {
        const bytes = writeRaw(profile, version);
        expect(scanned(bytes)).toEqual(expected(bytes));
        expect(scanned(new FileOf(bytes))).toEqual(expected(bytes));
      }),
      { numRuns: 100 },
    );
  });

  it("merges several dumps, of which later ones have their contexts in another order", () => {
    fc.assert(
      fc.property(anyRawProfile, fc.integer(), (profile, seed) => {
        const contexts = profile.contexts.toSorted((a, b) =>
          Number((a.stackId ^ BigInt(seed & 7)) - (b.stackId ^ BigInt(seed & 7))),
        );
        const bytes = joined(
          writeRaw(profile, 4),
          writeRaw({ ...profile, contexts: contexts.slice(1) }, 5),
          writeRaw({ ...profile, contexts }, 4),
        );
        expect(scanned(new FileOf(bytes))).toEqual(expected(bytes));
      }),
      { numRuns: 60 },
    );
  });

  it("holds pieces of a large file only", () => {
    const [first] = fc.sample(
      anyRawProfile.filter(({ contexts }) => contexts.length > 0),
      1,
    );
    const [context] = first!.contexts;
    const contexts = Array.from({ length: 20_000 }, (_, index) => ({
      ...context!,
      stackId: BigInt(index + 1),
    }));
    const bytes = writeRaw({ ...first!, contexts }, 4);
    const file = new FileOf(bytes);
    let met = 0;
    for (const cursor = scanRaw(file).contexts(); cursor.next(); ) met++;
    expect(met).toBe(20_000);
    expect(bytes.length).toBeGreaterThan(8 * file.largest);
  });

  it("says so if the file becomes shorter while it is read", () => {
    const [profile] = fc.sample(
      anyRawProfile.filter(({ contexts }) => contexts.length > 0),
      1,
    );
    const bytes = writeRaw(profile!, 4);
    const shrinking: ByteSource = {
      size: bytes.length,
      read: (offset, length) => bytes.slice(offset, Math.min(offset + length, 60)),
    };
    expect(() => scanRaw(shrinking)).toThrow(FormatError);
  });
});

describe("scanDumps", () => {
  const segment = (start: bigint) => ({ start, end: start + 0x100n, offset: 0n, buildId: Uint8Array.of(1) });

  it("hands out the dumps of several processes, each with its own segments", () => {
    fc.assert(
      fc.property(fc.array(anyRawProfile, { minLength: 1, maxLength: 3 }), (processes) => {
        const file = new FileOf(Buffer.concat(processes.map((raw) => writeRaw(raw))));
        const dumps = scanDumps(file);
        expect(dumps.map(({ segments }) => segments)).toEqual(
          processes.map((raw) => readRaw(writeRaw(raw)).segments),
        );
        expect(dumps.map(({ length }) => length)).toEqual(processes.map(({ contexts }) => contexts.length));
      }),
      { numRuns: 50 },
    );
  });

  it("says of damage where in the file it is", () => {
    const whole = writeRaw({ version: 4, segments: [segment(0x1000n)], contexts: [] });
    const damaged = writeRaw({ version: 4, segments: [segment(0x2000n)], contexts: [] });
    // The header claims more segments than fit.
    damaged[48] = 0xff;
    const thrown = () => scanDumps(new FileOf(Buffer.concat([whole, damaged])));
    expect(thrown).toThrow(FormatError);
    try {
      thrown();
    } catch (error) {
      expect((error as FormatError).offset).toBeGreaterThanOrEqual(whole.length + 48);
    }
  });
});
