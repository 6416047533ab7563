import { describe, expect, it } from "vitest";
import { sum } from "../../../../../src/ground/bytes/numbers.ts";
import { PageModel } from "../../../../../src/show/report/page/app/model/page-model.ts";
import { siteRows, sumRows } from "../../../../../src/show/report/page/app/model/site-rows.ts";
import { sumLines } from "../../../../../src/show/report/page/app/model/source-lines.ts";
import { FIRST_STATE, GROUPS, type PageState } from "../../../../../src/show/report/page/app/state.ts";
import { FRAME_FLAGS } from "../../../../../src/show/report/page/data/page-data.ts";
import { madeUpPage } from "../made-up-page.ts";

const data = madeUpPage({ contexts: 500, intervals: 32 });
const model = new PageModel(data);
const state = (part: Partial<PageState> = {}): PageState => ({ ...FIRST_STATE, ...part });
const weight = (id: string, part: Partial<PageState> = {}) =>
  model.figures(state(part)).find((figure) => figure.id === id)!;

describe("the numbers of the whole run", () => {
  it("are those of the data", () => {
    for (const { id, total, values } of data.weights) {
      expect(weight(id).total).toBe(total);
      expect(sum(values)).toBe(total);
      expect(weight(id).isWholeRun).toBe(false);
    }
  });

  it("are all in the rows of every group", () => {
    for (const group of GROUPS)
      for (const folded of [true, false]) {
        const grouping = model.grouping(state({ group, folded }));
        for (const { values, total } of data.weights) expect(sum(sumRows(grouping, values))).toBe(total);
      }
  });

  it("are all in the lines of the sources, where all lines are known", () => {
    const figures = model.figures(state());
    const files = sumLines(data, model.naming(state()), figures, figures[0]);
    for (const [index, { total }] of figures.entries())
      expect(files.reduce((all, { own }) => all + own[index], 0)).toBe(total);
  });
});

describe("a finding without call paths of blocks", () => {
  it("has its line among the sources, also where nothing else has", () => {
    const frame = 3;
    const page = { ...data, findings: [{ ...data.findings[0], path: [frame], contexts: new Int32Array(0) }] };
    const files = sumLines(page, new PageModel(page).naming(state()), [], undefined);
    expect(files.map(({ file, lines }) => [file, lines.map(({ line }) => line)])).toEqual([
      [data.frames.file[frame], [data.frames.line[frame]]],
    ]);
  });
});

describe("how far a sum may be off", () => {
  it("is known by the caller in JavaScript: what one made is off together, what several made is not", () => {
    const script = Uint8Array.from(data.frames.flags);
    script[0] = script[1] = FRAME_FLAGS.script;
    const sampled = {
      ...data,
      frames: { ...data.frames, flags: script },
      contexts: {
        length: 5,
        parent: Int32Array.of(-1, 0, 0, -1, 3),
        frame: Int32Array.of(0, 2, 3, 1, 2),
        site: Int32Array.of(0, 0, 0, 3, 3),
      },
      weights: [
        {
          ...data.weights[0],
          values: Float64Array.of(0, 50, 50, 0, 100),
          total: 200,
          deviations: Float64Array.of(0, 1, 2, 0, 4),
        },
      ],
      timelines: [],
    };
    const page = new PageModel(sampled);
    const [figure] = page.figures(state());
    expect(page.margins.of(figure, [1, 2])).toBe(2 * 3);
    expect(page.margins.of(figure, [1, 2, 4])).toBe(2 * 5);
    expect(page.margins.of({ ...figure, deviations: undefined }, [1])).toBe(0);
  });
});

