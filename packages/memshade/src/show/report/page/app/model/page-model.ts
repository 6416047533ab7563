// Derived data for the views. Each result is cached until the state changes its inputs.

import type { PageData, PageFinding, PageTimeline } from "../../data/page-data.ts";
import { contextsOfBox } from "../../graph/layout/contexts-of-box.ts";
import { groupFrames, libraryFrames, removedFrames } from "../../graph/layout/frame-groups.ts";
import { checkedView } from "../../graph/view.ts";
import type { Group, PageState, SelectedBox } from "../state.ts";
import { type Figure, figuresOf, Margins } from "./figures.ts";
import { frameKeys, type Grouping, groupContexts, namingFrames } from "./grouping.ts";
import { missingOf, notThrough } from "./merged.ts";
import { FrameNames } from "./names.ts";

export class PageModel {
  readonly data: PageData;
  readonly names: FrameNames;
  readonly life: LifeLines | undefined;
  readonly margins: Margins;
  /** 1 for each context with an amount of any weight. */
  readonly #isUsed: Uint8Array;
  readonly #cache = new Map<string, readonly [key: string, value: unknown]>();

  constructor(data: PageData) {
    this.data = data;
    this.names = new FrameNames(data);
    this.life = LifeLines.of(data);
    this.margins = new Margins(data);
    this.#isUsed = new Uint8Array(data.contexts.length);
    for (const { values, before } of data.weights)
      for (let context = 0; context < values.length; context++)
        if (values[context] !== 0 || (before !== undefined && before[context] !== 0))
          this.#isUsed[context] = 1;
  }

  figures({ range, side }: PageState): Figure[] {
    return this.#keep("figures", JSON.stringify([range, side]), () => figuresOf(this.data, range, side));
  }

  /**
   * Returns the selected weight. Default: the first weight; for a range, the first one recorded over time.
   * Undefined in a page without weights.
   */
  weight(state: PageState): Figure | undefined {
    const figures = this.figures(state);
    const ofRange = figures.find(({ tool, isWholeRun }) => tool === state.range?.tool && !isWholeRun);
    return figures.find(({ id }) => id === state.weight) ?? ofRange ?? figures[0];
  }

  /** Returns the frame that names each context. */
  naming({ folded }: PageState): Int32Array {
    return this.#keep("naming", String(folded), () => namingFrames(this.data, folded));
  }

  grouping(state: PageState, group: Group = state.group): Grouping {
    return this.#keep(`grouping ${group}`, String(state.folded), () =>
      groupContexts(this.data, this.names, group, this.naming(state), this.#isUsed),
    );
  }

  filter(state: PageState): Filter {
    const ids = this.figures(state).map(({ id }) => id);
    return this.#keep("filter", JSON.stringify([state.filter, ids]), () => readFilter(state.filter, ids));
  }

