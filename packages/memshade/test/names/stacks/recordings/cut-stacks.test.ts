import { describe, expect, it } from "vitest";
import { CutStacks } from "../../../../src/names/stacks/recordings/named-samples.ts";
import { isEventOf, PerfProfileBuilder } from "../../../../src/names/stacks/recordings/perf-profile.ts";
import { CodePlace, type SampleStack } from "../../../../src/names/stacks/recordings/sample-walks.ts";
import type { PerfEvent } from "../../../../src/profile/formats/perf-data/index.ts";
import { perfProfileText } from "../../../../src/show/report/terminal/stacks.ts";

interface Taken {
  readonly end?: SampleStack["end"];
  readonly copied?: number;
  readonly room?: number;
  readonly event?: number;
  readonly address?: number;
}

const stackOf = ({ end, copied = 64, room = 64, event = 0, address = 0x10 }: Taken): SampleStack => ({
  sample: {
    kind: "sample",
    event,
    pid: 1,
    tid: 1,
    time: 0,
    period: 5,
    ip: address,
    registers: undefined,
    stack: new Uint8Array(copied),
    stackRoom: room,
  },
  threadName: "t",
  kernel: [],
  kernelText: undefined,
  end,
  frames: [new CodePlace(address, undefined)],
});

function wordsOf(...taken: readonly Taken[]): string[] {
  const cut = new CutStacks();
  for (const one of taken) cut.add(stackOf(one));
  return cut.inWords();
}

describe("stacks that perf cut", () => {
  it("are counted, with what to record instead", () => {
    const [words] = wordsOf({ end: "memory" }, { end: "memory" }, { end: "outermost" }, {});
    expect(words).toContain("2 of 3 stacks were cut");
    expect(words).toContain("perf copied 64 bytes");
    expect(words).toContain("--call-graph dwarf,65528 ");
    expect(words).toContain("lbr or fp");
  });

  it("are none where the stack itself ends, or is walked to its end", () => {
    expect(wordsOf({ end: "memory", copied: 40 }, { end: "outermost" }, { end: "zero" })).toEqual([]);
  });

  it("are not to be recorded with more than perf can copy", () => {
    const [words] = wordsOf({ end: "memory", copied: 65_528, room: 65_528 });
    expect(words).not.toContain("dwarf");
    expect(words).toContain("--call-graph lbr or fp");
  });
});

describe("samples of several events", () => {
  const event = (name: string): PerfEvent => ({
    name,
    sampleType: 0,
    readFormat: 0,
    branchSampleType: 0,
    hasSampleIds: false,
    userRegisters: [0, 0],
    ids: [],
  });
  const header = {
    events: [event("page-faults"), event("cycles:u")],
    architecture: undefined,
    commandLine: [],
    buildIds: new Map<string, string>(),
  };
  const samples = [
    stackOf({ event: 0, address: 0xa }),
    ...[0xb, 0xb, 0xa].map((address) => stackOf({ event: 1, address })),
  ];
  const namer = {
    name: () => {
      throw new Error("no file is mapped");
    },
  };
  const build = (shown?: string) => {
    const builder = new PerfProfileBuilder(header, namer as never, undefined, shown);
    for (const sample of samples) builder.add(sample);
    return { profile: builder.finish(), events: builder.finishByEvent() };
  };
  const text = ({ profile, events }: ReturnType<typeof build>) =>
    perfProfileText(
      profile,
      events,
      {
        architecture: undefined,
        command: [],
        events: header.events.map(({ name }) => name),
        lost: 0,
        notes: [],
        missing: [],
      },
      { rows: 9, width: undefined },
    );

  it("have a table for each, in percent of its own", () => {
    const [, faults, cycles] = text(build()).split(/\n(?=\d sample)/);
    expect(faults).toMatch(/^1 sample of page-faults:/);
    expect(faults).toContain("   100 %   100 %  0xa\n");
    expect(faults).not.toContain("0xb");
    expect(cycles).toMatch(/^3 samples of cycles:u:/);
    expect(cycles).toContain("  66.7 %  66.7 %  0xb\n  33.3 %  33.3 %  0xa\n");
  });

  it("are those of one event where it is chosen", () => {
    const { profile, events } = build("cycles");
    expect(profile.valueTypes.map(({ type }) => type)).toEqual(["samples", "cycles:u"]);
    expect(profile.samples.values).toEqual([
      [1, 1, 1],
      [5, 5, 5],
    ]);
    expect(events.map(({ name }) => name)).toEqual(["cycles:u"]);
  });

  it("are called by the name of the event, with its modifiers or without", () => {
    expect(
      ["cycles", "cycles:u", "cycles:k", "cyc", "CYCLES"].map((name) => isEventOf("cycles:u", name)),
    ).toEqual([true, true, false, false, false]);
  });
});
