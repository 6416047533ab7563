import { h } from "preact";
import type { FrameNames } from "../app/model/names.ts";
import type { PageState } from "../app/state.ts";
import type { PageData } from "../data/page-data.ts";
import { Timeline } from "./timeline.ts";

export interface TimeStripProps {
  readonly data: PageData;
  readonly names: FrameNames;
  readonly state: Pick<PageState, "range">;
  /** 1 for each context that is selected; absent: none is. */
  readonly selected?: Uint8Array | undefined;
  onChange(part: Pick<Partial<PageState>, "range">): void;
}

/** What happened when, by the clock of each tool; a range that is chosen here is what all views are of. */
export function TimeStrip({ data, names, state, selected, onChange }: TimeStripProps) {
  // A run that was ended before its clock went on has no time.
  const timelines = data.timelines.filter(
    ({ start, ends }) => ends.length > 0 && ends[ends.length - 1] > start,
  );
  if (timelines.length === 0) return null;
  return h(
    "section",
    { class: "time", "aria-label": "Time" },
    timelines.map((timeline) =>
      h(Timeline, {
        key: timeline.tool,
        data,
        names,
        timeline,
        selected,
        range: state.range?.tool === timeline.tool ? state.range : undefined,
        onRange: (range) => onChange({ range: range && { ...range, tool: timeline.tool } }),
      }),
    ),
  );
}