  /** Returns 1 for each context that matches the words of the filter; undefined without words. */
  matches(state: PageState): Uint8Array | undefined {
    const { texts } = this.filter(state);
    return this.#keep("matches", JSON.stringify([state.filter, state.folded]), () =>
      matchingContexts(this.data, this.names, this.naming(state), texts),
    );
  }

  /** Returns 1 for each selected context; undefined without a selection. */
  selected(state: PageState): Uint8Array | undefined {
    const { site, frame, frameOf, box, alone, finding, folded } = state;
    const removed = box && state.graph?.removed;
    const key = JSON.stringify([site, frame, frameOf, box, alone, removed, finding, folded]);
    return this.#keep("selected", key, () => {
      if (box !== undefined) {
        const selected = this.#ofBox(box, state);
        // An address may name a box that does not exist.
        if (selected.includes(1)) return selected;
      }
      if (alone === true && site !== undefined && site < this.data.contexts.length) return this.#only([site]);
      if (site !== undefined && site < this.data.contexts.length) return this.#below(site);
      if (frame !== undefined && frame < this.data.frames.length)
        return this.#withFrame(frame, frameOf, this.naming(state));
      const contexts = finding === undefined ? undefined : this.data.findings[finding]?.contexts;
      return contexts && this.#only(contexts);
    });
  }

  /** Returns the number of merged call paths of contexts; undefined if unknown. */
  mergedIn(contexts: Iterable<number>): number | undefined {
    const { merged } = this.data.contexts;
    if (merged === undefined) return this.data.head.merged === undefined ? 0 : undefined;
    let sum = 0;
    for (const context of contexts) sum += merged[context];
    return sum;
  }

  /**
   * Returns the amount on merged call paths that a selection of a line or file has in addition to its
   * contexts; undefined if unknown.
   */
  missingOfSelection(figure: Figure, state: PageState): number | undefined {
    const { head, frames } = this.data;
    if (head.merged === undefined || !this.#isThrough(state)) return 0;
    if (notThrough(this.data, { ...figure, deviations: undefined }) !== undefined) return undefined;
    const { throughMerged } = this.data;
    const missing = missingOf(this.data, figure);
    const [file, line] = [frames.file[state.frame!], frames.line[state.frame!]];
    if (state.frameOf === "line" && line > 0) {
      const row = throughMerged!.lines.findIndex(
        (at) => frames.file[at] === file && frames.line[at] === line,
      );
      return missing?.ofLines[row] ?? 0;
    }
    if (state.frameOf !== "file" || file < 0) return undefined;
    return missing?.ofFiles[throughMerged!.files.findIndex((at) => frames.file[at] === file)] ?? 0;
  }

  /** True if everything that passes through a frame is selected, because no context is named by it. */
  #isThrough(state: PageState): boolean {
    const { frame, frameOf, box, site, alone } = state;
    if (box !== undefined || site !== undefined || alone === true) return false;
    if (frame === undefined || frame >= this.data.frames.length) return false;
    return this.#keep("through", JSON.stringify([frame, frameOf, state.folded]), () => {
      const naming = this.naming(state);
      const keys = frameKeys(this.data, this.names, frameOf);
      const key = keys(frame);
      return !naming.some((frameNumber, context) => this.#isUsed[context] === 1 && keys(frameNumber) === key);
    });
  }

  /** Returns the selected finding, unless a part of it is selected. */
  selectedFinding({ site, frame, finding }: PageState): PageFinding | undefined {
    return site === undefined && frame === undefined && finding !== undefined
      ? this.data.findings[finding]
      : undefined;
  }

  /** Returns the frames of a context, from the innermost one outwards. */
  path(context: number): number[] {
    const { parent, frame } = this.data.contexts;
    const path: number[] = [];
    for (let at = context; at >= 0; at = parent[at]) path.push(frame[at]);
    return path;
  }

  /**
   * Returns the path without library frames, starting at the site, if libraries are folded; else the full
   * path.
   */
  shownPath(context: number, { folded }: PageState): number[] {
    if (!folded) return this.path(context);
    const { parent, frame, site } = this.data.contexts;
    const path: number[] = [];
    for (let at = site[context] < 0 ? context : site[context]; at >= 0; at = parent[at])
      if (path.length === 0 || !this.names.is(frame[at], "library")) path.push(frame[at]);
    return path;
  }

  #only(contexts: Iterable<number>): Uint8Array {
    const selected = new Uint8Array(this.data.contexts.length);
    for (const context of contexts) selected[context] = 1;
    return selected;
  }

  /** Returns the margin of error of a box's figure. */
  marginOfBox(figure: Figure, box: SelectedBox, state: PageState): number {
    const isInside = this.#ofBox(box, state);
    return this.margins.of(
      figure,
      [...isInside.keys()].filter((context) => isInside[context] === 1),
    );
  }

  #ofBox(box: SelectedBox, { folded, graph }: PageState): Uint8Array {
    const { frames, contexts } = this.data;
    const groupOf = groupFrames(frames, this.names, box.by);
    const { removed } = checkedView(graph, frames.length);
    return contextsOfBox(
      contexts,
      {
        groupOf,
        isFolded: folded ? libraryFrames(frames) : undefined,
        isRemoved: removedFrames(groupOf, removed),
      },
      box,
    );
  }

  #below(top: number): Uint8Array {
    const { parent } = this.data.contexts;
    const selected = this.#only([top]);
    for (let context = top + 1; context < selected.length; context++)
      if (parent[context] >= 0 && selected[parent[context]]) selected[context] = 1;
    return selected;
  }

  /** Returns the contexts named by such a frame; if there are none, all that pass through one. */
  #withFrame(wanted: number, group: Group, naming: Int32Array): Uint8Array {
    const { parent, frame } = this.data.contexts;
    const keys = frameKeys(this.data, this.names, group);
    const key = keys(wanted);
    const selected = Uint8Array.from(naming, (frameNumber, context) =>
      this.#isUsed[context] === 1 && keys(frameNumber) === key ? 1 : 0,
    );
    if (selected.includes(1)) return selected;
    for (let context = 0; context < selected.length; context++)
      selected[context] =
        keys(frame[context]) === key || (parent[context] >= 0 && selected[parent[context]]) ? 1 : 0;
    return selected;
  }

  #keep<Value>(name: string, key: string, make: () => Value): Value {
    const cached = this.#cache.get(name);
    if (cached !== undefined && cached[0] === key) return cached[1] as Value;
    const value = make();
    this.#cache.set(name, [key, value]);
    return value;
  }
}

