import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../../../src/explain/analyses/frames/mark-frames.ts";
import { diffFindings } from "../../../../../src/explain/diff/finding-diff.ts";
import { runFindings } from "../../../../../src/explain/findings/run-findings.ts";
import { diffPage } from "../../../../../src/show/report/page/data/diff-page.ts";
import type { PageData } from "../../../../../src/show/report/page/data/page-data.ts";
import { pageOfRun } from "../../../../../src/show/report/page/data/run-page.ts";
import { profileOfPicture } from "../../../../heap-picture.ts";
import { DATABASE } from "../../pictures.ts";

function sideOf(picture: string) {
  const heap = withOwnSites(profileOfPicture(picture), new FrameRules());
  const findings = runFindings({ heap }, Number.POSITIVE_INFINITY);
  return {
    page: pageOfRun({ heap }, { input: "run", findings, sources: "none", read: () => undefined }),
    findings,
  };
}

function diffOf(old: string, now: string): PageData {
  const [before, after] = [sideOf(old), sideOf(now)];
  return diffPage(before, after, diffFindings(before.findings, after.findings));
}

const weight = (page: PageData, id: string) => page.weights.find((one) => one.id === id)!;

/** `main > parse` of each context with a figure, and its values before and now. */
function rowsOf(page: PageData, id: string): [path: string, before: number, now: number][] {
  const { values, before } = weight(page, id);
  return [...values.keys()]
    .filter((row) => values[row] !== 0 || before![row] !== 0)
    .map((row) => {
      const path: string[] = [];
      for (let at = row; at !== -1; at = page.contexts.parent[at]!)
        path.unshift(page.strings[page.frames.function[page.contexts.frame[at]!]!]!);
      return [path.join(" > "), before![row]!, values[row]!];
    });
}

describe("the page of a comparison", () => {
  it("of a run with itself has no differences", () => {
    const page = diffOf(DATABASE, DATABASE);
    for (const { values, before, total, totalBefore } of page.weights) {
      expect(values).toEqual(before);
      expect(total).toBe(totalBefore);
    }
    expect(page.findings.map(({ change }) => change)).toEqual(page.findings.map(() => "kept"));
    expect(page.contexts.length).toBe(sideOf(DATABASE).page.contexts.length);
  });

  it("has one name for a place, on whatever path either run called it", () => {
    const now = sideOf("start > main > parse  10 x 8");
    const [before, after] = [sideOf("main > parse  10 x 8"), now];
    const module = { name: "app", buildId: "01" };
    const rebuilt: PageData = { ...before.page, modules: before.page.modules.map(() => module) };
    const page = diffPage({ ...before, page: rebuilt }, after, diffFindings([], []));
    const { values, before: old } = weight(page, "bytes");
    const frames = [...values.keys()]
      .filter((row) => values[row] !== 0 || old![row] !== 0)
      .map((row) => page.contexts.frame[row]);
    expect(frames).toHaveLength(2);
    expect(new Set(frames).size).toBe(1);
  });

  it("has what came and what went beside what stayed, and the sums of both runs", () => {
    const page = diffOf(
      "main > parse  10 x 8  peak 10\nmain > old  2 x 8  peak 1",
      "main > parse  15 x 8  peak 10\nmain > fresh > deep  4 x 8",
    );
    expect(rowsOf(page, "bytes").sort()).toEqual([
      ["main > fresh > deep", 0, 32],
      ["main > old", 16, 0],
      ["main > parse", 80, 120],
    ]);
    expect(weight(page, "bytes")).toMatchObject({ total: 152, totalBefore: 96 });
    expect(page.head.keys[0]).toMatchObject({ label: "peak", value: 80, before: 88 });
    for (const [row, caller] of page.contexts.parent.entries()) expect(caller).toBeLessThan(row);
  });

  it("says which findings came and which went, each with its contexts", () => {
    const leak = (name: string) => `main > ${name}  100 x 64  peak 90  live 90  lost 90`;
    const page = diffOf(leak("load"), leak("save"));
    const told = page.findings.map(({ kind, change, path, contexts }) => ({
      what: `${change} ${kind} of ${page.strings[page.frames.function[path[0]!]!]}`,
      contexts: [...contexts].map((row) => page.strings[page.frames.function[page.contexts.frame[row]!]!]),
    }));
    expect(told).toEqual([
      { what: "new leak of save", contexts: ["save"] },
      { what: "gone leak of load", contexts: ["load"] },
    ]);
  });
});
