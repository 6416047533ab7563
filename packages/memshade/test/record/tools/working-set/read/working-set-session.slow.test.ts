import { describe, expect, it } from "vitest";
import { readWorkingSet } from "../../../../../src/profile/model/working-set/read-working-set.ts";
import type { WorkingSetProfile } from "../../../../../src/profile/model/working-set/working-set.ts";
import { type ProfiledError, profile } from "../../../../../src/record/host/profile.ts";
import type { Profile } from "../../../../../src/record/host/run/recorder.ts";
import { wat } from "../../../../support/assemble.ts";

const [A, B, C, D] = [0, 1, 2, 3];

const MODULE = wat(`(module
  (type $answer (func (param i32)))
  (import "host" "answer" (func $answer (type $answer)))
  (memory (export "memory") 1 1)
  (table (export "table") funcref (elem $answer $trapOf))
  (func (export "touch") (param $one i32) (param $other i32)
    (drop (i32.load (i32.mul (local.get $one) (i32.const 64))))
    (drop (i32.load (i32.mul (local.get $other) (i32.const 64)))))
  (func (export "nothing")
    (memory.fill (i32.const 0) (i32.const 0) (i32.const 0))
    (memory.fill (i32.const 0) (i32.const 0) (i32.const 0)))
  (func (export "trap") (drop (i32.load (i32.const 65533))))
  (func $trapOf (param i32) (drop (i32.load (i32.sub (i32.const 65533) (local.get 0)))))
  (func (export "trapBehindTable") (call_indirect (type $answer) (i32.const 0) (i32.const 1)))
  (func (export "ask") (param i32)
    (drop (i32.load (i32.const 0))) (call $answer (local.get 0)) (drop (i32.load (i32.const 0))))
  (func (export "askByTable") (param i32)
    (drop (i32.load (i32.const 0))) (call_indirect (type $answer) (local.get 0) (i32.const 0)) (drop (i32.load (i32.const 0))))
  (func (export "stop") (drop (i32.load (i32.const 0))) unreachable))`);

type Exports = Record<string, (...operands: number[]) => void>;

async function workingSetOf(
  use: (exports: Exports) => void,
  maxIntervals = 64,
  unit: "accesses" | "wall" = "accesses",
): Promise<WorkingSetProfile> {
  const recorded: Profile = await profile(
    MODULE,
    async (instantiate) => {
      let exports: Exports | undefined;
      const answer = (fails: number) => {
        if (fails !== 0) throw new Error("thrown");
        exports?.touch(A, B);
      };
      exports = (await instantiate({ host: { answer } })).exports as Exports;
      use(exports);
    },
    { tools: ["workingset"], workingset: { interval: 2, maxIntervals, unit } },
  ).catch((error: ProfiledError) => error.profile as Profile);
  return readWorkingSet(String(recorded.toolFiles.find(({ name }) => name === "workingset.json")?.contents));
}

const intervals = (sets: readonly (readonly number[])[]) => (exports: Exports) => {
  for (const [one, other = one] of sets)
    if (one === undefined) exports.nothing();
    else exports.touch(one, other);
};

describe("a recording with the working-set tool", () => {
  it("has distinct lines at each scale (worked examples 25 and 26)", async () => {
    const { instances } = await workingSetOf(intervals([[A, B], [A], [C], [A], [D], [D], [], [A, D]]));
    const [{ levels, total }] = instances;
    expect(levels.map(({ counts }) => counts.lines)).toEqual([[2, 1, 1, 1, 1, 1, 0, 2], [3, 2], [4]]);
    expect(levels[2].lastIsPartial).toBe(true);
    expect(total.lines).toBe(4);
  });

  it("merges neighbours where intervals are more than are kept (as worked example 27)", async () => {
    const sets = [[A], [B], [A], [C]];
    const { instances } = await workingSetOf(intervals([...sets, ...sets, [D]]), 8);
    const [{ levels, period }] = instances;
    expect(levels[0].counts.lines).toEqual([2, 2, 2, 2, 1]);
    expect([period, levels[0].lastIsPartial]).toEqual([4, true]);
  });

  it("says that its last interval is incomplete where a trap stopped the program", async () => {
    const whole = await workingSetOf(({ touch }) => touch(A, B));
    expect(whole.instances[0].incomplete).toBeUndefined();
    const cut = await workingSetOf(({ touch, trap }) => {
      touch(A, B);
      trap();
    });
    expect(cut.instances[0].incomplete).toBe(true);
    expect(cut.notTracked.join()).toContain("the interval of the working set in which it was is incomplete");
  });

  it.each(["accesses", "wall"] as const)(
    "says so too where the host caught the trap, whatever it called then: time in %s",
    async (unit) => {
      const isIncomplete = async (use: (exports: Exports) => void) =>
        (await workingSetOf(use, 64, unit)).instances[0].incomplete === true;
      const survive = (run: () => void) => expect(run).toThrow(WebAssembly.RuntimeError);
      expect(await isIncomplete(({ trap }) => survive(trap))).toBe(true);
      expect(
        await isIncomplete(({ trap, touch }) => {
          survive(trap);
          touch(A, B);
        }),
      ).toBe(true);
      expect(
        await isIncomplete(({ trapBehindTable, touch }) => {
          survive(trapBehindTable);
          touch(A, B);
        }),
      ).toBe(true);
    },
  );

  it.each(["accesses", "wall"] as const)(
    "misses nothing where functions of the host throw, enter the module again, or end it by unreachable: time in %s",
    async (unit) => {
      const use = ({ ask, askByTable, stop, touch }: Exports) => {
        ask(0);
        askByTable(0);
        expect(() => ask(1)).toThrow("thrown");
        expect(() => askByTable(1)).toThrow("thrown");
        expect(stop).toThrow(WebAssembly.RuntimeError);
        touch(A, B);
      };
      const { instances } = await workingSetOf(use, 64, unit);
      expect(instances[0].incomplete).toBeUndefined();
    },
  );
});
