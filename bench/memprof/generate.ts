import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openObject } from "../../packages/memshade/src/code/objects/index.ts";
import {
  type RawProfile,
  readRaw,
  writeRaw,
} from "../../packages/memshade/src/profile/formats/memprof-raw/index.ts";
import { blockMib } from "../../packages/memshade/src/profile/model/mib.ts";

/** Returns seeded random numbers from 0 to below 1. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Offsets in the code segment with debug information: PCs of a raw profile, and addresses between them. */
export function codePlaces(sample: string): number[] {
  const raw = readRaw(readFileSync(sample));
  const segment = raw.segments[0]!;
  const inside = raw.contexts
    .flatMap(({ pcs }) => pcs)
    .filter((pc) => pc > segment.start && pc <= segment.end)
    .map((pc) => Number(pc - segment.start));
  const [low, high] = [Math.min(...inside), Math.max(...inside)];
  return Array.from({ length: high - low + 1 }, (_, index) => low + index);
}

export interface GenerateOptions {
  readonly profiles: number;
  readonly contexts: number;
  /** Share of the contexts that only one profile has, 0 to 1. */
  readonly unique: number;
}

/**
 * Writes raw profiles of one program: call paths through PCs of its code that have line rows. Each profile has other
 * addresses, as if it had been loaded elsewhere.
 * @returns paths of the files
 */
export function generateProfiles(
  folder: string,
  binary: string,
  sample: string,
  places: readonly number[],
  { profiles, contexts, unique }: GenerateOptions,
): string[] {
  mkdirSync(folder, { recursive: true });
  const base = readRaw(readFileSync(sample));
  const buildId = openObject(readFileSync(binary)).buildId!;
  const segment = base.segments.find((s) => Buffer.from(s.buildId).toString("hex") === buildId)!;
  return Array.from({ length: profiles }, (_, index) => {
    const slide = BigInt(index) << 21n;
    const shared = randomNumbers(1);
    const own = randomNumbers(1000 + index);
    const pcs = Array.from({ length: contexts }, (_, context) => {
      const random = context < contexts * (1 - unique) ? shared : own;
      const depth = 3 + Math.floor(random() * 5);
      return Array.from(
        { length: depth },
        () => segment.start + slide + BigInt(places[Math.floor(random() * places.length)]!),
      );
    });
    const profile: RawProfile = {
      version: 5,
      segments: base.segments.map((s) => ({
        ...s,
        start: s.start + slide,
        end: s.end + slide,
        offset: s.offset + slide,
      })),
      contexts: pcs.map((stack, context) => ({
        stackId: BigInt(context + 1),
        pcs: stack,
        mib: blockMib({
          accessCount: BigInt(Math.floor(own() * 1000)),
          size: 1 + Math.floor(own() * 4096),
          allocTimestamp: 0,
          deallocTimestamp: Math.floor(own() * 400_000),
          allocCpuId: 0,
          deallocCpuId: 1,
        }),
      })),
    };
    const file = join(folder, `${index}.memprofraw`);
    writeFileSync(file, writeRaw(profile, 5));
    return file;
  });
}
