import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Header, MOST_FRAMES, WalkEnd } from "../../../src/record/native/layout.ts";
import { NATIVE_LAYOUT } from "../../../src/record/native/memory-layout.ts";
import { ShadowReader } from "../../../src/record/tools/heap/read/read-shadow.ts";
import { FakeProcess } from "./support/fake-process.ts";
import { Machine, SHAPES } from "./support/machine.ts";

const site = fc.record({
  index: fc.integer({ min: 1, max: SHAPES.length - 1 }),
  at: fc.integer({ min: 0, max: 1 }),
});
/** Few functions, so that frames often lie where others were; steps choose among them. */
const palette = fc.array(site, { minLength: 2, maxLength: 4 });
/**
 * Functions have frames of several sizes, as with variable-length arrays. The largest has room for another function's frame
 * and return address. These words stay intact in it, as if that function were still on the stack.
 */
const call = fc.record({ chosen: fc.nat(3), more: fc.nat(3) });
/** Some functions return, others are called, and the newest one allocates. */
const step = fc.record({
  returns: fc.integer({ min: 0, max: 4 }),
  calls: fc.array(call, { maxLength: 4 }),
});

/** A process whose walks compare with the last stack, and one that forgets it each time. */
function twoProcesses() {
  const processes = [new FakeProcess(), new FakeProcess()];
  for (const process of processes) {
    let block = 0x5000_0000;
    process.library = { malloc: () => (block += 64) };
  }
  return processes;
}

function allocate(process: FakeProcess, machine: Machine) {
  process.site = machine.site;
  process.hooks.malloc(16n);
}

function contextsOf(process: FakeProcess) {
  const info = { clock: "virtual", counters: "merged", tools: ["alloc"] } as const;
  const { contexts, totals } = new ShadowReader(process.linear, NATIVE_LAYOUT, {
    ...info,
    tools: ["alloc"],
  }).read();
  return { totals, contexts };
}

describe("what is left of a thread's last stack", () => {
  it("gives the frames of a whole walk, whatever was called between and is still on the stack", () => {
    fc.assert(
      fc.property(palette, fc.array(step, { minLength: 40, maxLength: 100 }), (among, steps) => {
        const [process, forgetful] = twoProcesses();
        const machine = new Machine([process, forgetful]);
        for (const { returns, calls } of steps) {
          for (let i = 0; i < returns; i++) machine.return();
          for (const { chosen, more } of calls) {
            const { index, at } = among[chosen % among.length];
            machine.call(index, at, more);
          }
          forgetful.view.setUint32(Header.epoch, forgetful.header(Header.epoch) + 1, true);
          allocate(process, machine);
          allocate(forgetful, machine);
          expect(process.stack()).toEqual({ frames: machine.frames, end: WalkEnd.whole });
        }
        expect(contextsOf(process)).toEqual(contextsOf(forgetful));
      }),
      { numRuns: Number(process.env.MEMSHADE_RUNS ?? 150), seed: Number(process.env.MEMSHADE_SEED ?? 3) },
    );
  });

  it("is compared by the words of the functions called last, also for frames that other walks have found", () => {
    const [process] = twoProcesses();
    const machine = new Machine([process]);
    const [fixed, saves, pointer] = [1, 2, 3];
    machine.call(fixed, 0, 0);
    machine.call(pointer, 0, 0);
    allocate(process, machine);
    machine.call(saves, 0, 0);
    allocate(process, machine);
    for (let i = 0; i < 3; i++) machine.return();
    // This frame has room for the frame in between, whose words stay intact in it: only saved frame pointers differ.
    machine.call(pointer, 0, 2);
    machine.call(saves, 0, 0);
    allocate(process, machine);
    expect(process.stack()).toEqual({ frames: machine.frames, end: WalkEnd.whole });
  });

  it("is of no use where the stack is deeper than what is kept: the root's side is cut off, and counted", () => {
    const [process] = twoProcesses();
    const machine = new Machine([process]);
    for (let i = 0; i < MOST_FRAMES + 10; i++) machine.call(1 + (i % 2) * 5, 0, 0);
    allocate(process, machine);
    allocate(process, machine);
    expect(process.stack()).toEqual({ frames: machine.frames.slice(0, MOST_FRAMES), end: WalkEnd.cut });
    expect(process.view.getBigUint64(Header.cutStacks, true)).toBe(2n);
    for (let i = 0; i < 11; i++) machine.return();
    allocate(process, machine);
    expect(process.stack()).toEqual({ frames: machine.frames, end: WalkEnd.whole });
    const paths = contextsOf(process).contexts.map(({ sites }) => sites.at(-1));
    expect(paths.filter((site) => site === 1)).toHaveLength(1);
  });
});
