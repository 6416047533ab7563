import { describe, expect, it } from "vitest";
import { FormatError, UserError } from "../../../src/ground/bytes/errors.ts";
import { readSourceMap } from "../../../src/names/load/symbolizer.ts";
import { readDeadstores } from "../../../src/profile/formats/deadstores.ts";
import { readDhat } from "../../../src/profile/formats/dhat.ts";
import { readCpuSamples } from "../../../src/profile/model/cpu.ts";
import { readObjects } from "../../../src/profile/model/objects.ts";
import { readHeapIntervals } from "../../../src/profile/model/over-time/read-heap-intervals.ts";
import { readRun } from "../../../src/profile/model/read-run.ts";
import { readStatics } from "../../../src/profile/model/statics.ts";
import { readWaste } from "../../../src/profile/model/waste.ts";
import { readWorkingSet } from "../../../src/profile/model/working-set/read-working-set.ts";
import { blocks, load, store, wasteOf } from "../../explain/analyses/waste/waste-picture.ts";
import { heapPicture } from "../../heap-picture.ts";
import { someObjects } from "../../objects-picture.ts";
import { pictureOf } from "../../show/report/working-set-picture.ts";
import { statics } from "../../support/statics-picture.ts";
import { mutate, randomNumbers, withStranger } from "./mutations.ts";
import { asBytes, DHAT, MAP, READERS, SECTIONED_MAP } from "./readers.ts";

// For more cases: MEMSHADE_SEED=… MEMSHADE_RUNS=10000 vitest run test/profile/formats/damaged-inputs.slow.test.ts
const RUNS = Number(process.env.MEMSHADE_RUNS ?? 100);
const SEED = Number(process.env.MEMSHADE_SEED ?? 1);
/** Limit of allocated bytes. Only a reader that trusts the input's claimed sizes needs more for a few KiB. */
const MOST_BYTES = 64 << 20;

const jsonOf = (value: unknown): string => JSON.stringify(value);

const CPU = {
  schema: "memshade-cpu",
  version: 1,
  hz: 97,
  threads: [{ id: 7, name: "app" }],
  stacks: { caller: [-1, 0], site: [16, 32] },
  samples: { ms: [1.5, 12], thread: [0, 0], stack: [1, -1], periods: [1, 2] },
  lost: 1,
  own: 0,
  endedEarly: 0,
  notTracked: ["x"],
};
const INTERVALS = Object.fromEntries(
  [
    "start",
    "end",
    "liveBytes",
    "liveBlocks",
    "maxBytes",
    "maxBlocks",
    "allocatedBytes",
    "freedBytes",
    "frees",
  ].map((column) => [column, [1, 2]]),
);
const SUMS = { allocations: [2], allocatedBytes: [64], frees: [0], freedBytes: [0] };
const HEAP_INTERVALS = {
  schema: "memshade-heap-intervals",
  version: 1,
  memshade: "0.1.0",
  unit: "allocations",
  otherInstances: 0,
  instances: [
    {
      module: 0,
      instance: 0,
      period: 1,
      startBytes: 0,
      startBlocks: 0,
      intervals: { ...INTERVALS, next: ["7", "8"] },
      lastIsPartial: true,
      otherContexts: 0,
      contexts: [{ stackId: "7", startBytes: 0, startBlocks: 0, intervals: [1], ...SUMS }],
    },
  ],
};
const WASTE = wasteOf({
  stores: [store("a", 1, { bytes_written: 8, nof_stores: 1, dead_overwritten: 8 })],
  loads: [load("b", 2, { bytes_loaded: 8, nof_loads: 1 })],
  blocks: [blocks({})],
});

/** True if a reader accepts an input, false if it refuses it with an error for users; any other error fails the test. */
async function isRead(read: () => unknown): Promise<boolean> {
  try {
    await read();
    return true;
  } catch (error) {
    if (!(error instanceof FormatError || error instanceof UserError)) throw error;
    expect(error.message).toMatch(/^[^\n]+$/);
    return false;
  }
}

/** Bytes of arrays and objects, including those that wait for the garbage collector. */
function memoryBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Reads damaged inputs, each reproducible by its seed, and returns the number of refused ones. */
async function refusedOf<T>(
  damage: (random: () => number) => T,
  read: (input: T) => unknown,
): Promise<number> {
  let refused = 0;
  for (let seed = SEED; seed < SEED + RUNS; seed++) {
    const input = damage(randomNumbers(seed));
    const before = memoryBytes();
    try {
      if (!(await isRead(() => read(input)))) refused++;
    } catch (error) {
      throw new Error(`damaged by seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
    expect(memoryBytes() - before, `damaged by seed ${seed}`).toBeLessThan(MOST_BYTES);
  }
  return refused;
}

describe("bytes that are changed, cut, put in or repeated are read, or refused by one error of a known kind:", () => {
  it.each(READERS)("$name", { timeout: 3_600_000 }, async ({ bytes, read }) => {
    expect(await isRead(() => read(bytes))).toBe(true);
    await refusedOf((random) => mutate(bytes, random), read);
  });
});

describe("JSON that has something else in a place is read, or refused by one error of a known kind:", () => {
  it.each<[string, string, (json: string) => unknown]>([
    ["a source map", jsonOf(MAP), (json) => readSourceMap(asBytes(json))],
    ["a source map of sections", jsonOf(SECTIONED_MAP), (json) => readSourceMap(asBytes(json))],
    ["a file of DHAT", DHAT, readDhat],
    ["run.json", jsonOf(heapPicture("main > parse  3 x 16  live 1").run), readRun],
    ["waste.json", jsonOf(WASTE), readWaste],
    ["a file of deadstores", jsonOf(WASTE), readDeadstores],
    ["workingset.json", jsonOf(pictureOf(["ab", "aC"], ["f", "g"])), readWorkingSet],
    ["objects.json", jsonOf(someObjects()), readObjects],
    ["cpu.json", jsonOf(CPU), readCpuSamples],
    ["heapintervals.json", jsonOf(HEAP_INTERVALS), readHeapIntervals],
    ["statics.json", jsonOf(statics({ 1024: [5, -1, 0] }).file), readStatics],
  ])("%s", { timeout: 3_600_000 }, async (_, json, read) => {
    expect(await isRead(() => read(json))).toBe(true);
    expect(await refusedOf((random) => withStranger(json, random), read)).toBeGreaterThan(0);
  });
});

describe("an error that names what it found", () => {
  const ip = (address: unknown) => ({
    ips: [{ address }],
    bytes_written: 0,
    bytes_read: 0,
    nof_stores: 0,
    nof_silent: 0,
  });
  const deadstores = (address: unknown) => jsonOf({ command: "c", stores: [ip(address)], loads: [] });

  it.each<[string, () => unknown, string]>([
    [
      "an object that is no text",
      () => readWorkingSet(jsonOf({ ...pictureOf(["a"]), version: { toString: 1 } })),
      'version {"toString":1} of the working set is not known',
    ],
    ["such an object as an address", () => readDeadstores(deadstores({ toString: 1 })), 'not {"toString":1}'],
    [
      "a number of 64 bits in it",
      () =>
        readDeadstores(deadstores({ address: 0 }).replace('"address":0', '"address":12345678901234567890')),
      'not {"address":"12345678901234567890"}',
    ],
  ])("can name %s", (_, read, words) => {
    expect(read).toThrow(UserError);
    expect(read).toThrow(words);
  });
});
