import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import {
  Line,
  Location,
  Function as PprofFunction,
  Profile,
  Sample,
  StringTable,
  ValueType,
} from "pprof-format";
import { describe, expect, it } from "vitest";
import { FormatError } from "../../../../src/ground/bytes/errors.ts";
import { decodePprof, isPprof, readPprof } from "../../../../src/profile/formats/pprof/read-pprof.ts";
import { framesOfContext } from "../../../../src/profile/model/stacks.ts";

const unpacked = (name: string) =>
  gunzipSync(readFileSync(fileURLToPath(new URL(`../../../fixtures/imports/${name}`, import.meta.url))));
const HEAP = unpacked("small.pb.gz");

function profileOf(
  types: readonly string[],
  samples: readonly (readonly (number | bigint)[])[],
  { period = 1, dropFrames = "" }: { period?: number; dropFrames?: string } = {},
): Uint8Array {
  const table = new StringTable();
  const text = (value: string) => table.dedup(value);
  const type = (word: string) => {
    const [name, unit] = word.split("/");
    return new ValueType({ type: text(name!), unit: text(unit!) });
  };
  return new Profile({
    sampleType: types.map(type),
    sample: samples.map((value, index) => new Sample({ locationId: [index + 1], value: [...value] })),
    location: samples.map((_, index) => new Location({ id: index + 1, address: 16 * index })),
    periodType: type("space/bytes"),
    period,
    dropFrames: text(dropFrames),
    stringTable: table,
  }).encode();
}

describe("a heap profile of pprof", () => {
  it("is as go tool pprof shows it", () => {
    const profile = readPprof(HEAP);
    expect(isPprof(HEAP)).toBe(true);
    const { description, contexts, frames, functions, strings } = profile;
    // Column sums of `go tool pprof -raw small.pb.gz`.
    expect(description.totals).toMatchObject({ liveBlocks: 64, liveBytes: 59_608, peakBytes: undefined });
    const live = Array.from(contexts.site!.liveBytes);
    const most = live.indexOf(Math.max(...live));
    const path = framesOfContext(profile, most as never).map(
      (frame) =>
        `${strings[functions.name[frames.function[frame]!]!]}:${frames.line[frame]} ${frames.inlined[frame]}`,
    );
    expect(path.slice(0, 2)).toEqual(["main.leak:13 1", "main.main:27 0"]);
    expect(description.unknownFields).toContain("totalLifetime");
    expect(description.unknownSiteFields).toContain("peakBytes");
  });

  it("of what is live alone says that nothing else is known", () => {
    const { description, contexts } = readPprof(
      profileOf(["objects/count", "space/bytes", "resident_space/bytes"], [[3, 300, 4096]], {
        period: 524_288,
      }),
    );
    expect(description.totals).toMatchObject({
      liveBytes: 300,
      liveBlocks: 3,
      allocations: undefined,
      frees: undefined,
    });
    expect(description.unknownFields).toEqual(expect.arrayContaining(["allocCount", "totalSize"]));
    expect(contexts.site!.liveBytes[0]).toBe(300);
    expect(description.notTracked.join("\n")).toMatch(/one sample for 524,288 bytes/);
    expect(description.notTracked.join("\n")).toMatch(/resident_space/);
    expect(description.notTracked.join("\n")).toMatch(/1 place has no name/);
  });

  it.each(["inuse_space", "space"])("with %s alone has bytes, and blocks were not recorded", (type) => {
    const { description, contexts } = readPprof(profileOf([`${type}/bytes`], [[300], [20]]));
    expect(description.totals).toMatchObject({ liveBytes: 320, liveBlocks: undefined, frees: undefined });
    expect(Array.from(contexts.site!.liveBytes)).toEqual([300, 20]);
    expect(description.unknownSiteFields).toContain("liveBlocks");
    expect(description.unknownSiteFields).not.toContain("liveBytes");
    expect(description.notTracked.join("\n")).toMatch(/Only the bytes of live blocks were recorded/);
  });

  it("has bytes in the unit that it says, and none where that is no unit of bytes", () => {
    const liveBytes = (unit: string) =>
      readPprof(profileOf(["inuse_objects/count", `inuse_space/${unit}`], [[2, 3]])).description.totals;
    expect(liveBytes("Kilobytes")).toMatchObject({ liveBytes: 3072, liveBlocks: 2 });
    expect(liveBytes("MB")).toMatchObject({ liveBytes: 3 * 2 ** 20 });
    expect(liveBytes("")).toMatchObject({ liveBytes: 3 });
    for (const unit of ["count", "nanoseconds"])
      expect(() => liveBytes(unit)).toThrow(`its values are inuse_objects/count, inuse_space/${unit}`);
  });

  it("shows frames that it asks viewers to hide, and says so", () => {
    const types = ["inuse_objects/count", "inuse_space/bytes"];
    const gaps = (dropFrames: string) =>
      readPprof(profileOf(types, [[1, 8]], { dropFrames })).description.notTracked.join("\n");
    expect(gaps("malloc|operator new.*")).toMatch(/All frames are shown; .*malloc\|operator new\.\*/);
    expect(gaps("")).not.toMatch(/All frames/);
  });

  it("loses no block where there are more than a field holds", () => {
    const blocks = 2 ** 34 + 5;
    const types = ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"];
    const { contexts, description } = readPprof(profileOf(types, [[blocks, 8 * blocks, 1, 8]]));
    expect(Array.from(contexts.mibs.allocCount).reduce((sum, count) => sum + count, 0)).toBe(blocks);
    expect(contexts.mibs.totalSize.reduce((sum, size) => sum + size, 0n)).toBe(BigInt(8 * blocks));
    expect(description.totals).toMatchObject({ allocations: blocks, liveBytes: 8 });
  });

  it("of something else is refused", () => {
    const read = () => readPprof(unpacked("cpu.pb.gz"));
    expect(read).toThrow(FormatError);
    expect(read).toThrow(/no profile of a heap: its values are samples\/count, cpu\/nanoseconds/);
    const diff = profileOf(["inuse_objects/count", "inuse_space/bytes"], [[-3, -300]]);
    expect(() => readPprof(diff)).toThrow(/negative value/);
  });

  it("may have more comments than calls take arguments", () => {
    const packed = new Uint8Array(500_000);
    const field = new Uint8Array([0x6a, 0xa0, 0xc2, 0x1e]);
    const { samples } = decodePprof(
      Buffer.concat([profileOf(["inuse_objects/count", "inuse_space/bytes"], [[1, 8]]), field, packed]),
    );
    expect(samples).toHaveLength(1);
  });

  it("whose samples share so many lines that no machine holds them is refused", () => {
    const shared = (lines: number) => {
      const table = new StringTable();
      const type = (name: string) => new ValueType({ type: table.dedup(name), unit: table.dedup("bytes") });
      const line = Array.from({ length: lines }, () => new Line({ functionId: 1, line: 1 }));
      return new Profile({
        sampleType: [type("inuse_objects"), type("inuse_space")],
        sample: Array.from(
          { length: 300 },
          (_, depth) => new Sample({ locationId: Array(depth + 1).fill(1), value: [1, 8] }),
        ),
        location: [new Location({ id: 1, line })],
        function: [new PprofFunction({ id: 1, name: table.dedup("f") })],
        stringTable: table,
      }).encode();
    };
    expect(readPprof(shared(2)).contexts.length).toBe(300);
    expect(() => readPprof(shared(1000))).toThrow(/its call paths have 45,150,000 frames/);
  });
});
