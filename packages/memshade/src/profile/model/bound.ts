import { type Check, flag, list, oneOf, optional, record, text } from "./check.ts";

/** Figures of a profile, those together that the same causes make incomplete. */
export const FIGURES = [
  // Of blocks: what was allocated, what was live at the peak and at the end, which of that is lost, how blocks lived.
  "allocated",
  "peak",
  "left",
  "lost",
  "lives",
  // Accesses of blocks, and the blocks that had none.
  "accesses",
  "unused",
  // Of the waste tool, the working set and garbage-collected objects.
  "written",
  "dead",
  "lines",
  "objects",
  "in-use",
] as const;
export type Figure = (typeof FIGURES)[number];

export const BLOCK_FIGURES: readonly Figure[] = [
  "allocated",
  "peak",
  "left",
  "lost",
  "lives",
  "accesses",
  "unused",
];

/** Figures of a profile that are known to be no exact counts, and why. */
export interface Bound {
  readonly figures: readonly Figure[];
  /** The true figures are at least what was counted, at most that, or either. */
  readonly are: "least" | "most" | "either";
  /** Those of single places alone: the whole is known. */
  readonly byPlace?: boolean | undefined;
  /** Why, as the end of a sentence. */
  readonly because: string;
}

export const boundList: Check<Bound[]> = list(
  record<Bound>({
    figures: list(oneOf(...FIGURES)),
    are: oneOf("least", "most", "either"),
    byPlace: optional(flag),
    because: text,
  }),
);

/** What a file has of them: nothing where there are none. */
export function boundsMember(bounds: Bound[]): { bounds?: Bound[] } {
  return bounds.length === 0 ? {} : { bounds };
}

/** What only grows is at least what was counted where something was not seen; the rest may be more or less. */
export function unseenBounds(because: string, figures: readonly Figure[] = FIGURES): Bound[] {
  const either: readonly Figure[] = ["left", "lost", "lives", "unused", "dead", "in-use"];
  return [
    { figures: figures.filter((figure) => !either.includes(figure)), are: "least" as const, because },
    { figures: figures.filter((figure) => either.includes(figure)), are: "either" as const, because },
  ].filter((bound) => bound.figures.length > 0);
}

/** Some of what belongs to a place may stand elsewhere. */
export function placeBound(figures: readonly Figure[], because: string): Bound {
  return { figures, are: "least", byPlace: true, because };
}
