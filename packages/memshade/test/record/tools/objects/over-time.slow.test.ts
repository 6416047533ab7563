import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { objectPhases } from "../../../../src/explain/analyses/objects.ts";
import { type ModuleObjects, readObjects } from "../../../../src/profile/model/objects.ts";
import { profile, type Recording } from "../../../../src/record/host/profile.ts";
import type { ObjectsOptions } from "../../../../src/record/tools/options.ts";

const FOLDER = new URL("../../../fixtures/programs/objects/", import.meta.url);
const moduleOf = (name: string) =>
  new Uint8Array(readFileSync(fileURLToPath(new URL(`${name}.wasm`, FOLDER))));

async function recorded(
  name: string,
  runs: readonly number[],
  objects: ObjectsOptions = {},
  between: (run: number, recording: Recording) => void = () => {},
): Promise<ModuleObjects> {
  const { toolFiles } = await profile(
    moduleOf(name),
    async (instantiate, recording) => {
      const { run } = (await instantiate()).exports as unknown as { run(n: number): number };
      runs.forEach((n, index) => {
        run(n);
        between(index, recording);
      });
    },
    { tools: ["objects"], objects },
  );
  return readObjects(String(toolFiles.find((file) => file.name === "objects.json")!.contents)).parts[0]!;
}

function sumsOf({ overTime }: ModuleObjects): Map<number, [objects: number, bytes: number]> {
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
  return new Map(
    overTime!.contexts.map(({ context, objects, bytes }) => [context, [sum(objects), sum(bytes)]]),
  );
}

describe("objects over time", () => {
  it.each([
    ["kotlin", {}],
    ["dart", {}],
    ["scheme", { contexts: false }],
    ["words", { contexts: false }],
    ["words", { sampleBytes: 512 }],
  ] as const)("are all objects, context by context: %s %o", async (name, options) => {
    const part = await recorded(name, [20_000, 1000], options);
    const { intervals } = part.overTime!;
    expect(intervals.end.length).toBeGreaterThan(20);
    expect(intervals.end.length).toBeLessThanOrEqual(513);
    expect(intervals.end).toEqual(intervals.end.toSorted((a, b) => a - b));
    const { objects, bytes } = part.contexts;
    expect(sumsOf(part)).toEqual(
      new Map(objects.map((count, context) => [context, [count, bytes[context]]])),
    );
    expect(intervals.end.at(-1)).toBe(bytes.reduce((all, own) => all + own, 0));
  });

  it("are the same in every run, whatever is sampled", async () => {
    const overTime = async (sampleBytes?: number) =>
      (await recorded("words", [30_000], sampleBytes === undefined ? {} : { sampleBytes })).overTime;
    const first = await overTime();
    expect(await overTime()).toEqual(first);
    // Each run draws new samples; some are taken exactly where an interval has no byte left.
    for (let run = 0; run < 12; run++) expect(await overTime(4096)).toEqual(first);
  });

  it("begin again where a recording forgets what was before", async () => {
    const forgetful = await recorded("kotlin", [20_000, 10_000], {}, (run, recording) => {
      if (run === 0) recording.reset();
    });
    const alone = await recorded("kotlin", [10_000]);
    const { objects, bytes } = forgetful.contexts;
    expect(sumsOf(forgetful)).toEqual(
      new Map(objects.map((count, context) => [context, [count, bytes[context]]])),
    );
    expect(forgetful.overTime!.intervals.end.at(-1)).toBe(alone.overTime!.intervals.end.at(-1));
  });

  it("have phases that are named by who allocates", async () => {
    const part = await recorded("words", [50_000]);
    const phases = objectPhases(part);
    expect(phases.length).toBeGreaterThan(0);
    expect(phases[0]!.start).toBe(0);
    expect(phases.at(-1)!.end).toBe(part.overTime!.intervals.end.at(-1));
    const objects = part.overTime!.intervals.objects.reduce((all, count) => all + count, 0);
    expect(phases.reduce((all, phase) => all + phase.objects, 0)).toBe(objects);
  });

  it("are not recorded where nothing is sampled", async () => {
    expect((await recorded("kotlin", [20_000], { sampleBytes: 0 })).overTime).toBeUndefined();
  });
});
