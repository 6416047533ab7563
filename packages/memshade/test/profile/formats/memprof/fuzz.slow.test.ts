import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { sourceOfBytes } from "../../../../src/ground/bytes/byte-source.ts";
import { FormatError } from "../../../../src/ground/bytes/errors.ts";
import { joinPieces } from "../../../../src/ground/bytes/file-piece.ts";
import { functionGuid } from "../../../../src/profile/formats/memprof/guid.ts";
import { RawAdder, symbolizeRaw } from "../../../../src/profile/formats/memprof/index.ts";
import {
  addIndexed,
  type ContainerVersion,
  type MemprofVersion,
  openSection,
  readIndexed,
  readLinear,
  writeIndexed,
  writeMerged,
} from "../../../../src/profile/formats/memprof-indexed/index.ts";
import {
  contextsOfScan,
  heapProfileFromRaw,
  readRaw,
  scanRaw,
  writeRaw,
} from "../../../../src/profile/formats/memprof-raw/index.ts";
import { readFastYaml } from "../../../../src/profile/formats/memprof-text/fast-yaml.ts";
import {
  indexedProfileText,
  rawProfileText,
  sectionText,
} from "../../../../src/profile/formats/memprof-text/index.ts";
import { readMemprofYaml } from "../../../../src/profile/formats/memprof-text/read-yaml.ts";
import { MemshadeProfile } from "../../../../src/profile/formats/memshade-profile/index.ts";
import {
  HOT_COLD_FIELDS,
  type MemprofProfile,
  ProfileMerger,
} from "../../../../src/profile/model/memprof/index.ts";
import { MIB_FIELDS } from "../../../../src/profile/model/mib-fields.ts";
import { writeMemshadeProfile } from "../../../support/whole.ts";
import { mutate, randomNumbers } from "../mutations.ts";

// Every reader of profiles on damaged files, with the commands' use of the results. For more cases: MEMSHADE_SEED=… MEMSHADE_RUNS=100000
// vitest run test/profile/formats/memprof/fuzz.slow.test.ts

const OWN = fileURLToPath(new URL("../../../fixtures/memprof/", import.meta.url));
const read = (name: string) => new Uint8Array(readFileSync(OWN + name));
const RUNS = Number(process.env.MEMSHADE_RUNS ?? 2000);
const SEED = Number(process.env.MEMSHADE_SEED ?? 1);
/** Limit of allocated bytes. Only a reader that trusts the file's claimed sizes needs more for some KiB. */
const MOST_BYTES = 64 << 20;

/** Frames chosen by the lowest bits of an address: some inlined, some unknown. */
const framesAt = (address: number) =>
  address % 8 === 7
    ? []
    : [
        {
          guid: functionGuid(`f${address % 5}`),
          lineOffset: address % 3,
          column: 1,
          inline: true,
          name: `f${address % 5}`,
        },
        { guid: functionGuid("outer"), lineOffset: 2, column: 2, inline: false, name: "outer" },
      ];
const everywhere = { start: -1, end: 2 ** 64, shift: 0, key: "all", framesAt };

const framesAtPc = (pc: bigint) => framesAt(Number(pc & 0xffffn));

/** Converts a single file as `merge` does. */
function convertRaw(bytes: Uint8Array): void {
  const { profile } = symbolizeRaw(contextsOfScan(scanRaw(bytes)), { framesAt: framesAtPc });
  joinPieces(writeIndexed(profile, { ...OPTIONS, order: "inserted" }));
}

function mergeRaw(bytes: Uint8Array): void {
  const merger = new ProfileMerger(HOT_COLD_FIELDS, false);
  new RawAdder(merger, false).add(scanRaw(bytes), [everywhere], 0);
  joinPieces(writeMerged(merger, OPTIONS).chunks);
}

function mergedRaw(bytes: Uint8Array): Uint8Array {
  const merger = new ProfileMerger(MIB_FIELDS, true);
  new RawAdder(merger, true).add(scanRaw(bytes), [everywhere], 0);
  return writeMemshadeProfile(merger.build().profile);
}

function showRaw(bytes: Uint8Array): void {
  const scan = scanRaw(bytes);
  const { profile, ...rest } = symbolizeRaw(contextsOfScan(scan), { framesAt: framesAtPc });
  Array.from(rawProfileText({ version: 5, segments: scan.segments, ...rest }, profile));
}

const OPTIONS = { version: 4, container: 13, schema: MIB_FIELDS, order: "stored" } as const;

function useProfile(profile: MemprofProfile): void {
  const merger = new ProfileMerger(HOT_COLD_FIELDS, false);
  merger.addProfile(profile, 0);
  joinPieces(writeMerged(merger, { ...OPTIONS, schema: HOT_COLD_FIELDS }).chunks);
  Array.from(indexedProfileText(profile));
}

