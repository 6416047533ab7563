import { describe, expect, it } from "vitest";
import { writeSpeedscope } from "../../../src/profile/formats/speedscope.ts";
import type { SampleProfile } from "../../../src/profile/model/sample-profile.ts";
import { sampleProfileOf } from "../../sample-picture.ts";

interface SpeedscopeProfile {
  type: string;
  name: string;
  unit: string;
  startValue: number;
  endValue: number;
  samples: number[][];
  weights: number[];
}

function read(profile: SampleProfile) {
  const file = JSON.parse([...writeSpeedscope(profile, "memshade@1")].join(""));
  return {
    file,
    profiles: (file.profiles as SpeedscopeProfile[]).map(({ samples, ...rest }) => ({
      ...rest,
      samples: samples.map((frames) => frames.map((frame) => file.shared.frames[frame].name).join(" > ")),
    })),
  };
}

describe("a speedscope file", () => {
  it("has one profile per value type, with equal stacks summed and none without weight", () => {
    const valueTypes = [
      { type: "blocks", unit: "count" },
      { type: "space", unit: "bytes" },
    ] as const;
    const { file, profiles } = read(
      sampleProfileOf("main > read : 2 64\nmain : 0 8\nmain > read : 1 1", { valueTypes }),
    );
    expect(file.$schema).toBe("https://www.speedscope.app/file-format-schema.json");
    expect(file.shared.frames[0]).toEqual({ name: "main", file: "src/app.c", line: 4, col: 2 });
    const common = { type: "sampled", startValue: 0 };
    expect(profiles).toEqual([
      { ...common, name: "blocks", unit: "none", endValue: 3, samples: ["main > read"], weights: [3] },
      {
        ...common,
        name: "space",
        unit: "bytes",
        endValue: 73,
        samples: ["main > read", "main"],
        weights: [65, 8],
      },
    ]);
  });

  it("keeps the order of samples that have times, thread by thread", () => {
    const { profiles } = read(
      sampleProfileOf("main > a : 1\nmain > b : 1\nmain > a : 1", { timesMs: [0, 1, 2] }),
    );
    expect(profiles.map(({ name, samples }) => [name, samples])).toEqual([
      ["main 7/8: samples", ["main > a", "main > b", "main > a"]],
    ]);
  });
});