/** Returns 1 for each context that matches all terms; undefined without terms. */
export function matchingContexts(
  data: PageData,
  names: FrameNames,
  naming: Int32Array,
  terms: readonly TextTerm[],
): Uint8Array | undefined {
  if (terms.length === 0) return undefined;
  const matches = new Uint8Array(data.contexts.length).fill(1);
  for (const term of terms) {
    const wanted = term.isWanted ? 1 : 0;
    const found = term.field === "path" ? onPath(data, names, term) : atSite(data, names, naming, term);
    for (let context = 0; context < matches.length; context++)
      if (found[context] !== wanted) matches[context] = 0;
  }
  return matches;
}

/** A matching caller makes all its callees match. */
function onPath({ contexts, frames }: PageData, names: FrameNames, term: TextTerm): Uint8Array {
  const ofFrame = Uint8Array.from({ length: frames.length }, (_, frame) =>
    term.matches(`${names.function(frame)} ${names.file(frame) ?? ""} ${names.place(frame)}`) ? 1 : 0,
  );
  const found = new Uint8Array(contexts.length);
  for (let context = 0; context < found.length; context++) {
    const parent = contexts.parent[context];
    found[context] = ofFrame[contexts.frame[context]] | (parent < 0 ? 0 : found[parent]);
  }
  return found;
}

function atSite({ frames }: PageData, names: FrameNames, naming: Int32Array, term: TextTerm): Uint8Array {
  const textOf = (frame: number): string => {
    if (term.field === "function") return names.function(frame);
    if (term.field === "package") return names.package(frame);
    return names.line(frame) > 0
      ? `${names.file(frame) ?? ""}:${names.line(frame)}`
      : (names.file(frame) ?? "");
  };
  const ofFrame = Uint8Array.from({ length: frames.length }, (_, frame) =>
    term.matches(textOf(frame)) ? 1 : 0,
  );
  return Uint8Array.from(naming, (frame) => ofFrame[frame]);
}

// Filter language: `bytes>1MiB left>0 fn:~shop -file:dlmalloc "two words"`. All terms must match. Words are
// searched in call paths before summing; figures are compared afterwards.

/** Searched text: anywhere on the call path, or at the site. */
type TextField = "path" | "function" | "file" | "package";

interface TextTerm {
  readonly field: TextField;
  readonly isWanted: boolean;
  matches(text: string): boolean;
}

interface FigureTerm {
  /** Id of a weight. */
  readonly weight: string;
  /** True if the amount is a percentage of the weight's total. */
  readonly isShare: boolean;
  readonly isWanted: boolean;
  matches(value: number): boolean;
}

interface Filter {
  readonly texts: readonly TextTerm[];
  readonly figures: readonly FigureTerm[];
  /** Sentences about invalid terms; these terms filter nothing. */
  readonly mistakes: readonly string[];
}

const FIELDS: Readonly<Record<string, TextField>> = {
  path: "path",
  fn: "function",
  function: "function",
  file: "file",
  pkg: "package",
  package: "package",
};

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
};

const COMPARISONS: Readonly<Record<string, (value: number, amount: number) => boolean>> = {
  ">": (value, amount) => value > amount,
  ">=": (value, amount) => value >= amount,
  "<": (value, amount) => value < amount,
  "<=": (value, amount) => value <= amount,
  "=": (value, amount) => value === amount,
};

/** @param weights ids of the weights that can be compared */
export function readFilter(text: string, weights: readonly string[]): Filter {
  const texts: TextTerm[] = [];
  const figures: FigureTerm[] = [];
  const mistakes: string[] = [];
  for (const [written] of text.matchAll(/(?:"[^"]*"?|[^\s"])+/g)) {
    const isWanted = !written.startsWith("-") || written.length === 1;
    const term = isWanted ? written : written.slice(1);
    const figure = /^([\p{L}\p{N}_-]+)(>=|<=|>|<|=)(.*)$/u.exec(term);
    try {
      if (figure) figures.push({ ...readFigure(figure[1], figure[2], figure[3], weights), isWanted });
      else texts.push({ ...readText(term), isWanted });
    } catch (error) {
      mistakes.push((error as Error).message);
    }
  }
  return { texts, figures, mistakes };
}

