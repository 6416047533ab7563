import { describe, expect, it } from "vitest";
import { writeHeapProfile } from "../../../src/profile/formats/v8-heap-profile.ts";
import { SampleProfileBuilder } from "../../../src/profile/model/sample-profile.ts";
import { sampleProfileOf } from "../../sample-picture.ts";
import { readStacks } from "../../show/exports/readers.ts";

const VALUE_TYPES = [
  { type: "blocks", unit: "count" },
  { type: "space", unit: "bytes" },
] as const;

const written = (picture: string) =>
  Buffer.from([...writeHeapProfile(sampleProfileOf(picture, { valueTypes: VALUE_TYPES }), 1)].join(""));

describe("a heap profile of V8", () => {
  it("is a tree of the calls that have weight, with a sample each in the order of the profile's", () => {
    const content = written("main > read : 2 64\nmain > log : 1 0\nmain : 1 8\nmain > read : 1 1");
    expect(readStacks("heapprofile", content).weight).toEqual([
      { frames: ["main src/app.c:4"], weight: 8 },
      { frames: ["main src/app.c:4", "read src/app.c:4"], weight: 65 },
    ]);
    const { samples, head } = JSON.parse(content.toString());
    expect(samples).toEqual([
      { size: 65, nodeId: 3, ordinal: 1 },
      { size: 8, nodeId: 2, ordinal: 2 },
    ]);
    expect(head.callFrame).toEqual({
      functionName: "(root)",
      scriptId: "0",
      url: "",
      lineNumber: -1,
      columnNumber: -1,
    });
  });

  it("counts lines and columns from 0", () => {
    const { head } = JSON.parse(written("main : 1 1").toString());
    expect(head.children[0].callFrame).toMatchObject({ url: "src/app.c", lineNumber: 3, columnNumber: 1 });
  });

  it("may be deeper than calls can be", () => {
    const builder = new SampleProfileBuilder({
      name: "deep",
      valueTypes: [{ type: "space", unit: "bytes" }],
    });
    const thread = builder.addThread({ pid: 0, tid: 0, name: "deep" });
    const frames = Array.from({ length: 50_000 }, () => ({ function: "again" }));
    builder.addSample(thread, builder.stackOf(frames), [7]);
    const text = [...writeHeapProfile(builder.finish(), 0)].join("");
    expect(text.match(/"again"/g)).toHaveLength(50_000);
    expect(text).toContain('"samples":[{"size":7,"nodeId":50001,"ordinal":1}]');
  });

  it("is refused for a weight that is negative or too large", () => {
    expect(() => written("main : 1 -1")).toThrow("cannot write selfSize: -1");
    expect(() => written(`main : 1 ${2 ** 53 - 1}\nmain : 1 1`)).toThrow("cannot write selfSize: ");
  });
});
