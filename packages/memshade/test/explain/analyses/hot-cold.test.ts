import { describe, expect, it } from "vitest";
import { classifySites } from "../../../src/explain/analyses/hot-cold.ts";
import type { HeapProfile, ProfileModule } from "../../../src/profile/model/heap-profile.ts";
import { HeapProfileBuilder } from "../../../src/profile/model/heap-profile-builder.ts";
import type { IndexIntoModuleTable } from "../../../src/profile/model/indices.ts";
import { classifyAllocation } from "../../../src/profile/model/memprof/hot-cold.ts";
import { zeroMib } from "../../../src/profile/model/mib-fields.ts";

const COLD = { totalLifetime: 300_000n, totalLifetimeAccessDensity: 0n };
const NOT_COLD = { totalLifetime: 10n, totalLifetimeAccessDensity: 5000n };

/** A native program and a library. Functions with a leading underscore belong to the library and have no lines. */
const MODULES: readonly ProfileModule[] = ["app", "lib.so"].map((name) => ({
  name,
  buildId: name,
  start: 0n,
  end: 1n,
  knows: "lines",
}));

/** Call paths, innermost function first, each with the figures of its only block. */
function profileOf(paths: readonly (readonly [string, typeof COLD])[]): HeapProfile {
  const builder = new HeapProfileBuilder(
    { clock: { kind: "wall", unit: "ms" }, granuleBytes: 8, rawVersion: 5, notTracked: [] },
    MODULES,
  );
  for (const [index, [path, times]] of paths.entries()) {
    const frames = path.split(" ").map((name) => ({
      name,
      offset: 0,
      module: Number(name.startsWith("_")) as IndexIntoModuleTable,
      ...(name.startsWith("_") ? {} : { file: "a.cpp", line: name.length }),
    }));
    builder.addContext(BigInt(index), frames, { ...zeroMib(), allocCount: 1, totalSize: 8n, ...times });
  }
  return builder.build();
}

function describeSites(profile: HeapProfile) {
  const nameOf = (frame: number) => profile.strings[profile.functions.name[profile.frames.function[frame]!]!];
  return classifySites(profile).map(({ frame, type, deciding }) => ({
    site: nameOf(frame),
    type,
    deciding: deciding.map((suffix) => `${suffix.type}: ${suffix.frames.map(nameOf).join(" ")}`).sort(),
  }));
}

describe("the hot/cold classification of allocation calls", () => {
  it("needs no caller where all call paths are alike", () => {
    expect(
      describeSites(
        profileOf([
          ["f g main", COLD],
          ["f h main", COLD],
        ]),
      ),
    ).toEqual([{ site: "f", type: "cold", deciding: ["cold: f"] }]);
  });

  it("passes by what is not compiled with the profile", () => {
    const profile = profileOf([
      ["_grow f g main", COLD],
      ["_grow _append f h main", NOT_COLD],
      ["_alone", COLD],
    ]);
    expect(describeSites(profile)).toEqual([
      { site: "f", type: "ambiguous", deciding: ["cold: f g", "notcold: f h"] },
    ]);
  });

  it("goes no further towards the callers than is needed to tell call paths apart", () => {
    const profile = profileOf([
      ["f g a main", COLD],
      ["f g b main", NOT_COLD],
      ["f h c main", COLD],
      ["f h d main", COLD],
    ]);
    expect(describeSites(profile)).toEqual([
      { site: "f", type: "ambiguous", deciding: ["cold: f g a", "cold: f h", "notcold: f g b"] },
    ]);
  });

  it("takes call paths that nothing tells apart for not cold", () => {
    const profile = profileOf([
      ["f g", COLD],
      ["f g", NOT_COLD],
      ["f g main", COLD],
    ]);
    expect(describeSites(profile)).toEqual([
      { site: "f", type: "ambiguous", deciding: ["cold: f g main", "notcold: f g"] },
    ]);
  });

  it("is made with limits that can be changed", () => {
    const strict = { coldDensity: 0.05, coldLifetimeSeconds: 1000, hotDensity: 1000, usesHot: false };
    const [site] = classifySites(profileOf([["f main", COLD]]), strict);
    expect(site!.type).toBe("notcold");
    expect(classifyAllocation(1, 0, 200_000, { ...strict, usesHot: true })).toBe("hot");
    expect(classifyAllocation(1, 0, 200_000, strict)).toBe("notcold");
  });
});
