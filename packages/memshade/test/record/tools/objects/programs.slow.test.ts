import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  objectTotals,
  survivalBy,
  unreadFields,
  unreadTypes,
} from "../../../../src/explain/analyses/objects.ts";
import { type ObjectsProfile, readObjects } from "../../../../src/profile/model/objects.ts";
import { profile } from "../../../../src/record/host/profile.ts";
import { instrument } from "../../../../src/record/tools/index.ts";
import type { ObjectsOptions } from "../../../../src/record/tools/options.ts";

const FOLDER = new URL("../../../fixtures/programs/objects/", import.meta.url);
const moduleOf = (name: string) =>
  new Uint8Array(readFileSync(fileURLToPath(new URL(`${name}.wasm`, FOLDER))));

type Exports = { run(n: number): number; made?: WebAssembly.Global };

async function profiled(name: string, n: number, objects: ObjectsOptions = {}) {
  const recorded = await profile(
    moduleOf(name),
    async (instantiate) => {
      const exports = (await instantiate()).exports as unknown as Exports;
      return { result: exports.run(n), made: exports.made?.value };
    },
    { tools: ["objects"], objects },
  );
  const { contents } = recorded.toolFiles.find((file) => file.name === "objects.json")!;
  return { ...recorded.value, text: String(contents), objects: readObjects(String(contents)) };
}

async function plain(name: string, n: number): Promise<number> {
  const { instance } = await WebAssembly.instantiate(moduleOf(name) as BufferSource);
  return (instance.exports as unknown as Exports).run(n);
}

/** Bytes estimated from the samples by type, and the standard error of their sum. */
function estimated({ parts: [part] }: ObjectsProfile): { bytes: number; error: number } {
  const { samples } = part!;
  const everything = {
    ...part!,
    samples: { ...samples, death: samples.death.map(() => -1), unknown: samples.unknown.map(() => false) },
  };
  return survivalBy(everything, () => 0).get(0)!;
}

describe("programs as compilers write them", () => {
  it.each(["kotlin", "dart", "scheme"])(
    "%s counts its objects itself, and so many are seen",
    async (name) => {
      const { result, made, objects } = await profiled(name, 5000);
      expect(result).toBe(await plain(name, 5000));
      expect(objectTotals(objects).objects).toBe(made);
    },
  );

  it("of MoonBit behave as they do without the tool", async () => {
    const { result, objects } = await profiled("words", 5000);
    expect(result).toBe(await plain("words", 5000));
    const names = objects.parts[0]!.types.map(({ name }) => name);
    expect(names.some((name) => name?.endsWith("Entry"))).toBe(true);
    // Entry.debug_name: the compiler itself warns of this field.
    const entry = objects.parts[0]!.types.find(({ name }) => name === "_M0TP27moonpad3lib5Entry")!;
    expect(entry.fields.map(({ unread }) => unread)).toEqual([false, false, true]);
    expect(entry.objects).toBe(500);
  });

  it("have fields that nobody reads, also by way of supertypes", async () => {
    const { objects } = await profiled("kotlin", 1000);
    expect(unreadFields(objects).map(({ name }) => name)).toEqual(
      expect.arrayContaining(["Point.label", "Point.y", "ArrayList.modCount", "Any.hash"]),
    );
    expect(unreadFields(objects).some(({ name }) => name === "Point.x")).toBe(false);
    expect(unreadFields(objects).find(({ name }) => name === "ArrayList.modCount")).toMatchObject({
      written: true,
    });
    expect(unreadTypes(objects).map(({ type }) => type.name)).toEqual(["String", "Chars", "Vtable"]);
  });

  it("give the same exact counts in two runs", async () => {
    const [one, two] = [
      await profiled("dart", 500, { sampleBytes: 0 }),
      await profiled("dart", 500, { sampleBytes: 0 }),
    ];
    expect(one.text).toBe(two.text);
  });

  it.each(["kotlin", "dart", "scheme", "words"])(
    "%s: samples stand for all bytes that were allocated",
    async (name) => {
      const { objects } = await profiled(name, 5000, { sampleBytes: 2048 });
      const { bytes, error } = estimated(objects);
      expect(Math.abs(bytes - objectTotals(objects).bytes)).toBeLessThan(4 * error);
      expect(objects.parts[0]!.samples.site.length).toBeGreaterThan(30);
    },
  );

  it("have samples that stand for twice as many where the table is full", async () => {
    const { objects } = await profiled("dart", 2500, { sampleBytes: 1 });
    const { samples } = objects.parts[0]!;
    expect(samples.site.length).toBeLessThanOrEqual(32_768);
    expect(Math.max(...samples.weight)).toBeGreaterThan(1.9);
    const { bytes, error } = estimated(objects);
    expect(Math.abs(bytes - objectTotals(objects).bytes)).toBeLessThan(4 * error);
  });

  it("are told of what is in use when the engine has collected", async () => {
    const { objects } = await profiled("kotlin", 20_000, { sampleBytes: 1024 });
    const [part] = objects.parts;
    expect(part!.samples.settled).toBe(true);
    expect(part!.samples.unknown.some((isUnknown) => isUnknown)).toBe(false);
    const index = part!.types.find(({ name }) => name === "Point")!.index;
    const live = survivalBy(part!, (sample) => part!.sites[part!.samples.site[sample]!]!.type).get(index)!;
    // One in eight points is kept.
    expect(Math.abs(live.bytes - (20_000 / 8) * 36)).toBeLessThan(4 * live.error);
    expect(part!.samples.death.some((death) => death >= 0)).toBe(true);
  });

  it("are given the tool where nobody named one, and the heap profiler records nothing of them", () => {
    const { info } = instrument(moduleOf("kotlin"), { tools: ["heap"], chooseTool: true });
    expect(Object.keys(info.toolLayouts ?? {})).toEqual(["objects"]);
    expect(info.notRecorded?.heap).toContain("it is recorded with the tool objects");
    expect(info.notTracked.join()).not.toContain("garbage-collected heap");
  });

  it("without types of objects are refused in a sentence", () => {
    const { info } = instrument(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0), { tools: ["objects"] });
    expect(info.notRecorded?.objects).toContain("no garbage-collected objects");
  });
});
