import { type Check, flag, list, oneOf, optional, record, text } from "./check.ts";

/** Figures of a profile, grouped by common causes of incompleteness. */
export const FIGURES = [
  // Figures of blocks: allocated, live at the peak, live at the end, lost, lifetimes.
  "allocated",
  "peak",
  "left",
  "lost",
  "lives",
  "accesses",
  "unused",
  // Figures of the waste tool, the working set and garbage-collected objects.
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

/** Figures of a profile that are not exact counts, and the reason. */
export interface Bound {
  /** Groups of inexact figures. */
  readonly figures: readonly Figure[];
  /** Direction of the error: the true figures are at least the counted ones, at most those, or either. */
  readonly are: "least" | "most" | "either";
  /** True if only figures of single sites are inexact and the total is exact. */
  readonly byPlace?: boolean | undefined;
  /** Reason, as a sentence. */
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

export function boundsMember(bounds: Bound[]): { bounds?: Bound[] } {
  return bounds.length === 0 ? {} : { bounds };
}

/**
 * Returns the bounds of a run in which some events were not seen. Sums that only grow are at least the counted ones;
 * other figures may be more or less.
 */
export function unseenBounds(because: string, figures: readonly Figure[] = FIGURES): Bound[] {
  const either: readonly Figure[] = ["left", "lost", "lives", "unused", "dead", "in-use"];
  return [
    { figures: figures.filter((figure) => !either.includes(figure)), are: "least" as const, because },
    { figures: figures.filter((figure) => either.includes(figure)), are: "either" as const, because },
  ].filter((bound) => bound.figures.length > 0);
}

/** Returns the bound for figures of which a part may be attributed to other sites. */
export function placeBound(figures: readonly Figure[], because: string): Bound {
  return { figures, are: "least", byPlace: true, because };
}
