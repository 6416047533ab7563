import { describe, expect, it } from "vitest";
import { sentenceOf } from "../../../src/explain/findings/index.ts";
import { runFindings } from "../../../src/explain/findings/run-findings.ts";
import type { RunStackTakes } from "../../../src/profile/model/run.ts";
import { profileOfPicture } from "../../heap-picture.ts";

const PROGRAM = { name: "lookUp", file: "/home/a/app.mjs", line: 3 };
const PACKAGE = { name: "exec", file: "/home/a/node_modules/sql.js/dist/sql-wasm.js", line: 87 };

function takes(calls: number, changes: Partial<RunStackTakes> = {}): RunStackTakes {
  const bytes = 16 * calls;
  return { function: "stackAlloc", frames: [PROGRAM], calls, bytes, stackBytes: 65_536, ...changes };
}

function leaksOf(...stackTakes: RunStackTakes[]) {
  const profile = profileOfPicture("main 1 x 8");
  const modules = profile.modules.map((module) => ({ ...module, stackTakes }));
  return runFindings({ heap: { ...profile, modules } }).filter(({ kind }) => kind === "stack-leak");
}

describe("parts of the stack that are never given back", () => {
  it("are a finding if they are taken again and again: a part of the stack", () => {
    const [finding] = leaksOf(takes(1000));
    expect(finding).toMatchObject({
      amount: 16_000,
      unit: "bytes",
      part: 16_000 / 65_536,
      calls: 1000,
      function: "stackAlloc",
      place: { path: [{ function: "lookUp", file: "/home/a/app.mjs", line: 3 }] },
    });
    expect(sentenceOf(finding!)).toMatchObject({
      before: "of the stack in 1,000 calls of stackAlloc by",
      after: "are never given back",
    });
  });

  it("are one in a short run too, which takes little of a large stack", () => {
    expect(leaksOf(takes(32, { stackBytes: 2 ** 23 }))).toHaveLength(1);
  });

  it("are told apart by how they were taken, and a line has one finding", () => {
    const thrown = takes(200, { function: undefined });
    const found = leaksOf(takes(1000), thrown);
    expect(found).toMatchObject([{ amount: 16_000, calls: 1000 }]);
    expect(sentenceOf(leaksOf(thrown)[0]!).before).toBe("of the stack in 200 throwing calls by");
  });

  it("are none as long as they may be kept on purpose", () => {
    expect(leaksOf(takes(31))).toEqual([]);
  });

  it("are told at the program's line, by way of the package that it called", () => {
    expect(leaksOf(takes(40, { frames: [PACKAGE, PROGRAM] }))).toMatchObject([
      { place: { path: [{ function: "lookUp" }], via: { function: "exec" } } },
    ]);
  });

  it("are told of the module's function where nobody knows who called it", () => {
    expect(leaksOf(takes(40, { frames: [] }))).toMatchObject([
      { place: { path: [{ function: "stackAlloc", module: "app.wasm" }] } },
    ]);
  });
});
