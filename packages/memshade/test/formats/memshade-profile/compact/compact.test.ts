import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FormatError } from "../../../../src/bytes/errors.ts";
import { functionGuid } from "../../../../src/formats/memprof/guid.ts";
import {
  type CompactProfile,
  compactOf,
  packProfile,
  profileOf,
  unpackProfile,
} from "../../../../src/formats/memshade-profile/compact/index.ts";
import { FILES } from "../../../../src/formats/memshade-profile/compact/words/files.ts";
import { NAMES } from "../../../../src/formats/memshade-profile/compact/words/names.ts";
import {
  MemshadeProfile,
  type ProfileOrigin,
  writeMemshadeProfile,
} from "../../../../src/formats/memshade-profile/index.ts";
import type { MemprofFrame } from "../../../../src/model/memprof/index.ts";

const DOCS = new URL("../../../../../../docs/", import.meta.url);
const FIELD_BITS = [
  32, 64, 64, 64, 64, 32, 32, 32, 32, 64, 32, 32, 32, 32, 32, 32, 32, 32, 64, 64, 32, 32, 64, 32, 32,
];
const BUILD_ID = "c0ffee";
const ORIGIN: ProfileOrigin = {
  inputs: 3,
  binaries: [{ buildId: "ab12", name: "/usr/bin/päckchen" }],
  unmatched: ["", BUILD_ID],
};

/** A third of the frames are inlined, some have no file, some are places in a module without debug information. */
function frameOf(number: number): MemprofFrame {
  const name =
    number % 7 === 3 ? `[${BUILD_ID}]+0x${number}` : `_Z1${String.fromCharCode(97 + (number >> 1))}v`;
  const isPlace = name.startsWith("[");
  return {
    guid: functionGuid(name),
    name,
    file: isPlace || number % 5 === 4 ? undefined : `/src/${number >> 2}.cc`,
    line: isPlace ? 0 : (number * 77) % 900,
    lineOffset: isPlace ? 0 : (number * number - 9) >>> 0,
    column: isPlace ? 0 : number % 4,
    inline: !isPlace && number % 3 === 0,
    discriminator: number === 8 ? 12 : 0,
  };
}

const stack = fc.array(fc.nat(14), { minLength: 1, maxLength: 6 });
const fields = fc.tuple(
  ...FIELD_BITS.map((bits) =>
    fc.oneof(fc.bigInt(0n, 300n), fc.constantFrom(1n, 0n), fc.bigInt(0n, 2n ** BigInt(bits) - 1n)),
  ),
);
const histogram = fc.array(fc.bigInt(0n, 2n ** 64n - 1n), { maxLength: 4 });
const anyProfile = fc
  .record({
    contexts: fc.uniqueArray(fc.record({ stack, fields, histogram }), {
      selector: (context) => context.stack.join(),
      maxLength: 12,
    }),
    hasHistograms: fc.boolean(),
  })
  .map(({ contexts, hasHistograms: mayHave }): CompactProfile => {
    const hasHistograms = mayHave && contexts.some((context) => context.histogram.length > 0);
    const frames: MemprofFrame[] = [];
    const numbers = new Map<number, number>();
    return {
      origin: ORIGIN,
      hasHistograms,
      contexts: contexts.map((context) => ({
        frames: context.stack.map((each) => {
          if (!numbers.has(each)) numbers.set(each, frames.push(frameOf(each)) - 1);
          return numbers.get(each)!;
        }),
        fields: context.fields,
        histogram: hasHistograms ? context.histogram : [],
      })),
      frames,
    };
  });

/** What a canonical profile of these contexts consists of. */
const canonical = (profile: CompactProfile) => compactOf(profileOf(profile), profile.origin)!;

