import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Attribution, InstanceWorkingSet } from "../../../src/profile/model/working-set/working-set.ts";
import { WORKING_SET_FILE } from "../../../src/runs/working-set.ts";
import { canCompile, compileProgram, memshadeRun } from "./support/record.ts";
import { canStep, type SteppedEvent, steppedEvents } from "./support/stepped-program.ts";

const FUNCTIONS = ["small", "medium", "large", "temporary", "grow"];
/** Lines that may count for either interval when an interval ends in the middle of a stretch of code. */
const EDGE = 3;
/** Upper bound of the C library's accesses before `main`. */
const MOST_BEFORE = 1000;
/** Intervals at both ends that contain the C library's start and exit code. */
const [FIRST_ONES, LAST_ONES] = [2, 2];
/** Number of intervals from which the accesses before `main` are found. */
const COMPARED = 12;

interface Interval {
  lines: number;
  owners: number[];
}

/** Expected intervals of the program if they end after these numbers of accesses. */
function expectedIntervals(events: readonly SteppedEvent[], ends: readonly number[]): Interval[] {
  const owners = new Map<number, { owner: number; hasEnded: boolean }>();
  const intervals: Interval[] = [];
  let touched = new Set<number>();
  let accesses = 0;
  const close = (): void => {
    const interval: Interval = { lines: touched.size, owners: FUNCTIONS.map(() => 0) };
    for (const line of touched) {
      const parts = [0, 1, 2, 3].flatMap((i) => owners.get(4 * line + i) ?? []);
      for (const { owner } of parts) interval.owners[owner] += 1 / parts.length;
      for (let i = 0; i < 4; i++) if (owners.get(4 * line + i)?.hasEnded) owners.delete(4 * line + i);
    }
    intervals.push(interval);
    touched = new Set();
  };
  for (const event of events) {
    if (intervals.length === ends.length) return intervals;
    if (event.kind === "touch") {
      if (accesses >= ends[intervals.length]) close();
      accesses += event.count;
      for (const line of event.lines) touched.add(line);
    } else
      for (let part = event.first; part <= event.last; part++)
        if (event.kind === "begin") owners.set(part, { owner: event.owner, hasEnded: false });
        else if (owners.has(part)) owners.get(part)!.hasEnded = true;
  }
  close();
  return intervals;
}

function foundInterval({ levels, owners }: InstanceWorkingSet, i: number): Interval {
  const { contexts, levels: attributed } = owners as Attribution;
  const sums = FUNCTIONS.map(() => 0);
  for (const [number, lines] of attributed[0].intervals[i]) {
    const names = new Set(contexts[number].stack.map((frame) => frame.name));
    const at = FUNCTIONS.findIndex((name) => names.has(name));
    if (at >= 0) sums[at] += lines;
  }
  return { lines: levels[0].counts.lines![i], owners: sums };
}

function isNear(found: Interval, expected: Interval): boolean {
  const figures = (one: Interval) => [one.lines, ...one.owners];
  const others = figures(expected);
  return figures(found).every((figure, i) => Math.abs(figure - others[i]) <= EDGE);
}

describe.skipIf(!canCompile)("a program that is run one instruction after the other", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "memshade-steps-")));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("has the lines and the owners in its intervals that are recorded", ({ skip }) => {
    if (!canStep(folder)) {
      console.warn("SKIPPED: no program can be traced here: owners of lines are not compared with steps");
      skip();
    }
    const [program, stepped] = ["owners", "stepped"].map((name) => join(folder, name));
    compileProgram("owners.c", program, ["-O1"]);
    compileProgram("owners.c", stepped, ["-O1", "-DSTEPPED"]);
    const out = join(folder, "run");
    const how = ["--tool", "workingset", "--who", "--interval", "500acc", "--max-intervals", "4096"];
    const { stdout, stderr } = memshadeRun(folder, ["--quiet", ...how, "--out", out, program]);
    expect(stdout, stderr).toBe("done\n");
    const [instance] = WORKING_SET_FILE.load(out).instances;
    const { end } = instance.levels[0];
    const events = steppedEvents(folder, stepped);
    const found = end.map((_, i) => foundInterval(instance, i));
    const expectedAfter = (before: number, count: number) =>
      expectedIntervals(
        events,
        end.slice(0, count).map((at) => at - before),
      );
    const befores = Array.from({ length: MOST_BEFORE }, (_, before) => before).filter((before) => {
      const all = expectedAfter(before, COMPARED);
      return all.every((one, i) => i < FIRST_ONES || isNear(found[i], one));
    });
    expect(befores.length).toBeGreaterThan(0);
    const best = befores.map((before) => {
      const all = expectedAfter(before, end.length);
      return all.filter((one, i) => i < FIRST_ONES || i >= end.length - LAST_ONES || isNear(found[i], one))
        .length;
    });
    expect(Math.max(...best)).toBe(end.length);
    // Each function owns lines in some interval, and its lines differ between intervals.
    FUNCTIONS.forEach((_, i) => {
      expect(new Set(found.map(({ owners }) => Math.round(owners[i]))).size).toBeGreaterThan(3);
    });
  });
});
