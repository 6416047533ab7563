import { describe, expect, it } from "vitest";
import { type InstanceHeap, liveBytesOf } from "../../../../src/profile/model/over-time/heap-intervals.ts";
import { readHeapIntervals } from "../../../../src/profile/model/over-time/read-heap-intervals.ts";

const CONTEXT = {
  stackId: "7",
  startBytes: 0,
  startBlocks: 0,
  intervals: [0, 2],
  allocations: [2, 0],
  allocatedBytes: [64, 0],
  frees: [0, 1],
  freedBytes: [0, 24],
};
const ROWS = [1, 2, 3];
const INSTANCE: InstanceHeap = {
  module: 0,
  instance: 0,
  period: 1,
  startBytes: 0,
  startBlocks: 0,
  intervals: {
    start: [0, 1, 2],
    end: ROWS,
    liveBytes: ROWS,
    liveBlocks: ROWS,
    maxBytes: ROWS,
    maxBlocks: ROWS,
    allocatedBytes: ROWS,
    freedBytes: ROWS,
    frees: ROWS,
    next: ["7", "7", "0"],
  },
  lastIsPartial: false,
  contexts: [CONTEXT],
  otherContexts: 0,
};

const textOf = (instance: object, version = 1) =>
  JSON.stringify({
    schema: "memshade-heap-intervals",
    version,
    memshade: "0.1.0",
    unit: "allocations",
    instances: [instance],
    otherInstances: 0,
  });

describe("heapintervals.json", () => {
  it("is read as it was written, and says what lives of a context at the end of each interval", () => {
    const { instances } = readHeapIntervals(textOf(INSTANCE));
    expect(instances).toEqual([INSTANCE]);
    expect([...liveBytesOf(instances[0].contexts[0], 3)]).toEqual([64, 64, 40]);
  });

  it.each([
    ["another version", textOf(INSTANCE, 2), "it has version 2, this memshade reads version 1"],
    ["no JSON", "{", "it is not JSON"],
    [
      "columns of different lengths",
      textOf({ ...INSTANCE, intervals: { ...INSTANCE.intervals, frees: [1] } }),
      "instances[0].intervals: the columns have different lengths",
    ],
    [
      "contexts with columns of different lengths",
      textOf({ ...INSTANCE, contexts: [{ ...CONTEXT, frees: [1] }] }),
      "instances[0].contexts[0]: the columns have different lengths",
    ],
    [
      "an interval that does not exist",
      textOf({ ...INSTANCE, contexts: [{ ...CONTEXT, intervals: [0, 3] }] }),
      "instances[0].contexts[0].intervals should be rising numbers of intervals",
    ],
  ])("is refused in one line: %s", (_, text, message) => {
    expect(() => readHeapIntervals(text)).toThrow(message);
  });
});
