import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesOfBase64 } from "../../../../src/ground/bytes/base64.ts";
import {
  buildLevels,
  type SnapshotRecord,
} from "../../../../src/profile/model/working-set/working-set-series.ts";
import { Control } from "../../../../src/record/tools/working-set/layout.ts";
import {
  planWorkingSetLayout,
  workingSetConstants,
} from "../../../../src/record/tools/working-set/memory-plan.ts";
import { WorkingSetReader } from "../../../../src/record/tools/working-set/read/working-set-session.ts";
import { WORKING_SET_RUNTIME_BASE64 } from "../../../../src/record/tools/working-set/working-set.generated.ts";
import { IntervalStamps } from "../../../explain/analyses/working-set/interval-stamps.ts";

const LINE_BYTES = 64;
const PAGES = 3;
const LINES = PAGES * 1024;
const INTERVAL = 100;
const MOST_INTERVALS = 8;
/** First and last lines of regions, inside 4 KiB pages. */
const STACK = { from: 37, to: 1030 };
const HEAP = 1500;

/** Neighbouring lines, touched in one way: 1 read, 2 written, 3 both. */
interface Run {
  line: number;
  lines: number;
  kinds: number;
}

/** The runtime's code over a memory, without a program. */
function startRuntime() {
  const layout = planWorkingSetLayout({
    memoryBytes: LINES * LINE_BYTES,
    interval: INTERVAL,
    maxIntervals: MOST_INTERVALS,
    unit: "accesses",
    assumeAligned: false,
    adaptive: false,
    stackFrom: STACK.from,
    stackTo: STACK.to,
    heapFrom: HEAP,
  });
  const memory = new WebAssembly.Memory({ initial: Math.ceil(layout.endBytes / 65536) });
  const nothing = () => {};
  let clock = 0;
  const host: Record<string, WebAssembly.ImportValue> = {
    noteStack: nothing,
    merged: nothing,
    beforeScan: nothing,
    beforePoll: nothing,
    clock: () => clock,
    setClock: (countdown: number) => {
      clock = countdown;
    },
    programPages: () => PAGES,
  };
  for (const [name, value] of Object.entries(workingSetConstants(layout)))
    host[name] = new WebAssembly.Global({ value: "i32", mutable: false }, value);
  const module = new WebAssembly.Module(bytesOfBase64(WORKING_SET_RUNTIME_BASE64) as BufferSource);
  const { exports } = new WebAssembly.Instance(module, { host, env: { memory } });
  (exports.entered as () => void)();
  const view = new DataView(memory.buffer);
  /** Advances the clock by a number of accesses, then polls if an interval is over. */
  const pass = (accesses: number) => {
    clock -= accesses;
    if (accesses >= INTERVAL) clock = (exports.poll as (countdown: number) => number)(clock);
    view.setInt32(layout.control + Control.clock, clock, true);
  };
  return { layout, memory, pass };
}

/** Records of snapshots if the lines of these runs are marked between them. */
function recordsOf(intervals: readonly (readonly Run[])[]): SnapshotRecord[] {
  const { layout, memory, pass } = startRuntime();
  const marks = new Uint8Array(memory.buffer);
  const planes = [-1, 0, layout.written, layout.both];
  intervals.forEach((runs, interval) => {
    for (const { line, lines, kinds } of runs)
      marks.fill(1, planes[kinds] + line, planes[kinds] + Math.min(LINES, line + lines));
    pass(interval < intervals.length - 1 ? INTERVAL : 1);
  });
  return new WorkingSetReader(memory, layout).read().records;
}

/** Records of the lines of one region, by the method of stamps. */
function expectedOf(
  intervals: readonly (readonly Run[])[],
  isIn: (line: number) => boolean,
): SnapshotRecord[] {
  const stamps = new IntervalStamps({ mostIntervals: MOST_INTERVALS });
  intervals.forEach((runs, interval) => {
    for (const { line, lines, kinds } of runs)
      for (let at = line; at < Math.min(LINES, line + lines); at++) {
        if (!isIn(at)) continue;
        if (kinds & 1) stamps.access(at * LINE_BYTES, 1, false);
        if (kinds & 2) stamps.access(at * LINE_BYTES, 1, true);
      }
    if (interval < intervals.length - 1) stamps.tick((interval + 1) * INTERVAL);
  });
  return stamps.finish((intervals.length - 1) * INTERVAL + 1);
}

const REGIONS = {
  stack: (line: number) => line >= STACK.from && line < STACK.to,
  static: (line: number) => line < STACK.from || (line >= STACK.to && line < HEAP),
  heap: (line: number) => line >= HEAP,
};

function expectSets(intervals: readonly (readonly Run[])[]): void {
  const found = buildLevels(recordsOf(intervals), false);
  const all = buildLevels(
    expectedOf(intervals, () => true),
    false,
  );
  expect(found.length).toBe(all.length);
  found.forEach((level, i) => {
    expect(level.counts).toMatchObject(all[i].counts);
    expect(level.fresh).toEqual(all[i].fresh);
  });
  for (const [region, isIn] of Object.entries(REGIONS)) {
    const lines = buildLevels(expectedOf(intervals, isIn), false).map(({ counts }) => counts.lines);
    expect(found.map(({ counts }) => counts[region as keyof typeof REGIONS])).toEqual(lines);
  }
}

describe("a snapshot counts marks as sets do, at every scale", () => {
  it("where whole pages are alike, and across the borders of regions", () => {
    const all: Run = { line: 0, lines: LINES, kinds: 1 };
    const some: Run = { line: 20, lines: 1500, kinds: 2 };
    expectSets([[all], [all, some], [], [some], [{ ...some, kinds: 3 }], [all]]);
  });

  it("whatever is touched in whatever way, and however often intervals were merged", () => {
    const line = fc.oneof(fc.nat(LINES - 1), fc.constantFrom(0, 16, 1020, HEAP - 3, LINES - 64));
    const lines = fc.oneof(fc.constantFrom(1, 2, 16, 64), fc.nat(200));
    const run = fc.record({ line, lines, kinds: fc.constantFrom(1, 2, 3) });
    const intervals = fc.array(fc.array(run, { maxLength: 12 }), { minLength: 1, maxLength: 40 });
    fc.assert(fc.property(intervals, expectSets), { numRuns: 40 });
  });

  it("takes no memory for kinds of access that there are none of", () => {
    const { layout, memory, pass } = startRuntime();
    const marks = new Uint8Array(memory.buffer);
    marks.fill(1, 0, LINES);
    pass(INTERVAL);
    expect(marks.subarray(0, LINES).some((mark) => mark !== 0)).toBe(false);
    expect(new Set(marks.subarray(layout.history, layout.history + LINES))).toEqual(new Set([15]));
  });
});
