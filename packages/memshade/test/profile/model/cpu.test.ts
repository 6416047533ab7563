import { describe, expect, it } from "vitest";
import { UserError } from "../../../src/ground/bytes/errors.ts";
import { type CpuSamples, readCpuSamples } from "../../../src/profile/model/cpu.ts";

const FILE: CpuSamples = {
  schema: "memshade-cpu",
  version: 1,
  hz: 97,
  threads: [{ id: 7, name: "app" }],
  stacks: { caller: [-1, 0], site: [16, 32] },
  samples: { ms: [1.5, 12], thread: [0, 0], stack: [1, -1], periods: [1, 2] },
  lost: 1,
  own: 0,
  endedEarly: 0,
  notTracked: [],
};
const changed = (part: object): string => JSON.stringify({ ...FILE, ...part });

describe("cpu.json", () => {
  it("is read back", () => {
    expect(readCpuSamples(JSON.stringify(FILE))).toEqual(FILE);
  });

  it.each([
    ["{}", "does not describe samples of a program"],
    ["", "it is not JSON"],
    [changed({ version: 2 }), "version 2"],
    [changed({ hz: "97" }), "hz"],
    [
      changed({ stacks: { caller: [0], site: [16] } }),
      "stacks.caller should be -1 or the number of an earlier stack",
    ],
    [changed({ stacks: { caller: [], site: [16] } }), "stacks: the columns have different lengths"],
    [changed({ samples: { ...FILE.samples, ms: [] } }), "samples: the columns have different lengths"],
    [changed({ samples: { ...FILE.samples, stack: [2, 0] } }), "samples.stack should be"],
    [changed({ threads: [] }), "samples.thread should be the number of a thread"],
  ])("is refused in one line where it is damaged: %s", (json, reason) => {
    expect(() => readCpuSamples(json)).toThrow(UserError);
    expect(() => readCpuSamples(json)).toThrow(reason);
  });
});
