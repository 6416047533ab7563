import { expect, it } from "vitest";
import { MissRatioCurve, reuseProfile, SharingAnalysis } from "../../src/index.ts";

it("who imports the package can tell true and false sharing of accesses with thread numbers", () => {
  const analysis = new SharingAnalysis();
  analysis.add({ thread: 0, writes: true, address: 0x1000, size: 4 });
  analysis.add({ thread: 1, writes: true, address: 0x1004, size: 4 });
  const [line] = analysis.sharedLines();
  expect(line).toMatchObject({ line: 64, sharing: "false", invalidations: 1 });
});

it("who imports the package can draw the miss-ratio curve of a trace", () => {
  const curve = MissRatioCurve.of(reuseProfile([0, 1, 0, 2, 1, 0]));
  expect([1, 2, 3, 4].map((lines) => curve.at(lines))).toEqual([1, 5 / 6, 3 / 6, 3 / 6]);
});