describe("what goes through a line", () => {
  it("is counted once where a function calls itself", () => {
    const recursive = {
      ...data,
      contexts: {
        length: 3,
        parent: Int32Array.of(-1, 0, 1),
        frame: Int32Array.of(0, 1, 0),
        site: Int32Array.of(0, 1, 2),
      },
      weights: [{ ...data.weights[0], values: Float64Array.of(1, 10, 100), total: 111 }],
      timelines: [],
    };
    const page = new PageModel(recursive);
    const figures = page.figures(state());
    const lines = sumLines(recursive, page.naming(state()), figures, figures[0]).flatMap(
      ({ lines }) => lines,
    );
    const line = (frame: number) => lines.find((line) => line.frame === frame)!;
    expect([line(0).own[0], line(0).through]).toEqual([101, 111]);
    expect([line(1).own[0], line(1).through]).toEqual([10, 110]);
  });
});

describe("a range", () => {
  const timeline = data.timelines[0];
  const deltas = timeline.deltas!;
  const column = (id: string) => deltas.columns.find(({ weight }) => weight === id)!.values;
  const within = (values: Float64Array, from: number, to: number) =>
    sum(values.subarray(deltas.offset[from], deltas.offset[to]));

  it("has the sums of its intervals, and says what is of the whole run", () => {
    const range = { tool: "heap", from: 4, to: 9 } as const;
    expect(weight("bytes", { range }).total).toBe(within(column("bytes"), 4, 9));
    expect(weight("blocks", { range }).total).toBe(within(column("blocks"), 4, 9));
    expect(weight("bytes", { range }).isWholeRun).toBe(false);
    for (const id of ["left", "dead", "misses"]) {
      expect(weight(id, { range }).isWholeRun, id).toBe(true);
      expect(weight(id, { range }).total, id).toBe(data.weights.find((weight) => weight.id === id)!.total);
    }
  });

  it("is what the views are of where no weight is chosen, whichever weight stands first", () => {
    const range = { tool: "heap", from: 4, to: 9 } as const;
    const first = data.weights.find(({ id }) => id === "left")!;
    const page = new PageModel({ ...data, weights: [first, ...data.weights.filter((one) => one !== first)] });
    expect(page.weight(state())!.id).toBe("left");
    const chosen = page.weight(state({ range }))!;
    expect(chosen).toMatchObject({ isWholeRun: false, tool: "heap" });
    expect(chosen.total).toBe(page.figures(state({ range })).find(({ id }) => id === chosen.id)!.total);
    expect(siteRows(page, state({ range, tab: "sites" })).sort).toBe(chosen.id);
    // A chosen weight stays selected, marked as that of the whole run.
    expect(page.weight(state({ range, weight: "left" }))).toMatchObject({ id: "left", isWholeRun: true });
  });

  it("tells what is live where it ends, and what that has grown", () => {
    const range = { tool: "heap", from: 4, to: 9 } as const;
    const live = data.timelines[0].lanes[0].values;
    expect(weight("live", { range }).total).toBe(live[8]);
    expect(weight("grown", { range }).total).toBe(live[8] - live[3]);
  });

  it("counts what was live when recording began", () => {
    const begin = {
      context: Int32Array.of(3),
      bytes: Float64Array.of(1000),
      blocks: Float64Array.of(1),
    };
    const page = new PageModel({
      ...data,
      timelines: [{ ...timeline, deltas: { ...deltas, begin } }],
    });
    const range = { tool: "heap", from: 0, to: 1 } as const;
    const live = page.figures(state({ range })).find(({ id }) => id === "live")!;
    expect(live.total).toBe(timeline.lanes[0].values[0] + 1000);
    expect(page.life!.line([3])[0]).toBe(model.life!.line([3])[0] + 1000);
  });

  it("may lie beyond the run, or be of a clock without who did what", () => {
    expect(weight("bytes", { range: { tool: "heap", from: 900, to: 1000 } }).total).toBe(0);
    expect(weight("misses", { range: { tool: "workingset", from: 1, to: 2 } }).isWholeRun).toBe(true);
    expect(weight("bytes", { range: { tool: "waste", from: 1, to: 2 } }).isWholeRun).toBe(true);
  });

  it("has small pictures that end at what is live", () => {
    const line = model.life!.line(Array.from(data.contexts.parent.keys()));
    expect(line[line.length - 1]).toBe(timeline.lanes[0].values[31]);
  });
});

