// What the tests of Graph and TimeStrip open in Chromium: the components alone, with made-up data and a state.
import { h, render } from "preact";
import { useState } from "preact/hooks";
import { figuresOf } from "../../../src/report/page/app/model/figures.ts";
import { FrameNames } from "../../../src/report/page/app/model/names.ts";
import { FIRST_STATE, type PageState } from "../../../src/report/page/app/state/state.ts";
import type { PageData } from "../../../src/report/page/data/page-data.ts";
import { Graph } from "../../../src/report/page/graph/graph.ts";
import { TimeStrip } from "../../../src/report/page/time/time-strip.ts";

export interface Shown {
  data: PageData;
  state?: Partial<PageState>;
  matches?: Uint8Array;
  selected?: Uint8Array;
}

function Host({ data, state: first, matches, selected }: Shown) {
  const [state, setState] = useState<PageState>({ ...FIRST_STATE, ...first });
  Object.assign(globalThis, { state, change: (part: Partial<PageState>) => setState({ ...state, ...part }) });
  const figures = figuresOf(data, state.range, state.side);
  const weight = figures.find(({ id }) => id === state.weight) ?? figures[0];
  const shared = { data, names: new FrameNames(data), state, matches, selected };
  const onChange = (part: Partial<PageState>) => setState((known) => ({ ...known, ...part }));
  return h(
    "div",
    { class: "page" },
    h(TimeStrip, { ...shared, onChange }),
    h("main", { class: "view-graph" }, h(Graph, { ...shared, weight, weights: figures, onChange })),
  );
}

Object.assign(globalThis, {
  show: (shown: Shown) => render(h(Host, shown), document.getElementById("app")!),
});
