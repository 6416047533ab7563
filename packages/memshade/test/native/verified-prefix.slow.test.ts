import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Header, MOST_FRAMES, WalkEnd } from "../../src/native/layout.ts";
import { NATIVE_LAYOUT } from "../../src/native/memory-layout.ts";
import { ShadowReader } from "../../src/tools/heap/read/read-shadow.ts";
import { FakeProcess } from "./support/fake-process.ts";
import { Machine, SHAPES } from "./support/machine.ts";

const call = fc.record({
  kind: fc.constant("call" as const),
  index: fc.integer({ min: 1, max: SHAPES.length - 1 }),
  at: fc.integer({ min: 0, max: 2 }),
  more: fc.integer({ min: 0, max: 3 }),
});
const step = fc.oneof(
  { weight: 4, arbitrary: call },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("return" as const), times: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("malloc" as const) }) },
);

/** A process whose walks meet the last stack, and one that forgets it each time. */
function twoProcesses() {
  const processes = [new FakeProcess(), new FakeProcess()];
  for (const process of processes) {
    let block = 0x5000_0000;
    process.library = { malloc: () => (block += 64) };
  }
  return processes;
}

function contextsOf(process: FakeProcess) {
  const info = { clock: "virtual", counters: "merged", tools: ["alloc"], statics: undefined } as const;
  const { contexts, totals } = new ShadowReader(process.linear, NATIVE_LAYOUT, { ...info, tools: ["alloc"] }).read();
  return { totals, contexts };
}

describe("what is left of a thread's last stack", () => {
  it("gives the frames of a whole walk, whatever was called between and is still on the stack", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 50, maxLength: 400 }), (steps) => {
        const [process, forgetful] = twoProcesses();
        const machine = new Machine([process, forgetful]);
        for (const one of steps) {
          if (one.kind === "call") machine.call(one.index, one.at, one.more);
          else if (one.kind === "return") for (let i = 0; i < one.times; i++) machine.return();
          else {
            process.site = machine.site;
            forgetful.site = machine.site;
            forgetful.view.setUint32(Header.epoch, forgetful.header(Header.epoch) + 1, true);
            process.hooks.malloc(16n);
            forgetful.hooks.malloc(16n);
            expect(process.stack()).toEqual({ frames: machine.frames, end: WalkEnd.whole });
          }
        }
        expect(contextsOf(process)).toEqual(contextsOf(forgetful));
      }),
      { numRuns: Number(process.env.MEMSHADE_RUNS ?? 12), seed: Number(process.env.MEMSHADE_SEED ?? 3) },
    );
  });

  it("is of no use where the stack is deeper than what is kept: the root's side is cut off, and counted", () => {
    const [process] = twoProcesses();
    const machine = new Machine([process]);
    for (let i = 0; i < MOST_FRAMES + 10; i++) machine.call(1 + (i % 2) * 5, 0, 0);
    process.site = machine.site;
    process.hooks.malloc(16n);
    process.hooks.malloc(16n);
    expect(process.stack()).toEqual({ frames: machine.frames.slice(0, MOST_FRAMES), end: WalkEnd.cut });
    expect(process.view.getBigUint64(Header.cutStacks, true)).toBe(2n);
    for (let i = 0; i < 11; i++) machine.return();
    process.site = machine.site;
    process.hooks.malloc(16n);
    expect(process.stack()).toEqual({ frames: machine.frames, end: WalkEnd.whole });
    const paths = contextsOf(process).contexts.map(({ sites }) => sites.at(-1));
    expect(paths.filter((site) => site === 1)).toHaveLength(1);
  });
});