function mergeMemshade(file: MemshadeProfile): void {
  const merger = new ProfileMerger(MIB_FIELDS, true, true);
  const { contexts: length, fields } = file;
  merger.addPieces(file.outline(), { length, fields, pieces: file.blocks() }, 0);
  writeMemshadeProfile(merger.build().profile);
}

const raw = (bytes: Uint8Array) => {
  for (const use of [
    () => mergeRaw(bytes),
    () => void mergedRaw(bytes),
    () => showRaw(bytes),
    () => convertRaw(bytes),
    () => void heapProfileFromRaw(readRaw(bytes), undefined, () => () => []),
  ])
    orError(use);
};
const indexed = (bytes: Uint8Array) => {
  orError(() => {
    const { cursor, memprofVersion } = openSection(bytes);
    if (memprofVersion < 3) return;
    // The summary of version 4 is copied from the file.
    const shown = (pieces: Iterable<string>) => [...pieces].join("").replace(/^#.*\n/gm, "");
    expect(shown(sectionText(readLinear(cursor, memprofVersion)))).toBe(
      shown(indexedProfileText(readIndexed(bytes).profile)),
    );
  });
  orError(() => useProfile(readIndexed(bytes).profile));
  for (const fields of [HOT_COLD_FIELDS, MIB_FIELDS])
    orError(() => {
      const merger = new ProfileMerger(fields, false);
      addIndexed(sourceOfBytes(bytes), merger, 0);
      joinPieces(writeMerged(merger, OPTIONS).chunks);
    });
};

const whole = readIndexed(read("c-basic.v5.v4.full.memprofdata")).profile;
const container = (version: MemprofVersion, number: ContainerVersion) =>
  joinPieces(writeIndexed(whole, { ...OPTIONS, version, container: number }));
const histogram = read("histogram.v4.memprofraw");
const twoDumps = new Uint8Array(Buffer.concat([histogram, writeRaw(readRaw(histogram), 5)]));

const FILES: readonly (readonly [string, Uint8Array, (bytes: Uint8Array) => void])[] = [
  ["raw version 3", read("c-basic.v3.memprofraw"), raw],
  ["raw version 4", histogram, raw],
  ["raw version 5", read("threads.v5.memprofraw"), raw],
  ["several dumps", twoDumps, raw],
  ["indexed version 0", read("llvm19.v0.memprofdata"), indexed],
  ["indexed version 1", read("llvm19.v1.memprofdata"), indexed],
  ...([8, 9, 10, 11, 12, 13] as const).map((number) => {
    const version = ([2, 3, 4] as const)[number % 3]!;
    const name = `indexed version ${version} in container ${number}`;
    return [name, container(version, number), indexed] as const;
  }),
  ["data accesses", read("data-order.v4.memprofdata"), indexed],
  [
    "YAML",
    read("c-basic.v5.v4.yaml"),
    (bytes) => {
      orError(() => useProfile(readMemprofYaml(bytes)));
      const fast = readFastYaml(sourceOfBytes(bytes));
      if (fast !== undefined) expect(fast).toEqual(readMemprofYaml(bytes));
    },
  ],
  [
    "memshade, in one chunk",
    mergedRaw(read("threads.v5.memprofraw")),
    (bytes) => {
      orError(() => useProfile(new MemshadeProfile(bytes).whole()));
      orError(() => mergeMemshade(new MemshadeProfile(bytes)));
    },
  ],
  [
    "memshade, packed",
    writeMemshadeProfile(whole),
    (bytes) => {
      orError(() => useProfile(new MemshadeProfile(bytes).whole()));
      orError(() => mergeMemshade(new MemshadeProfile(bytes)));
    },
  ],
];

/** Ignores typed errors; any other error is a defect. */
function orError(use: () => void): void {
  try {
    use();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
  }
}

/** Bytes of arrays and objects, including those that wait for the garbage collector. */
function memoryBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe("damaged profiles", () => {
  it.each(FILES)(
    "%s: end in a result or a typed error, in memory that what they claim does not change",
    (name, good, use) => {
      orError(() => use(good));
      const runs = Math.ceil(RUNS / FILES.length);
      for (let run = 0; run < runs; run++) {
        const seed = SEED * 1_000_003 + run;
        const bytes = mutate(good, randomNumbers(seed));
        const before = memoryBytes();
        try {
          orError(() => use(bytes));
        } catch (error) {
          throw new Error(`${name}, damaged by seed ${seed}`, { cause: error });
        }
        expect(memoryBytes() - before, `${name}, damaged by seed ${seed}`).toBeLessThan(MOST_BYTES);
      }
    },
    600_000,
  );
});
