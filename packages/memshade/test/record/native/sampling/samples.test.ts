import { beforeEach, describe, expect, it } from "vitest";
import { Header } from "../../../../src/record/native/layout.ts";
import { RING_BYTES, SamplePlace, Sampling } from "../../../../src/record/native/sampling/layout.ts";
import { ProcessSamples } from "../../../../src/record/native/sampling/sample-reader.ts";
import { Machine } from "../support/machine.ts";
import { SampledProcess } from "../support/sampled-process.ts";

const IMAGE = "/tmp/memshade.so";

describe("samples of call paths", () => {
  let process: SampledProcess;
  let machine: Machine;
  let samples: ProcessSamples;
  const read = () => samples.file(process.shared);
  const pathOf = (row: number): number[] => {
    const { stacks, samples: rows } = read();
    const path: number[] = [];
    for (let stack = rows.stack[row]; stack >= 0; stack = stacks.caller[stack])
      path.push(process.addressOfSite(stacks.site[stack]));
    return path;
  };

  beforeEach(() => {
    process = new SampledProcess();
    machine = new Machine([process]);
    process.memory.map(process.handler, new Uint8Array(4096));
    process.load({ start: process.handler, end: process.handler + 0x1000, bias: 0, name: IMAGE });
    samples = new ProcessSamples(97, IMAGE);
    process.begin();
  });

  it("have the interrupted instruction itself, and of callers the calls", () => {
    for (const index of [1, 3, 5, 2]) machine.call(index, 8, 2);
    process.interrupt(machine.interrupted);
    const [interrupted, ...callers] = machine.frames;
    expect(pathOf(0)).toEqual([interrupted, ...callers.map((address) => address - 1)]);
    expect(read()).toMatchObject({
      threads: [{ id: 100, name: "thread-100" }],
      endedEarly: 0,
      lost: 0,
      own: 0,
    });
  });

  it("share what stacks have in common, and stand in the order of time", () => {
    machine.call(1, 8, 0);
    for (const index of [2, 6, 2]) {
      machine.call(index, 8, 0);
      process.interrupt(machine.interrupted);
      machine.return();
    }
    const { stacks, samples: rows } = read();
    expect(stacks.site).toHaveLength(4);
    expect(rows.stack).toEqual([2, 3, 2]);
    expect(rows.ms).toEqual(rows.ms.toSorted((a, b) => a - b));
  });

  it("count those that were due before them as lost, and stand for them", () => {
    process.interrupt(machine.interrupted, { missed: 3 });
    expect(read()).toMatchObject({ lost: 3, samples: { periods: [4] } });
    expect(read().notTracked[0]).toMatch(/^3 of 4 samples were lost: /);
  });

  it("are left out where they fall into the recording, and told", () => {
    process.interrupt({ ...machine.interrupted, address: process.handler + 8 });
    expect(read()).toMatchObject({ own: 1, samples: { ms: [] } });
  });

  it("end early at code that nothing is known of, and say so", () => {
    process.interrupt({ ...machine.interrupted, address: 0x1234_5678 });
    expect(read()).toMatchObject({ endedEarly: 1 });
    expect(read().notTracked).toEqual([expect.stringMatching(/has an incomplete call path/)]);
  });

  it("wait for nothing inside of a hook: its thread may have locked the tables", () => {
    process.isInHook = true;
    process.view.setUint32(Header.lock, 1, true);
    process.interrupt(machine.interrupted);
    expect(read()).toMatchObject({ endedEarly: 1, samples: { periods: [1] } });
  });

  it("read no page of a stack that is not there", () => {
    const { interrupted } = machine;
    process.interrupt({ ...interrupted, stackPointer: 0x7ffe_0000_0000 });
    expect(read()).toMatchObject({ endedEarly: 1 });
  });

  it("go round in their ring, and are counted where they find no room", () => {
    for (let depth = 0; depth < 40; depth++) machine.call(1, 8, 0);
    // The ring has wrapped several times, and the next entry reaches its end.
    const place = 3n * BigInt(RING_BYTES) - 80n;
    for (const field of [Sampling.head, Sampling.tail]) process.view.setBigUint64(field, place, true);
    for (let taken = 0; taken < 3; taken++) process.interrupt(machine.interrupted);
    expect(read().samples.ms).toHaveLength(3);
    for (const row of [0, 1, 2]) expect(pathOf(row)).toHaveLength(machine.depth);
    expect(new Uint8Array(process.linear.buffer, SamplePlace.ring, 4096).every((byte) => byte === 0)).toBe(
      true,
    );
    process.view.setBigUint64(
      Sampling.tail,
      process.view.getBigUint64(Sampling.head, true) - BigInt(RING_BYTES),
      true,
    );
    process.interrupt(machine.interrupted);
    expect(process.view.getBigUint64(Sampling.refused, true)).toBe(1n);
  });

  it("are cut where stacks are deeper than the recorded limit", () => {
    for (let depth = 0; depth < 1100; depth++) machine.call(1, 8, 0);
    process.interrupt(machine.interrupted);
    expect(pathOf(0)).toHaveLength(1024);
    expect(read().notTracked).toEqual([expect.stringMatching(/deeper than the recorded limit/)]);
  });
});
