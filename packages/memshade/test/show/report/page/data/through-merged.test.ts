import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../../../src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../../../../src/explain/analyses/frames/mark-frames.ts";
import { notThrough } from "../../../../../src/show/report/page/app/model/merged.ts";
import { PageModel } from "../../../../../src/show/report/page/app/model/page-model.ts";
import { sumLines } from "../../../../../src/show/report/page/app/model/source-lines.ts";
import { FIRST_STATE } from "../../../../../src/show/report/page/app/state.ts";
import type { PageData } from "../../../../../src/show/report/page/data/page-data.ts";
import { pageOfRun } from "../../../../../src/show/report/page/data/run-page.ts";
import { generatedHeap } from "../generated-heap.ts";
import { FEW_LARGE, lineOf, pageOfPaths } from "../merged-page.ts";

/** `file:line` and `file` of each weight, with all calls. */
function sumsWithCalls(page: PageData): Map<string, number> {
  const model = new PageModel(page);
  const sums = new Map<string, number>();
  const figures = model.figures(FIRST_STATE);
  for (const figure of figures)
    for (const { file, lines, through } of sumLines(page, model.naming(FIRST_STATE), figures, figure)) {
      const name = `${figure.id} ${page.strings[file]}`;
      if (through !== 0) sums.set(name, through);
      for (const { line, through } of lines) if (through !== 0) sums.set(`${name}:${line}`, through);
    }
  return sums;
}

describe("lines with calls, where call paths are merged", () => {
  it("have what they have where none are", () => {
    const heap = withOwnSites(generatedHeap(3000, 0), new FrameRules());
    const options = { input: "generated", findings: [], sources: "none", read: () => undefined } as const;
    const [whole, bounded] = [undefined, 200].map((mostContexts) =>
      pageOfRun({ heap }, { ...options, mostContexts }),
    );
    expect(bounded!.head.merged!.contexts).toBeGreaterThan(1000);
    const [expected, sums] = [sumsWithCalls(whole!), sumsWithCalls(bounded!)];
    expect([...sums.keys()].sort()).toEqual([...expected.keys()].sort());
    for (const [name, sum] of expected) expect(sums.get(name), name).toBeCloseTo(sum, 6);
  });

  it("have it also where all that called is merged", () => {
    const sums = sumsWithCalls(pageOfPaths(FEW_LARGE, 4));
    const ofLine = (name: string) => sums.get(`bytes src/app.c:${lineOf(name)}`);
    expect(["parse", "load", "leaf", "run"].map(ofLine)).toEqual([8 + 32, 16 + 32 + 128, 120, 64_248]);
    expect(sums.get("bytes src/other.c")).toBe(128);
  });

  it("say that they lack it where nobody knows it, and only there", () => {
    const [figure] = new PageModel(pageOfPaths(FEW_LARGE, 4)).figures(FIRST_STATE);
    const ofRange = { ...figure!, values: figure!.values.slice() };
    for (const [most, of, says] of [
      [4, figure!, undefined],
      [100, ofRange, undefined],
      [4, ofRange, "their callers are unknown in a range of time"],
    ] as const) {
      const page = pageOfPaths(FEW_LARGE, most);
      const values = of === figure ? page.weights[0]!.values : of.values;
      const sentence = notThrough(page, { ...of, values });
      if (says === undefined) expect(sentence).toBeUndefined();
      else expect(sentence).toContain(says);
    }
  });

  it("are selected with the sum that they show", () => {
    const page = pageOfPaths(FEW_LARGE, 4);
    const model = new PageModel(page);
    const frame = page.frames.function.findIndex((name) => page.strings[name] === "load");
    const state = { ...FIRST_STATE, frame, frameOf: "line" } as const;
    const [figure] = model.figures(state);
    const own = model.selected(state)!.reduce((sum, is, context) => sum + is * figure!.values[context]!, 0);
    expect(own + model.missingOfSelection(figure!, state)!).toBe(176);
    expect(model.missingOfSelection(figure!, { ...state, frameOf: "function" })).toBeUndefined();
  });
});
