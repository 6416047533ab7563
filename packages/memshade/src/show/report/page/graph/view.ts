/** Orders of boxes. */
export const LAYOUTS = ["icicle", "flame", "callers", "sandwich"] as const;
export type Layout = (typeof LAYOUTS)[number];

/** True if boxes stand below their callers. */
export function isFromTop(layout: Layout): boolean {
  return layout === "icicle" || layout === "flame";
}

/** Frames that share a box. */
export const BOX_GROUPS = ["line", "function", "file", "package"] as const;
export type BoxGroup = (typeof BOX_GROUPS)[number];

/** View of a graph: plain JSON, so that it fits in an address. Absent members have their defaults. */
export interface GraphView {
  /**
   * "icicle": callers on top. "flame": callers at the bottom. "callers": inverted, callers of the sites.
   * "sandwich": callers and callees of one function.
   */
  readonly layout?: Layout | undefined;
  /** "package", "file", "difference", or the id of a ratio. */
  readonly colour?: string | undefined;
  readonly boxes?: BoxGroup | undefined;
  /** Frames from the root to the box that is as wide as the picture. */
  readonly zoom?: readonly number[] | undefined;
  /** Frame of the first visible child of that box: larger siblings are hidden. */
  readonly rest?: number | undefined;
  /** Removed frames. */
  readonly removed?: readonly number[] | undefined;
  /** Centre frame of a sandwich. */
  readonly centre?: number | undefined;
}

/**
 * Checks an untrusted view from an address: invalid members and unknown frames are replaced by the defaults.
 */
export function checkedView(view: GraphView | undefined, frames: number): GraphView {
  const { layout, colour, boxes, zoom, rest, removed, centre }: Partial<Record<keyof GraphView, unknown>> =
    view ?? {};
  const isFrame = (value: unknown): value is number =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < frames;
  const path = (value: unknown) => (Array.isArray(value) ? value.filter(isFrame) : []);
  return {
    layout: LAYOUTS.find((candidate) => candidate === layout),
    colour: typeof colour === "string" ? colour : undefined,
    boxes: BOX_GROUPS.find((candidate) => candidate === boxes),
    zoom: path(zoom),
    rest: isFrame(rest) ? rest : undefined,
    removed: path(removed),
    centre: isFrame(centre) ? centre : undefined,
  };
}

/** An option of a chooser. */
export interface Choice {
  readonly id: string;
  readonly label: string;
}
