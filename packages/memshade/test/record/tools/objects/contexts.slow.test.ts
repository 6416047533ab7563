import { describe, expect, it } from "vitest";
import { framesOfPath, siteShares } from "../../../../src/explain/analyses/objects.ts";
import { type ModuleObjects, readObjects } from "../../../../src/profile/model/objects.ts";
import type { ObjectsOptions } from "../../../../src/record/tools/options.ts";
import { binaryenTool, watByBinaryen } from "../../../support/assemble.ts";
import { record } from "../../../support/recorded.ts";
import { callsText, RandomCalls } from "./random-calls.ts";

function partOf(module: Uint8Array, calls: readonly (readonly [string, number])[], objects: ObjectsOptions) {
  const { profile, behaviour } = record(module, calls, { tools: ["objects"], objects });
  expect(behaviour.trapped).toBe(false);
  const text = String(profile.toolFiles.find((file) => file.name === "objects.json")?.contents);
  return { text, objects: readObjects(text), part: readObjects(text).parts[0]! };
}

/** Objects by path and type: `program1.2<program1.0 node`. */
function byPath(part: ModuleObjects): Map<string, number> {
  const { contexts, sites, types } = part;
  const counts = new Map<string, number>();
  contexts.site.forEach((site, row) => {
    const names = framesOfPath(part, contexts.path[row]!).map(({ name }) => name);
    const type = types.find(({ index }) => index === sites[site]!.type)!;
    const key = `${names.join("<")} ${type.name}`;
    counts.set(key, (counts.get(key) ?? 0) + contexts.objects[row]!);
  });
  return new Map([...counts].sort());
}

describe.skipIf(binaryenTool("wasm-as") === undefined)("calling contexts of objects", () => {
  const programs = Array.from({ length: 40 }, (_, seed) => new RandomCalls(seed + 1));
  const module =
    binaryenTool("wasm-as") === undefined ? new Uint8Array() : watByBinaryen(callsText(programs));

  it.each(programs)("of random programs are those of an interpreter: $name", (program) => {
    const calls = [1, 2, 3].map((argument) => [program.name, argument] as const);
    const expected = new Map<string, number>();
    for (const [, argument] of calls) program.run(argument, expected);
    const { part, text } = partOf(module, calls, { sampleBytes: 128 });
    expect(byPath(part)).toEqual(new Map([...expected].sort()));
    expect(text).not.toContain("without callers");
    // A site's total is the sum of its contexts plus the objects without context.
    const sums = part.sites.map(() => ({ objects: 0, elements: 0, bytes: 0 }));
    part.contexts.site.forEach((site, row) => {
      sums[site]!.objects += part.contexts.objects[row]!;
      sums[site]!.elements += part.contexts.elements[row]!;
      sums[site]!.bytes += part.contexts.bytes[row]!;
    });
    expect(part.sites.map(({ objects, elements, bytes }) => ({ objects, elements, bytes }))).toEqual(sums);
    const without = partOf(module, calls, { sampleBytes: 0, contexts: false });
    expect(without.objects.contexts).toBe(false);
    expect(without.part.sites).toEqual(part.sites);
    expect(without.part.types).toEqual(part.types);
    expect(siteShares(without.part).every(({ frames }) => frames.length === 1)).toBe(true);
  });

  it("have the objects that were followed", () => {
    const [program] = programs;
    const { part } = partOf(module, [[program!.name, 3]], { sampleBytes: 8 });
    const { samples, contexts } = part;
    expect(samples.site.length).toBeGreaterThan(10);
    expect(samples.context.map((context) => contexts.site[context])).toEqual(samples.site);
  });

  it("give the same bytes in two runs", () => {
    for (const program of programs.slice(0, 5)) {
      const text = () => partOf(module, [[program.name, 3]], { sampleBytes: 0 }).text;
      expect(text()).toBe(text());
    }
  });
});
