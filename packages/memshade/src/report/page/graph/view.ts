/** Which boxes hang below which. */
export const LAYOUTS = ["icicle", "flame", "callers", "sandwich"] as const;
export type Layout = (typeof LAYOUTS)[number];

/** Whether boxes hang below their callers. */
export function isFromTop(layout: Layout): boolean {
  return layout === "icicle" || layout === "flame";
}

/** Which frames are one box. */
export const BOX_GROUPS = ["line", "function", "file", "package"] as const;
export type BoxGroup = (typeof BOX_GROUPS)[number];

/** How a graph is looked at: plain JSON, so that an address can have it. What is absent is as at first. */
export interface GraphView {
  /** "icicle": callers on top; "flame": callers at the bottom; "callers": who called the sites; "sandwich": around one function. */
  readonly layout?: Layout | undefined;
  /** "package", "file", "difference", or the id of a ratio. */
  readonly colour?: string | undefined;
  readonly boxes?: BoxGroup | undefined;
  /** Frames from the root to the box that is as wide as the picture. */
  readonly zoom?: readonly number[] | undefined;
  /** Frames without which the graph is drawn. */
  readonly removed?: readonly number[] | undefined;
  /** The frame in the middle of a sandwich. */
  readonly centre?: number | undefined;
}

/** One of what a chooser offers. */
export interface Choice {
  readonly id: string;
  readonly label: string;
}