describe("a profile in one chunk", () => {
  it("comes back as it was", () => {
    fc.assert(
      fc.property(anyProfile, (profile) => {
        const packed = packProfile(profile)!;
        expect(unpackProfile(packed.bytes, packed.symbols, 0)).toEqual(profile);
      }),
      { numRuns: 60 },
    );
  });

  it("has all tables of the profile that it was made of", () => {
    fc.assert(
      fc.property(anyProfile, (any) => {
        const compact = canonical(any);
        const profile = profileOf(compact);
        const file = new MemshadeProfile(writeMemshadeProfile(profile, ORIGIN));
        expect(file.origin).toEqual(ORIGIN);
        expect(file.whole()).toEqual(profile);
        expect(file.functions).toEqual([...profile.records.guid]);
        const { length, guid, callStart, callStack } = profile.records;
        for (let row = 0; row < length; row++) {
          expect(file.record(guid[row]!)!.callSites.map((site) => site.stack)).toEqual([
            ...callStack.subarray(callStart[row]!, callStart[row + 1]!),
          ]);
        }
        expect(file.record(1n)).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });

  it("ends in a result or a typed error when it is damaged", () => {
    fc.assert(
      fc.property(anyProfile, fc.nat(), fc.nat(255), fc.nat(3), (profile, place, value, cut) => {
        const { bytes, symbols } = packProfile(profile)!;
        const damaged = bytes.slice(0, Math.max(0, bytes.length - cut));
        if (damaged.length > 0) damaged[place % damaged.length] = value;
        for (const claimed of [symbols, 2 * symbols, 1 << 19, 2 ** 40]) {
          try {
            profileOf(unpackProfile(damaged, claimed, 0));
          } catch (error) {
            expect(error).toBeInstanceOf(FormatError);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it("is not made of profiles with more, or less, than those of raw ones have", () => {
    const frame = frameOf(1);
    const contexts = [{ frames: [0], fields: FIELD_BITS.map(() => 1n), histogram: [] }];
    const simple = canonical({ origin: ORIGIN, hasHistograms: false, frames: [frame], contexts });
    const profile = profileOf(simple);
    expect(compactOf(profile, ORIGIN)).toEqual(simple);
    const { records } = profile;
    const dataAccess = { records: [], coldSymbols: ["x"], coldHashes: [] };
    expect(compactOf({ ...profile, dataAccess }, ORIGIN)).toBeUndefined();
    expect(
      compactOf({ ...profile, records: { ...records, guid: BigUint64Array.of(5n) } }, ORIGIN),
    ).toBeUndefined();
    const otherwise = [
      { ...frame, guid: 1n },
      { ...frame, name: undefined },
      { ...frameOf(3), line: 4 },
      { ...frameOf(3), name: `[${BUILD_ID}]+0x03`, guid: functionGuid(`[${BUILD_ID}]+0x03`) },
    ];
    for (const each of otherwise)
      expect(compactOf(profileOf({ ...simple, frames: [each] }), ORIGIN)).toBeUndefined();
    const frames = { ...profile.frames, source: undefined };
    expect(compactOf({ ...profile, frames }, ORIGIN)).toBeUndefined();
    const unusual = { ...ORIGIN, unmatched: ["not a build id"] };
    expect(packProfile({ ...simple, origin: unusual })).toBeUndefined();
    const kept = new MemshadeProfile(writeMemshadeProfile(profile, unusual));
    expect([kept.origin, kept.whole()]).toEqual([unusual, profile]);
  });

  it("refuses contexts that come twice", () => {
    const context = { frames: [0], fields: FIELD_BITS.map(() => 1n), histogram: [] };
    const twice = {
      origin: ORIGIN,
      hasHistograms: false,
      frames: [frameOf(1)],
      contexts: [context, context],
    };
    expect(() => profileOf(twice)).toThrow("a context comes twice");
  });

  it("stays the same from version to version of the program", () => {
    const contexts = [[0, 1, 2], [0, 3], [4]].map((frames, at) => ({
      frames,
      fields: FIELD_BITS.map((_, tag) => BigInt((at + 1) * tag * tag)),
      histogram: [BigInt(at)],
    }));
    const frames = [0, 2, 9, 3, 8].map(frameOf);
    const { bytes, symbols } = packProfile({ origin: ORIGIN, hasHistograms: true, frames, contexts })!;
    expect(symbols).toBe(SYMBOLS);
    expect(createHash("sha256").update(bytes).digest("hex").slice(0, 16)).toBe(DIGEST);
  });
});

const SYMBOLS = 204;
const DIGEST = "2287b94479b51bfa";

describe("the words that are known from the start", () => {
  it("are those of the documentation", () => {
    const lines = readFileSync(new URL("memshade-profile-words.txt", DOCS), "utf8").split("\n");
    expect(lines).toEqual([...FILES, "", ...NAMES, ""]);
  });
});
