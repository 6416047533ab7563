import { describe, expect, it } from "vitest";
import { sentenceOf } from "../../../src/explain/findings/index.ts";
import { runFindings } from "../../../src/explain/findings/run-findings.ts";
import type { RunInstances } from "../../../src/profile/model/run.ts";
import { profileOfPicture } from "../../heap-picture.ts";

const PAGE = 65_536;
const PROGRAM = { name: "begin", file: "/home/a/uploads.mjs", line: 3 };
const PACKAGE = { name: "createMD5", file: "/home/a/node_modules/hash-wasm/dist/index.js", line: 263 };

function made(kept: number, changes: Partial<RunInstances> = {}): RunInstances {
  return { frames: [PROGRAM], thread: 0, made: kept, kept, keptBytes: kept * PAGE, ...changes };
}

function instancesOf(...instancesBy: RunInstances[]) {
  const profile = profileOfPicture("main 1 x 8");
  const modules = profile.modules.map((module) => ({ ...module, instancesBy }));
  return runFindings({ heap: { ...profile, modules } }).filter(({ kind }) => kind === "instances");
}

describe("instances that one line makes", () => {
  it("are a finding if many are kept: the memory of all but one of them", () => {
    const [finding] = instancesOf(made(80));
    expect(finding).toMatchObject({
      amount: 79 * PAGE,
      unit: "bytes",
      kept: 80,
      part: 79 / 80,
      place: { path: [{ function: "begin", line: 3 }] },
    });
    expect(sentenceOf(finding!)).toMatchObject({
      before: "in 80 instances of app.wasm by",
      after: "are kept",
    });
  });

  it("are none as long as they may be a pool", () => {
    expect(instancesOf(made(32))).toHaveLength(1);
    expect(instancesOf(made(31))).toEqual([]);
  });

  it("are none where each of several threads has its own", () => {
    expect(instancesOf(...[0, 1, 2, 3].map((thread) => made(16, { thread })))).toEqual([]);
    expect(instancesOf(made(16), made(16))).toHaveLength(1);
  });

  it("are none where most are dropped, and where they have no memory", () => {
    expect(instancesOf(made(40, { made: 44 }))).toHaveLength(1);
    expect(instancesOf(made(40, { made: 45 }))).toEqual([]);
    expect(instancesOf(made(40, { keptBytes: 0 }))).toEqual([]);
  });

  it("are told at the program's line, by way of the package that it called", () => {
    expect(instancesOf(made(40, { frames: [PACKAGE, PROGRAM] }))).toMatchObject([
      { place: { path: [{ function: "begin" }], via: { function: "createMD5" } } },
    ]);
  });

  it("are told at the package's line where no code of the program is on the stack", () => {
    expect(instancesOf(made(40, { frames: [PACKAGE] }))).toMatchObject([
      { place: { path: [{ function: "createMD5", line: 263 }] } },
    ]);
  });
});
