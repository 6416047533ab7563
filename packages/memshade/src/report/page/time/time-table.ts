import { h, type TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { amount, formatCount } from "../app/parts/amounts.ts";
import { shown } from "../app/parts/shown-text.ts";
import { tableHead } from "../app/parts/table-head.ts";
import type { PageTimeline } from "../data/page-data.ts";
import { beginOf, chunks, sumLane } from "./intervals.ts";

/** As many rows are read in a table; more intervals are told several in a row. */
const MOST_ROWS = 500;

/** All lanes of a timeline as a table. */
export function TimeTable({ timeline }: { timeline: PageTimeline }) {
  const [isOpen, setIsOpen] = useState(false);
  return h(
    "details",
    {
      class: "timeline-table",
      onToggle: (event: TargetedEvent<HTMLDetailsElement>) => setIsOpen(event.currentTarget.open),
    },
    h("summary", null, "as a table"),
    isOpen && h(Rows, { timeline }),
  );
}

function Rows({ timeline }: { timeline: PageTimeline }) {
  const { lanes, phases, unit } = timeline;
  const phaseAt = (interval: number) =>
    phases.find(({ from, to }) => from <= interval && interval < to)?.name;
  return h(
    "table",
    null,
    tableHead([`to ${unit}`, ...(phases.length > 0 ? ["phase"] : []), ...lanes.map(({ label }) => label)]),
    h(
      "tbody",
      null,
      chunks(timeline.ends.length, MOST_ROWS).map((part) =>
        h(
          "tr",
          { key: part.from },
          h("th", { scope: "row" }, formatCount(beginOf(timeline, part.to))),
          phases.length > 0 && h("td", null, shown(phaseAt(part.from) ?? "")),
          lanes.map((lane) => h("td", { key: lane.id }, amount(sumLane(lane, part).value, lane.unit))),
        ),
      ),
    ),
  );
}
