import { PageBuilder } from "../../../../src/show/report/page/data/page-builder.ts";
import type { PageData } from "../../../../src/show/report/page/data/page-data.ts";
import { madeUpPage } from "./made-up-page.ts";

/**
 * Functions from the outermost to the allocating one, and bytes. Each function calls in one line only, `main` in the first line of `app.c`.
 */
export type Paths = readonly (readonly [path: string, bytes: number])[];

const LINES = ["main", "run", "parse", "load", "draw", "leaf", "other", "big"];

/** All callees of `run` are small, except `draw`. */
export const FEW_LARGE: Paths = [
  ["main run draw big", 64_000],
  ["main run parse leaf", 8],
  ["main run load leaf", 16],
  ["main run load parse leaf", 32],
  ["main run leaf", 64],
  ["main run load other", 128],
];

export function lineOf(name: string): number {
  return LINES.indexOf(name) + 1;
}

/** A page with at most this number of call paths; the others are merged. */
export function pageOfPaths(paths: Paths, mostContexts: number): PageData {
  const builder = new PageBuilder();
  builder.module(0, { name: "app.wasm", path: "build/app.wasm", knows: "lines" });
  const contexts = paths.map(([path]) => {
    const frames = path.split(" ").map((name) =>
      builder.frame({
        function: name,
        module: 0,
        address: lineOf(name),
        file: name === "other" ? "src/other.c" : "src/app.c",
        line: lineOf(name),
      }),
    );
    const context = builder.path(frames.reverse());
    builder.setSite(context, context);
    return context;
  });
  const kind = { label: "bytes allocated", word: "block", unit: "bytes", tool: "heap" } as const;
  builder.addWeight(
    { ...kind, id: "bytes" },
    contexts,
    paths.map(([, bytes]) => bytes),
  );
  const { mergedContexts, ...tables } = builder.build(mostContexts);
  const made = madeUpPage({ contexts: 1, intervals: 0 });
  return {
    ...made,
    head: {
      ...made.head,
      keys: [],
      ...(mergedContexts === 0 ? {} : { merged: { contexts: mergedContexts, bound: mostContexts } }),
    },
    strings: tables.strings,
    modules: tables.modules,
    frames: tables.frames,
    contexts: tables.contexts,
    weights: tables.weights,
    throughMerged: tables.throughMerged,
    ratios: [],
    timelines: [],
    findings: [],
    objects: [],
    sources: [],
    code: [],
    statics: [],
  };
}