function readText(term: string): Omit<TextTerm, "isWanted"> {
  const colon = term.indexOf(":");
  const name = term.slice(0, colon).toLowerCase();
  const field = colon > 0 && !term.startsWith('"') && Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
  const pattern = (field === undefined ? term : term.slice(colon + 1)).replaceAll('"', "");
  if (pattern.startsWith("~")) {
    const expression = readExpression(pattern.slice(1));
    return { field: field ?? "path", matches: (text) => expression.test(text) };
  }
  const wanted = pattern.toLowerCase();
  return { field: field ?? "path", matches: (text) => text.toLowerCase().includes(wanted) };
}

function readExpression(source: string): RegExp {
  try {
    return new RegExp(source, "iu");
  } catch {
    throw new Error(`“${source}” is not a valid regular expression`);
  }
}

function readFigure(
  name: string,
  comparison: string,
  amount: string,
  weights: readonly string[],
): Omit<FigureTerm, "isWanted"> {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_\s]/g, "");
  const weight = weights.find((id) => plain(id) === plain(name));
  if (weight === undefined) throw new Error(`No figure is named “${name}”. Figures: ${weights.join(", ")}`);
  const parts = /^(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*|%)$/i.exec(amount);
  const unit = parts?.[2].toLowerCase() ?? "";
  if (!parts || !(unit === "%" || Object.hasOwn(UNITS, unit)))
    throw new Error(`“${amount}” is not an amount. Examples: 12, 1.5MiB, 20k, 5%`);
  const limit = Number(parts[1]) * (unit === "%" ? 0.01 : UNITS[unit]);
  const compare = COMPARISONS[comparison];
  return { weight, isShare: unit === "%", matches: (value) => compare(value, limit) };
}

/** Most points of a sparkline: more are indistinguishable in a column's width. */
const POINTS = 48;

class LifeLines {
  /** Unit of the points, in words. */
  readonly unit: string;
  readonly #offset: Int32Array;
  readonly #point: Uint16Array;
  readonly #change: Float64Array;
  readonly #begin: Float64Array | undefined;
  readonly #points: number;

  /** @returns undefined if live bytes were not recorded over time */
  static of(data: PageData): LifeLines | undefined {
    const column = (id: string, { deltas }: PageTimeline) =>
      deltas?.columns.find(({ weight }) => weight === id)?.values;
    const timeline = data.timelines.find((candidate) => column("freed", candidate) !== undefined);
    const bytes = timeline && column("bytes", timeline);
    return bytes && new LifeLines(data, timeline, bytes, column("freed", timeline)!);
  }

  private constructor(data: PageData, timeline: PageTimeline, bytes: Float64Array, freed: Float64Array) {
    const { offset, context, begin } = timeline.deltas!;
    const intervals = offset.length - 1;
    this.#points = Math.min(POINTS, intervals);
    this.unit = timeline.unit;
    this.#offset = new Int32Array(data.contexts.length + 1);
    for (const index of context) this.#offset[index + 1]++;
    for (let i = 0; i < data.contexts.length; i++) this.#offset[i + 1] += this.#offset[i];
    this.#point = new Uint16Array(context.length);
    this.#change = new Float64Array(context.length);
    const next = this.#offset.slice();
    for (let interval = 0; interval < intervals; interval++) {
      const point = Math.floor((interval * this.#points) / intervals);
      for (let row = offset[interval]; row < offset[interval + 1]; row++) {
        const at = next[context[row]]++;
        this.#point[at] = point;
        this.#change[at] = bytes[row] - freed[row];
      }
    }
    if (begin) {
      this.#begin = new Float64Array(data.contexts.length);
      begin.context.forEach((index, row) => {
        this.#begin![index] += begin.bytes[row];
      });
    }
  }

  /** Returns the live bytes at the end of equal parts of the run. */
  line(contexts: Iterable<number>): Float64Array {
    const live = new Float64Array(this.#points);
    for (const context of contexts) {
      live[0] += this.#begin?.[context] ?? 0;
      for (let at = this.#offset[context]; at < this.#offset[context + 1]; at++)
        live[this.#point[at]] += this.#change[at];
    }
    for (let point = 1; point < live.length; point++) live[point] += live[point - 1];
    return live;
  }
}
