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
  /** Of what is below that box, only this child and those that are smaller: the first child's frame. */
  readonly rest?: number | undefined;
  /** Frames without which the graph is drawn. */
  readonly removed?: readonly number[] | undefined;
  /** The frame in the middle of a sandwich. */
  readonly centre?: number | undefined;
}

/**
 * A view of which nothing is known, as an address has it: members that are none, and frames that there are not, are as at
 * first.
 */
export function checkedView(view: GraphView | undefined, frames: number): GraphView {
  const { layout, colour, boxes, zoom, rest, removed, centre }: Partial<Record<keyof GraphView, unknown>> =
    view ?? {};
  const isFrame = (value: unknown): value is number =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < frames;
  const path = (value: unknown) => (Array.isArray(value) ? value.filter(isFrame) : []);
  return {
    layout: LAYOUTS.find((known) => known === layout),
    colour: typeof colour === "string" ? colour : undefined,
    boxes: BOX_GROUPS.find((known) => known === boxes),
    zoom: path(zoom),
    rest: isFrame(rest) ? rest : undefined,
    removed: path(removed),
    centre: isFrame(centre) ? centre : undefined,
  };
}

/** One of what a chooser offers. */
export interface Choice {
  readonly id: string;
  readonly label: string;
}
