import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinPieces } from "../../../../src/ground/bytes/file-piece.ts";
import {
  memshadeProfilePieces,
  spilledProfilePieces,
} from "../../../../src/profile/formats/memshade-profile/index.ts";
import { pakoDeflate } from "../../../../src/profile/formats/memshade-profile/pako-deflate.ts";
import { ProfileMerger, SpilledRuns, viewMerged } from "../../../../src/profile/model/memprof/index.ts";
import { blockMib } from "../../../../src/profile/model/mib.ts";
import { MIB_FIELDS } from "../../../../src/profile/model/mib-fields.ts";
import { UNKNOWN_ORIGIN } from "../../../support/whole.ts";
import { MemorySpillFiles } from "../../model/memory-spill-file.ts";

interface Context {
  /** Outermost first. */
  readonly frames: readonly number[];
  readonly accesses: number;
  readonly time: number;
  readonly histogram: readonly number[];
  /** A function that has a further record of it. */
  readonly other: number | undefined;
}

interface Input {
  readonly contexts: readonly Context[];
  readonly calls: readonly number[];
}

const frame = fc.nat(11);
const context: fc.Arbitrary<Context> = fc.record({
  frames: fc.array(frame, { minLength: 1, maxLength: 6 }),
  accesses: fc.oneof(fc.nat(300), fc.constantFrom(2 ** 31, 2 ** 40)),
  time: fc.nat(70_000),
  histogram: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(fc.nat(1000), { maxLength: 5 })),
  other: fc.option(fc.nat(20), { freq: 8, nil: undefined }),
});
const input: fc.Arbitrary<Input> = fc.record({
  contexts: fc.array(context, { maxLength: 30 }),
  calls: fc.array(frame, { maxLength: 5 }),
});

/** A third of the frames are inlined; some are addresses in a module without debug information. */
function frameOf(number: number) {
  const name = number === 5 ? "[ab]+0x5" : `f${number >> 1}`;
  return {
    guid: BigInt(number >> 1) << 40n,
    lineOffset: 11 - number,
    column: 3,
    inline: number % 3 === 0,
    name,
    file: number % 2 === 0 ? "/src/a.cc" : undefined,
    line: number,
    discriminator: 0,
  };
}

function add(merger: ProfileMerger, { contexts, calls }: Input, number: number): void {
  const stackOf = (frames: readonly number[]) =>
    frames.reduce((stack, each) => merger.stacks.child(stack, merger.frames.intern(frameOf(each))), 0);
  for (const { frames, accesses, time, histogram, other } of contexts) {
    const stack = stackOf(frames);
    const known = merger.contexts.length;
    const row = merger.contexts.rowOf(stack);
    const mib = blockMib({
      accessCount: BigInt(accesses),
      size: 8,
      allocTimestamp: time,
      deallocTimestamp: time + 5,
      allocCpuId: number,
      deallocCpuId: 0,
    });
    merger.blocks.addMib(mib, row, row === known, number);
    if (histogram.length > 0) merger.addHistogram(row, BigUint64Array.from(histogram, BigInt));
    if (other !== undefined) merger.noteFunction(row, stack, BigInt(other) << 40n);
  }
  for (const each of calls)
    merger.callSites.add(frameOf(each).guid, stackOf([each]), each === 2 ? [7n] : undefined);
}

const newMerger = () => new ProfileMerger(MIB_FIELDS, true, true);

function inMemory(inputs: readonly Input[]): Uint8Array {
  const merger = newMerger();
  for (const [number, each] of inputs.entries()) add(merger, each, number);
  return joinPieces(memshadeProfilePieces(viewMerged(merger), UNKNOWN_ORIGIN, pakoDeflate));
}

/** @param isSpilled true for inputs after which all data is written */
function spilled(inputs: readonly Input[], isSpilled: (number: number) => boolean): Uint8Array {
  const files = new MemorySpillFiles();
  const runs = new SpilledRuns(files.create);
  let merger = newMerger();
  for (const [number, each] of inputs.entries()) {
    add(merger, each, number);
    if (isSpilled(number)) merger = runs.spill(merger);
  }
  const pieces = spilledProfilePieces(runs.finish(merger), UNKNOWN_ORIGIN, pakoDeflate, files.create);
  const bytes = joinPieces(pieces);
  runs.release();
  expect(files.open).toBe(0);
  return bytes;
}

describe("a merge that does not stay in memory", () => {
  it("writes the same file, wherever it is cut", () => {
    fc.assert(
      fc.property(
        fc.array(input, { maxLength: 6 }),
        fc.array(fc.boolean(), { maxLength: 6 }),
        (inputs, cuts) => {
          expect(spilled(inputs, (number) => cuts[number] === true)).toEqual(inMemory(inputs));
        },
      ),
    );
  });

  it("writes the same file when runs were put together on the way", () => {
    const many = fc.array(input, { minLength: 36, maxLength: 40 });
    fc.assert(
      fc.property(many, (inputs) => {
        expect(spilled(inputs, () => true)).toEqual(inMemory(inputs));
      }),
      { numRuns: 10 },
    );
  });

  it("keeps counts of a process that comes later, though it was written first", () => {
    const first: Input = {
      contexts: [{ frames: [1], accesses: 1, time: 9, histogram: [], other: undefined }],
      calls: [],
    };
    const last: Input = { contexts: [{ ...first.contexts[0]!, time: 700 }], calls: [] };
    expect(spilled([first, last], () => true)).toEqual(inMemory([first, last]));
    expect(spilled([last, first], () => true)).not.toEqual(inMemory([first, last]));
  });

  it("has several chunks of blocks and of records where there are many", () => {
    const contexts = Array.from({ length: 9000 }, (_, index) => ({
      frames: [1 + (index % 3), 4, ...[...index.toString(5)].map((digit) => 6 + Number(digit))],
      accesses: index,
      time: index,
      histogram: [],
      other: undefined,
    }));
    const parts = [0, 1, 2].map((part) => ({
      contexts: contexts.filter((_, index) => index % 3 === part),
      calls: [],
    }));
    expect(spilled(parts, () => true)).toEqual(inMemory(parts));
  });
});
