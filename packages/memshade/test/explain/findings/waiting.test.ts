import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../src/explain/analyses/frames/mark-frames.ts";
import { sentenceOf } from "../../../src/explain/findings/index.ts";
import { runFindings } from "../../../src/explain/findings/run-findings.ts";
import { profileOfPicture } from "../../heap-picture.ts";

function findingsOf(picture: string) {
  return runFindings({ heap: withOwnSites(profileOfPicture(picture), new FrameRules()) });
}

function waitingOf(picture: string) {
  return findingsOf(picture).filter(({ kind }) => kind === "waiting");
}

describe("blocks that wait for JavaScript's collector", () => {
  it("are a finding where they are most of the peak", () => {
    const [finding, ...more] = waitingOf(`
      main > stars  1000 x 4096  life 500  access 9  peak 800  collected 1000
      main > table  1 x 65536    life 999  access 9000  peak 1
    `);
    expect(more).toEqual([]);
    expect(finding).toMatchObject({
      amount: 800 * 4096,
      unit: "bytes",
      blocks: 800,
      allocated: 1000,
      part: (800 * 4096) / (800 * 4096 + 65_536),
      place: { path: [{ function: "stars" }, { function: "main" }] },
    });
    expect(sentenceOf(finding!)).toMatchObject({
      before: "of blocks of",
      after: "waited for JavaScript's garbage collector",
    });
  });

  it("are none below half of the peak: that some come late is the price of a collector", () => {
    const with_ = (table: number) => `
      main > stars  1000 x 4096  life 500  access 9  peak 100  collected 1000
      main > table  100 x ${table}  life 999  access 9000  peak 100
    `;
    expect(waitingOf(with_(4096))).toHaveLength(1);
    expect(waitingOf(with_(4097))).toEqual([]);
  });

  it("are none where less than a page waits", () => {
    const of = (blocks: number) =>
      `main > stars  100 x 4096  life 9  access 9  peak ${blocks}  collected 100`;
    expect(waitingOf(of(16))).toHaveLength(1);
    expect(waitingOf(of(15))).toEqual([]);
  });

  it("are told of several places if these together are most of the peak", () => {
    expect(
      waitingOf(`
        main > sun    100 x 4096  life 9  access 9  peak 30  collected 100
        main > moon   100 x 4096  life 9  access 9  peak 30  collected 100
        main > table  1 x 163840  life 99  access 9  peak 1
      `),
    ).toHaveLength(2);
  });

  it("are not those of a place that frees its blocks, but for a few that it forgot", () => {
    expect(waitingOf("main > stars  1000 x 4096  life 10  access 9  peak 100  collected 50")).toEqual([]);
  });

  it("are those that live most of the time, however many others the place makes for a moment", () => {
    // 950 blocks live for about 10 allocations each, 50 for 10,000.
    const picture = "main > stars  1000 x 4096  life 510  access 9  peak 100  collected 50  lasted 10000";
    expect(waitingOf(picture)).toHaveLength(1);
  });

  it("are no leak, though the collector has not come to all of them", () => {
    const kinds = findingsOf(
      "main > stars  100 x 4096  life 9  access 9  peak 100  live 30  collected 70",
    ).map(({ kind }) => kind);
    expect(kinds).toEqual(["waiting"]);
  });
});
