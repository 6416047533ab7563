// What views ask the data. Each answer is kept until the state asks for another one.
import type { PageData, PageFinding } from "../../data/page-data.ts";
import type { Group, PageState } from "../state/state.ts";
import { type Figure, figuresOf } from "./figures.ts";
import { type Filter, readFilter } from "./filter-language.ts";
import { frameKeys, type Grouping, groupContexts, namingFrames } from "./grouping.ts";
import { LifeLines } from "./life.ts";
import { FrameNames } from "./names.ts";
import { matchingContexts } from "./search.ts";

export class PageModel {
  readonly data: PageData;
  readonly names: FrameNames;
  readonly life: LifeLines | undefined;
  /** One a context: whether a weight says anything of it. */
  readonly #isUsed: Uint8Array;
  readonly #kept = new Map<string, readonly [key: string, value: unknown]>();

  constructor(data: PageData) {
    this.data = data;
    this.names = new FrameNames(data);
    this.life = LifeLines.of(data);
    this.#isUsed = new Uint8Array(data.contexts.length);
    for (const { values, before } of data.weights)
      for (let context = 0; context < values.length; context++)
        if (values[context] !== 0 || (before !== undefined && before[context] !== 0))
          this.#isUsed[context] = 1;
  }

  figures({ range, side }: PageState): Figure[] {
    return this.#keep("figures", JSON.stringify([range, side]), () => figuresOf(this.data, range, side));
  }

  /** The chosen weight; the first one where there is no such weight. Undefined in a page without any. */
  weight(state: PageState): Figure | undefined {
    const figures = this.figures(state);
    return figures.find(({ id }) => id === state.weight) ?? figures[0];
  }

  /** The frame that names each context. */
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

  /** One a context: whether the words of the filter match it; undefined without words. */
  matches(state: PageState): Uint8Array | undefined {
    const { texts } = this.filter(state);
    return this.#keep("matches", JSON.stringify([state.filter, state.folded]), () =>
      matchingContexts(this.data, this.names, this.naming(state), texts),
    );
  }

  /** One a context: whether it is selected; undefined if nothing is. */
  selected(state: PageState): Uint8Array | undefined {
    const { site, frame, frameOf, finding, folded } = state;
    return this.#keep("selected", JSON.stringify([site, frame, frameOf, finding, folded]), () => {
      if (site !== undefined && site < this.data.contexts.length) return this.#below(site);
      if (frame !== undefined && frame < this.data.frames.length)
        return this.#withFrame(frame, frameOf, this.naming(state));
      const contexts = finding === undefined ? undefined : this.data.findings[finding]?.contexts;
      return contexts && this.#only(contexts);
    });
  }

  /** The finding that the state has selected, if nothing inside of it is. */
  selectedFinding({ site, frame, finding }: PageState): PageFinding | undefined {
    return site === undefined && frame === undefined && finding !== undefined
      ? this.data.findings[finding]
      : undefined;
  }

  /** The frames of a context from the innermost one outwards. */
  path(context: number): number[] {
    const { parent, frame } = this.data.contexts;
    const path: number[] = [];
    for (let at = context; at >= 0; at = parent[at]) path.push(frame[at]);
    return path;
  }

  /** The same from the site on, if libraries are folded; without other frames of libraries. */
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

  #below(top: number): Uint8Array {
    const { parent } = this.data.contexts;
    const selected = this.#only([top]);
    for (let context = top + 1; context < selected.length; context++)
      if (parent[context] >= 0 && selected[parent[context]]) selected[context] = 1;
    return selected;
  }

  /** Contexts that such a frame names; if there are none, all that go through one. */
  #withFrame(wanted: number, group: Group, naming: Int32Array): Uint8Array {
    const { parent, frame } = this.data.contexts;
    const keys = frameKeys(this.data, this.names, group);
    const key = keys(wanted);
    const selected = Uint8Array.from(naming, (of, context) =>
      this.#isUsed[context] === 1 && keys(of) === key ? 1 : 0,
    );
    if (selected.includes(1)) return selected;
    for (let context = 0; context < selected.length; context++)
      selected[context] =
        keys(frame[context]) === key || (parent[context] >= 0 && selected[parent[context]]) ? 1 : 0;
    return selected;
  }

  #keep<Value>(name: string, key: string, make: () => Value): Value {
    const kept = this.#kept.get(name);
    if (kept !== undefined && kept[0] === key) return kept[1] as Value;
    const value = make();
    this.#kept.set(name, [key, value]);
    return value;
  }
}
