import { describe, expect, it } from "vitest";
import type { RunModule } from "../../../../src/profile/model/run.ts";
import { KeptInstances } from "../../../../src/record/host/run/recorder.ts";

const MODULES = [{ index: 0 }, { index: 1 }] as RunModule[];
const FRAMES = ["main", "begin"].map((name) => ({ name, file: "/a.mjs", line: 1 }));

/** Thread 0 has stack 2, `begin < main`, and has made four instances of module 1 there. */
function fourInstances(): KeptInstances {
  const kept = new KeptInstances();
  kept.learnStacks(0, { frames: FRAMES, stacks: [0, 0, 1, 1] });
  for (const number of [1, 2, 3, 4]) kept.add({ number, module: 1 }, 0, 2);
  return kept;
}

describe("the instances that are kept", () => {
  it("are counted by the stack that made them", () => {
    const kept = fourInstances();
    kept.keep(0, [
      { number: 1, bytes: 65_536 },
      { number: 3, bytes: 131_072 },
    ]);
    const [first, second] = kept.within(MODULES);
    expect(first).toEqual({ index: 0 });
    expect(second!.instancesBy).toEqual([
      { frames: [FRAMES[1], FRAMES[0]], thread: 0, made: 4, kept: 2, keptBytes: 196_608 },
    ]);
  });

  it("are those of the last time that the thread has looked", () => {
    const kept = fourInstances();
    kept.keep(0, [{ number: 1, bytes: 65_536 }]);
    kept.keep(0, []);
    expect(kept.within(MODULES)[1]!.instancesBy).toMatchObject([{ made: 4, kept: 0 }]);
  });

  it("do not count those that were dropped before, which were made all the same", () => {
    const kept = fourInstances();
    kept.drop(1);
    kept.drop(2);
    kept.keep(0, [{ number: 4, bytes: 65_536 }]);
    expect(kept.within(MODULES)[1]!.instancesBy).toMatchObject([{ made: 4, kept: 1, keptBytes: 65_536 }]);
  });

  it("are not known of a thread that has not looked", () => {
    expect(fourInstances().within(MODULES)).toEqual(MODULES);
  });

  it("are not told of an instance that is alone", () => {
    const kept = new KeptInstances();
    kept.learnStacks(0, { frames: FRAMES, stacks: [0, 0, 1, 1] });
    kept.add({ number: 1, module: 0 }, 0, 2);
    kept.keep(0, [{ number: 1, bytes: 65_536 }]);
    expect(kept.within(MODULES)).toEqual(MODULES);
  });
});
