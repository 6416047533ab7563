import { describe, expect, it } from "vitest";
import { type DhatHeader, type DhatLives, writeDhat } from "../../../../src/profile/formats/dhat.ts";
import { sampleProfileOf } from "../../../sample-picture.ts";
import { readStacks, sumsOf } from "../../../show/exports/readers.ts";

const HEADER: DhatHeader = {
  mode: "heap",
  verb: "Allocated",
  command: "app --fast",
  notes: ["drawn by hand"],
  units: { byte: "byte", bytes: "bytes", blocks: "blocks" },
  time: { unit: "allocations", million: "million allocations", end: 90, peak: 40, short: 1 },
};
const PICTURE = `
  main > ~each > visit : 0
  main : 0
  main > ~each > visit : 0`;

const lives = (changes: Partial<DhatLives> = {}): DhatLives => ({
  tl: [9, 1, 3],
  mb: [60, 8, 40],
  mbk: [6, 1, 4],
  gb: [50, 8, 40],
  gbk: [5, 1, 4],
  eb: [0, 0, 0],
  ebk: [0, 0, 0],
  ...changes,
});

function written(changes: Partial<DhatLives> | undefined) {
  const profile = sampleProfileOf(PICTURE);
  const columns = { tb: [100, 8, 60], tbk: [10, 1, 6] };
  const all = changes === undefined ? columns : { ...columns, lives: lives(changes) };
  const content = Buffer.from([...writeDhat(profile, HEADER, all)].join(""));
  return { file: JSON.parse(content.toString()), read: readStacks("dhat", content) };
}

describe("a DHAT file", () => {
  it("has the version that viewers take, and names its units and clock", () => {
    expect(written({}).file).toMatchObject({
      dhatFileVersion: 2,
      bklt: true,
      bkacc: false,
      cmd: "app --fast",
      verb: "Allocated",
      tu: "allocations",
      Mtu: "million allocations",
      te: 90,
      tg: 40,
      tuth: 1,
    });
  });

  it("has one point per stack, with sums, and at least what it had at the peak as its maximum", () => {
    const { read } = written({});
    expect(read.tb!.map(({ frames, weight }) => `${frames.join(" > ")} ${weight}`)).toEqual([
      "main src/app.c:4 > each src/app.c:4 > visit src/app.c:5 160",
      "main src/app.c:4 8",
    ]);
    expect(read.mb!.map(({ weight }) => weight)).toEqual([90, 8]);
    expect(read.mbk!.map(({ weight }) => weight)).toEqual([9, 1]);
    expect(sumsOf(read)).toMatchObject({ tb: 168, tbk: 17, tl: 13, gb: 98, eb: 0 });
  });

  it("says nothing of lives that nobody followed", () => {
    const { file } = written(undefined);
    expect(file).toMatchObject({ bklt: false, bkacc: false });
    expect(file).not.toHaveProperty("tg");
    expect(Object.keys(file.pps[0])).toEqual(["tb", "tbk", "fs"]);
  });

  it("is refused for amounts that are none", () => {
    expect(() => written({ tl: [2 ** 60, 0, 0] })).toThrow("cannot write tl: ");
    expect(() => written({ eb: [-1, 0, 0] })).toThrow("cannot write eb: -1 is not a whole number");
  });
});
