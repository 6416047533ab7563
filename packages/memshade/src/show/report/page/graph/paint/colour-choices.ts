import type { FrameNames } from "../../app/model/names.ts";
import type { PageData, PageRatio } from "../../data/page-data.ts";
import type { GraphWeight } from "../graph-props.ts";
import type { Choice } from "../view.ts";

/** Colours of boxes say where their code is, which run has more, or how two weights compare. */
export interface ColourChoice extends Choice {
  readonly ratio?:
    | { readonly of: GraphWeight; readonly by: GraphWeight; readonly words: PageRatio }
    | undefined;
}

/** What boxes can be coloured by, with these weights; the first one is the one to begin with. */
export function colourChoices(
  data: PageData,
  weights: readonly GraphWeight[],
  { isComparison, hasPackages }: { readonly isComparison: boolean; readonly hasPackages: boolean },
): ColourChoice[] {
  const weight = (id: string) => weights.find((candidate) => candidate.id === id);
  const ratios = data.ratios.flatMap((words): ColourChoice[] => {
    const [of, by] = [weight(words.of), weight(words.by)];
    return of && by ? [{ id: words.id, label: words.label, ratio: { of, by, words } }] : [];
  });
  const places = [
    { id: "package", label: "package" },
    { id: "file", label: "file" },
  ];
  return [
    ...(isComparison ? [{ id: "difference", label: "difference" }] : []),
    ...(hasPackages ? places : places.reverse()),
    ...ratios,
  ];
}

/** Whether the program's own code is in several packages: if not, they tell nothing. */
export function hasPackages(data: PageData, names: FrameNames): boolean {
  let first: string | undefined;
  for (let frame = 0; frame < data.frames.length; frame++) {
    if (names.is(frame, "library") || names.is(frame, "allocator") || names.is(frame, "others")) continue;
    const name = names.package(frame);
    if (first !== undefined && name !== first) return true;
    first = name;
  }
  return false;
}
