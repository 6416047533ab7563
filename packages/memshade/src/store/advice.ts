import type { FrameRules } from "../explain/analyses/frames/frame-rules.ts";
import {
  coldFields,
  type IntervalRow,
  type LayoutAdvice,
  type LayoutRow,
  LEAST_INTERVALS,
  type OwnerRow,
  usedTogether,
} from "../explain/fleet/advice.ts";
import { sqlText } from "../explain/fleet/statements.ts";
import type { PartFrame } from "../explain/fleet/trend.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { LINE_BYTES } from "../ground/bytes/sizes.ts";
import { counted } from "../profile/model/counted.ts";
import type { StoreDatabase } from "./database.ts";
import { namedFrames } from "./frames.ts";
import { onlyProject } from "./projects.ts";

export interface StoreAdvice {
  /** Advice, the largest saving first. */
  readonly advice: readonly LayoutAdvice[];
  readonly frames: ReadonlyMap<bigint, PartFrame>;
  readonly runs: number;
  /** Sentences about data that the advice does not cover. */
  readonly notes: readonly string[];
}

/**
 * Derives advice on data layout from all runs together.
 *
 * @throws UserError if no run has the necessary data
 */
export async function adviceOf(
  database: StoreDatabase,
  { project: named, rules }: { readonly project?: string | undefined; readonly rules: FrameRules },
): Promise<StoreAdvice> {
  const project = sqlText(named ?? (await onlyProject(database)));
  const layouts = await database.ask(
    `select l.run, l.layout, l.site, l.type_name, l.element, l.bytes, f.field_name, f.field_offset, f.size from layouts as l
     left join fields as f on f.run = l.run and f.layout = l.layout where l.project = ${project}
     order by l.run, l.layout, f.field_offset`,
  );
  const places = new Map<string, LayoutRow & { readonly fields: LayoutRow["fields"][number][] }>();
  for (const [run, layout, site, type, element, bytes, name, offset, size] of layouts.rows) {
    const key = `${run} ${layout}`;
    const layoutRow = places.get(key) ?? {
      run: run as bigint,
      site: site as bigint,
      type: (type as string | null) ?? undefined,
      element: Number(element),
      bytes: Number(bytes),
      fields: [],
    };
    places.set(key, layoutRow);
    if (offset !== null)
      layoutRow.fields.push({
        name: (name as string | null) ?? undefined,
        offset: Number(offset),
        size: Number(size),
      });
  }
  const owners = await database.ask(
    `select o.run, o.interval, o.site, sum(o.lines), min(w.touched_bytes), min(w.bytes) from owners as o
     join workingset as w on w.run = o.run and w.interval = o.interval where o.project = ${project}
     group by o.run, o.interval, o.site`,
  );
  const workingSets = await database.ask(
    `select w.run, w.interval, w.bytes from workingset as w
     where w.project = ${project} and w.run in (select o.run from owners as o)`,
  );
  if (places.size === 0 && owners.rows.length === 0)
    throw new UserError(
      "no run has recorded how its blocks are used: record with --tool waste, or with --tool workingset --who",
    );
  const used = owners.rows.map(
    ([run, interval, site, lines, touched, bytes]): OwnerRow => ({
      run: run as bigint,
      interval: Number(interval),
      site: site as bigint,
      bytes: Number(lines) * LINE_BYTES,
      fill: touched === null || Number(bytes) === 0 ? undefined : Number(touched) / Number(bytes),
    }),
  );
  const intervals = workingSets.rows.map(
    ([run, interval, bytes]): IntervalRow => ({
      run: run as bigint,
      interval: Number(interval),
      bytes: Number(bytes),
    }),
  );
  const advice = [...coldFields([...places.values()]), ...usedTogether(used, intervals)].sort(
    (a, b) => b.saves - a.saves,
  );
  const sites = advice.flatMap((item) => (item.kind === "cold-fields" ? [item.site] : item.sites));
  const runs = new Set([...[...places.values()].map(({ run }) => run), ...used.map(({ run }) => run)]).size;
  const notes = notesOf(intervals);
  return { advice, frames: await namedFrames(database, sites, rules), runs, notes };
}

function notesOf(intervals: readonly IntervalRow[]): string[] {
  const counts = new Map<bigint, number>();
  for (const { run } of intervals) counts.set(run, (counts.get(run) ?? 0) + 1);
  const short = [...counts.values()].filter((count) => count < LEAST_INTERVALS).length;
  return short === 0
    ? []
    : [
        `Of ${counted(counts.size, "run")} with a working set, ${counted(short, "has", "have")} fewer than ${LEAST_INTERVALS} intervals, which say nothing of what is used together: record with a shorter --interval.`,
      ];
}
