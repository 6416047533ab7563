import { describe, expect, it } from "vitest";
import { writeChromeTrace } from "../../../src/profile/formats/chrome-trace.ts";
import type { CounterTrack } from "../../../src/profile/model/sample-profile.ts";

const TRACK: CounterTrack = {
  group: "heap of app",
  name: "live heap",
  unit: "bytes",
  clock: "allocation",
  times: [0, 16],
  values: [0, 64],
};
const written = (tracks: readonly CounterTrack[]) =>
  JSON.parse([...writeChromeTrace(tracks, { program: "app", notes: ["drawn by hand"] })].join(""));

describe("a trace of Chrome", () => {
  it("has counters as they are, in a process that is named after its clock", () => {
    expect(written([TRACK])).toEqual({
      traceEvents: [
        { name: "process_name", ph: "M", pid: 1, tid: 0, args: { name: "heap of app, 1 µs = 1 allocation" } },
        { name: "live heap", ph: "C", ts: 0, pid: 1, tid: 0, args: { bytes: 0 } },
        { name: "live heap", ph: "C", ts: 16, pid: 1, tid: 0, args: { bytes: 64 } },
      ],
      otherData: { program: "app", "note 1": "drawn by hand" },
    });
  });

  it("keeps what has different clocks apart", () => {
    const other = { ...TRACK, group: "working set of app", clock: "access" };
    const more = { ...TRACK, name: "live blocks", unit: "count" as const };
    const { traceEvents } = written([TRACK, other, more]);
    const pids = new Set(
      traceEvents.map(({ ph, name, pid }: Record<string, unknown>) => (ph === "C" ? `${name} ${pid}` : "")),
    );
    expect([...pids].filter((text) => text !== "")).toEqual(["live heap 1", "live heap 2", "live blocks 1"]);
  });

  it("is refused for an amount that is none", () => {
    expect(() => written([{ ...TRACK, values: [0, Number.NaN] }])).toThrow("cannot write live heap: NaN");
  });
});