describe("a selection", () => {
  const count = (selected: Uint8Array | undefined) => selected?.reduce((all, is) => all + is, 0);

  it("of a context has all below it", () => {
    const selected = model.selected(state({ site: 10 }))!;
    for (let context = 0; context < selected.length; context++) {
      let at = context;
      while (at > 10) at = data.contexts.parent[at];
      expect(selected[context], `${context}`).toBe(at === 10 ? 1 : 0);
    }
  });

  it("of a row has what the row sums", () => {
    for (const group of ["site", "line", "function", "file", "package"] as const) {
      const rows = siteRows(model, state({ group }));
      const row = rows.order[0];
      const selected = model.selected(state({ frame: rows.grouping.frames[row], frameOf: group }))!;
      const bytes = data.weights[0].values.reduce(
        (all, value, context) => all + (selected[context] ? value : 0),
        0,
      );
      expect(bytes, group).toBe(rows.columns[0].values[row]);
    }
  });

  it("of a finding has its contexts, and of nothing that is there nothing", () => {
    expect(count(model.selected(state({ finding: 0 })))).toBe(data.findings[0].contexts.length);
    for (const part of [{}, { site: 1e6 }, { frame: 1e6 }, { finding: 1e6 }])
      expect(model.selected(state(part))).toBeUndefined();
  });
});

describe("rows of Sites", () => {
  const total = (part: Partial<PageState>) => {
    const { order, columns } = siteRows(model, state(part));
    return order.reduce((all, row) => all + columns[0].values[row], 0);
  };

  it("are in the order that was asked for", () => {
    const bytes = (part: Partial<PageState>) => {
      const { order, columns } = siteRows(model, state({ group: "path", ...part }));
      return Array.from(order, (row) => columns[0].values[row]);
    };
    expect(bytes({})).toEqual(bytes({}).toSorted((a, b) => b - a));
    expect(bytes({ ascending: true })).toEqual(bytes({}).toReversed());
  });

  it("are filtered by words before, and by figures after they are summed", () => {
    expect(total({ filter: "-tile" }) + total({ filter: "tile" })).toBe(data.weights[0].total);
    expect(total({ filter: "fn:tile" })).toBeLessThan(total({ filter: "tile" }));
    const { order, columns } = siteRows(model, state({ filter: "left>20k bytes>1%" }));
    const left = columns.find(({ id }) => id === "left")!;
    expect(order.length).toBeGreaterThan(0);
    for (const row of order) {
      expect(left.values[row]).toBeGreaterThan(20_000);
      expect(columns[0].values[row]).toBeGreaterThan(0.01 * data.weights[0].total);
    }
  });

  it("have ratios of their own sums", () => {
    const { order, columns } = siteRows(model, state());
    const value = (id: string, row: number) => columns.find((column) => column.id === id)!.values[row];
    for (const row of order)
      if (value("bytes", row) > 0)
        expect(value("density", row)).toBe(value("accesses", row) / value("bytes", row));
  });
});

describe("a comparison", () => {
  const page = new PageModel(madeUpPage({ contexts: 300, diff: true }));

  it("shows each side, and the difference", () => {
    const bytes = (side: PageState["side"]) => page.figures(state({ side }))[0].total;
    const { total, totalBefore } = page.data.weights[0];
    expect(bytes("after")).toBe(total);
    expect(bytes("before")).toBe(totalBefore);
    expect(bytes("difference")).toBe(total - totalBefore!);
  });

  it("has the largest differences first, whatever way they go", () => {
    const { order, columns } = siteRows(page, state());
    const sizes = Array.from(order, (row) => Math.abs(columns[0].values[row]));
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(order.some((row) => columns[0].values[row] < 0)).toBe(true);
  });
});
