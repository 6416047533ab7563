import { beforeEach, describe, expect, it } from "vitest";
import { Header } from "../../../../src/record/native/layout.ts";
import { FIRST_SIGNAL, LAST_SIGNAL, Sampling } from "../../../../src/record/native/sampling/layout.ts";
import { PERIOD, SampledProcess } from "../support/sampled-process.ts";

const THREAD_CLOCK = 6;
const clockOf = (thread: number): number => ((~thread << 3) | THREAD_CLOCK) >>> 0;
const bit = (signal: number): bigint => 1n << BigInt(signal - 1);
const ALL = 2n ** 64n - 1n;
const HANDLER = 0x40_0000;
const IGNORE = 1;

describe("timers of samples", () => {
  let process: SampledProcess;
  const timers = () => [...process.kernel.timers.values()];

  beforeEach(() => {
    process = new SampledProcess();
  });

  it("are one per thread, from before it does anything: by its own CPU time, and told to it alone", () => {
    process.begin();
    process.thread = 101;
    process.hooks.begin_thread(0x7d80_0000_0800n);
    expect(timers()).toEqual(
      [100, 101].map((thread) => ({
        signal: FIRST_SIGNAL,
        how: 4,
        thread,
        period: PERIOD,
        clock: expect.toSatisfy((clock: number) => clock >>> 0 === clockOf(thread)),
        first: expect.toSatisfy((first: number) => first > 0 && first <= PERIOD),
      })),
    );
  });

  it("are not there where no samples are wanted, and no signal has a handler", () => {
    process.period = 0;
    process.begin();
    process.hooks.malloc(8n);
    expect([timers(), [...process.handlers]]).toEqual([[], []]);
  });

  it("tell why a thread has none", () => {
    process.kernel.timerFailure = 11;
    process.begin();
    expect(process.header(Sampling.failure)).toBe(11);
  });

  it("go with the thread that had them when its place is taken", () => {
    process.begin();
    process.view.setUint32(Header.threads, 1024, true);
    process.kernel.ended.add(100);
    process.thread = 200;
    process.hooks.begin_thread(0x7d80_0000_0800n);
    expect(timers().map(({ thread }) => thread)).toEqual([200]);
  });

  it("have threads begin in the function that was asked for, with its argument", () => {
    process.begin();
    let started: [number, number] | undefined;
    process.library.pthread_create = (_result, _attributes, start, argument) => {
      started = [start, argument];
      return 0;
    };
    process.hooks.pthread_create(8n, 16n, 0x1234n, 0x5678n);
    expect(started).toEqual([process.beginThread, 0x7d80_0000_0800]);
    process.hooks.begin_thread(BigInt(started![1]));
    expect(process.left).toEqual({ to: 0x1234, argument: 0x5678 });
  });
});

describe("a program that uses the signal of the timers itself", () => {
  let process: SampledProcess;

  beforeEach(() => {
    process = new SampledProcess();
    process.begin();
  });

  it("gets its handler, and the timers the next signal", () => {
    expect(process.handlers.get(FIRST_SIGNAL)).toBe(process.handler);
    expect(process.handle(FIRST_SIGNAL, HANDLER)).toBe(0);
    expect(process.handlers.get(FIRST_SIGNAL)).toBe(HANDLER);
    expect(process.handlers.get(FIRST_SIGNAL - 1)).toBe(process.handler);
    expect([...process.kernel.timers.values()].map(({ signal }) => signal)).toEqual([FIRST_SIGNAL - 1]);
    expect([process.header(Sampling.moves), process.header(Sampling.taken)]).toEqual([1, FIRST_SIGNAL]);
  });

  it("is not disturbed where it uses the next ones too", () => {
    process.handlers.set(FIRST_SIGNAL - 1, HANDLER);
    process.hooks.signal(FIRST_SIGNAL, BigInt(HANDLER));
    expect(process.handlers.get(FIRST_SIGNAL - 1)).toBe(HANDLER);
    expect(process.header(Sampling.signal)).toBe(FIRST_SIGNAL - 2);
  });

  it("has them all if it wants all, and then no samples are taken", () => {
    for (let signal = 1; signal <= 64; signal++) process.handle(signal, HANDLER);
    for (let signal = LAST_SIGNAL; signal <= 64; signal++) expect(process.handlers.get(signal)).toBe(HANDLER);
    expect([process.header(Sampling.signal), process.kernel.timers.size]).toEqual([0, 0]);
  });

  it("believes what it says of a signal that it does not use", () => {
    expect(process.handle(FIRST_SIGNAL, IGNORE)).toBe(0);
    expect(process.handle(FIRST_SIGNAL, 0)).toBe(IGNORE);
    expect(process.hooks.signal(FIRST_SIGNAL, 1n)).toBe(0n);
    expect(process.handlers.get(FIRST_SIGNAL)).toBe(process.handler);
    expect(process.header(Sampling.moves)).toBe(0);
  });

  it("waits for it alone: it keeps that one off, and the timers take another", () => {
    process.keepOff(bit(FIRST_SIGNAL));
    expect(process.kept).toBe(bit(FIRST_SIGNAL));
    expect(process.header(Sampling.signal)).toBe(FIRST_SIGNAL - 1);
  });

  it("keeps all signals off: all but that of the timers", () => {
    process.keepOff(ALL);
    expect(process.kept).toBe(ALL & ~bit(FIRST_SIGNAL));
    expect(process.header(Sampling.moves)).toBe(0);
  });

  it("dies of the signal as it would alone, when somebody sends it", () => {
    process.interrupt({ address: 0, stackPointer: 0, framePointer: 0 }, { isSent: true });
    expect(process.handlers.get(FIRST_SIGNAL)).toBe(0);
    expect(process.kernel.calls.at(-1)).toBe("tgkill");
  });

  it("lives on where it ignores what is sent", () => {
    process.handle(FIRST_SIGNAL, IGNORE);
    process.kernel.calls.length = 0;
    process.interrupt({ address: 0, stackPointer: 0, framePointer: 0 }, { isSent: true });
    expect(process.kernel.calls).toEqual([]);
  });
});
