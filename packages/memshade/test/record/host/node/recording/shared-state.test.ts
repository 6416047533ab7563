import { afterEach, expect, it, vi } from "vitest";
import {
  lastDelivery,
  listenersWord,
  noteDelivery,
  noteRewriting,
  openSharedState,
  rewritingMs,
} from "../../../../../src/record/host/node/recording/shared-state.ts";

afterEach(() => void vi.useRealTimers());

it("a signal that came later came later, whatever the time: long-running programs get each of theirs", () => {
  const state = openSharedState();
  expect(lastDelivery(state, "SIGHUP")).toBe(0);
  // Times at which 30, 31 and 32 bits of milliseconds overflow.
  for (const bits of [30, 31, 32]) {
    const wraps = 2 ** bits * Math.ceil(Date.now() / 2 ** bits);
    vi.useFakeTimers({ now: wraps - 1 });
    noteDelivery(state, "SIGHUP");
    const before = lastDelivery(state, "SIGHUP");
    vi.setSystemTime(wraps + 1000);
    expect(Date.now() - before).toBe(1001);
  }
});

it("signals and their listeners are told apart", () => {
  const state = openSharedState();
  Atomics.store(state, listenersWord("SIGHUP"), 7);
  noteDelivery(state, "SIGTERM");
  expect(Atomics.load(state, listenersWord("SIGHUP"))).toBe(7);
  expect(Atomics.load(state, listenersWord("SIGTERM"))).toBe(0);
  expect(lastDelivery(state, "SIGINT")).toBe(0);
  expect(lastDelivery(state, "SIGHUP")).toBe(0);
  expect(lastDelivery(state, "SIGTERM")).toBeGreaterThan(0);
});

it("the time of rewriting adds up over all threads, for hours too, and beside the signals", () => {
  const state = openSharedState();
  expect(rewritingMs(state)).toBe(0);
  noteRewriting(state, 0.25);
  noteRewriting(new Int32Array(state.buffer), 9_000_000);
  expect(rewritingMs(state)).toBe(9_000_000.25);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    expect(lastDelivery(state, signal)).toBe(0);
    noteDelivery(state, signal);
  }
  expect(rewritingMs(state)).toBe(9_000_000.25);
});
