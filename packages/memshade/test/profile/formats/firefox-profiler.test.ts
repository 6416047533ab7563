import { describe, expect, it } from "vitest";
import { writeFirefoxProfiler } from "../../../src/profile/formats/firefox-profiler.ts";
import type { SampleProfile } from "../../../src/profile/model/sample-profile.ts";
import { sampleProfileOf } from "../../sample-picture.ts";

type Columns = Record<string, (number | null)[]>;

function read(profile: SampleProfile, shown?: number) {
  const file = JSON.parse([...writeFirefoxProfiler(profile, "1.0.0", shown)].join(""));
  const { stackTable, frameTable, funcTable, stringArray } = file.shared;
  const stackOf = (stack: number): string[] => {
    const frame = stackTable.frame[stack];
    const name = `${stringArray[funcTable.name[frameTable.func[frame]]]}@${frameTable.inlineDepth[frame]}`;
    const offset = stackTable.prefixOffset[stack];
    return offset === 0 ? [name] : [...stackOf(stack - offset), name];
  };
  const tracks = file.threads.map((thread: { name: string; samples: Columns; pid: string }) => ({
    name: thread.name,
    pid: thread.pid,
    weight: thread.samples.weight,
    time: thread.samples.time,
    stacks: thread.samples.stack!.map((stack) => stackOf(stack!).join(" > ")),
  }));
  return { file, tracks };
}

describe("a profile for the Firefox Profiler", () => {
  it("is of the one version that is tested, and needs no symbols from elsewhere", () => {
    const { meta, libs } = read(sampleProfileOf("main : 1")).file;
    expect(meta).toMatchObject({ preprocessedProfileVersion: 70, symbolicated: true, markerSchema: [] });
    expect(meta.categories[0]).toEqual({ name: "Other", color: "grey", subcategories: ["Other"] });
    expect(libs[0]).toMatchObject({ name: "app", codeId: "00ff" });
  });

  it("draws inlined calls as levels of one address", () => {
    const { tracks } = read(sampleProfileOf("main > ~each > ~visit > leaf : 1"));
    expect(tracks[0].stacks).toEqual(["main@0 > each@1 > visit@2 > leaf@0"]);
  });

  it("weighs stacks by their values where samples have no times", () => {
    const valueTypes = [{ type: "live at peak", unit: "bytes" }] as const;
    const { file, tracks } = read(
      sampleProfileOf("main > a : 64\nmain > b : 0\nmain > a : 1", { valueTypes }),
    );
    expect(tracks).toEqual([
      { name: "live at peak", pid: "0", weight: [65], time: [0], stacks: ["main@0 > a@0"] },
    ]);
    expect(file.threads[0].samples.weightType).toBe("bytes");
  });

  it("keeps threads and times of samples that have them", () => {
    const { file, tracks } = read(sampleProfileOf("main > a : 1\nmain > b : 1", { timesMs: [0, 2.5] }));
    const stacks = ["main@0 > a@0", "main@0 > b@0"];
    expect(tracks).toEqual([{ name: "main", pid: "7", weight: null, time: [0, 2.5], stacks }]);
    expect(file.meta.interval).toBe(2.5);
  });

  it("tells code of libraries and of JavaScript apart, and selects the track that is to be seen first", () => {
    const valueTypes = [
      { type: "blocks", unit: "count", says: "blocks allocated" },
      { type: "space", unit: "bytes" },
    ] as const;
    const picture = sampleProfileOf("main > run > sort : 1 2", { valueTypes });
    const marks = [{}, { language: "JavaScript" }, { library: "libc" }] as const;
    const names = ["main", "run", "sort"];
    const frames = picture.frames.map((frame) => ({ ...frame, ...marks[names.indexOf(frame.function)] }));
    const { file } = read({ ...picture, frames }, 1);
    const categoryOf = (name: string) => {
      const { frameTable, funcTable, stringArray } = file.shared;
      const row = frameTable.func.findIndex((func: number) => stringArray[funcTable.name[func]] === name);
      return [file.meta.categories[frameTable.category[row]].name, funcTable.isJS[frameTable.func[row]]];
    };
    expect(names.map(categoryOf)).toEqual([
      ["User", false],
      ["JavaScript", true],
      ["Library", false],
    ]);
    expect(file.meta.initialSelectedThreads).toEqual([1]);
    expect(file.meta.extra[0].entries).toEqual([
      { label: "blocks", format: "string", value: "blocks allocated" },
      { label: "Note", format: "string", value: "drawn by hand" },
    ]);
  });

  it("has columns of the stated length in every table", () => {
    const { file } = read(sampleProfileOf("main > ~a > b : 1\nmain > c : 2"));
    const tables: Record<string, unknown>[] = Object.values<Record<string, unknown>>(file.shared)
      .concat(file.threads.flatMap((thread: Record<string, unknown>) => [thread.samples, thread.markers]))
      .filter((table) => !Array.isArray(table));
    expect(tables.length).toBeGreaterThan(7);
    for (const table of tables)
      for (const column of Object.values(table).filter(Array.isArray))
        expect(column.length).toBe(table.length);
  });
});
