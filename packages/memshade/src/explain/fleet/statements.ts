import type { FleetMeasure } from "./measures.ts";

// Statements use one SQL text for all engines: sums, minima, maxima, counts, averages, `case`, `group by`, `with` and
// windows. Aliases follow `as` and are no keywords. Percentiles are computed by counting, because engines define them
// differently.

export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * Returns the statement for all runs of a project by build: number, time, and the sums of a measure and of its squares.
 */
export function totalsByBuild(measure: FleetMeasure, project: string): string {
  const { ofRuns, key } = measure;
  const column = ofRuns === undefined ? "v.amount" : `r.${ofRuns}`;
  const value = `cast(${column} as double)`;
  const amounts =
    ofRuns === undefined
      ? ` left join amounts as v on v.run = r.run and v.measure = ${sqlText(key)} and v.site is null`
      : "";
  return `select r.build as build, min(r.commit_id) as commit_id, min(r.commit_time) as commit_time,
    min(r.added) as added, count(*) as runs, count(${column}) as known,
    sum(${value}) as total, sum(${value} * ${value}) as squares,
    max(case when r.clock = 'ms' then 1 else 0 end) as wall, max(case when r.sampled then 1 else 0 end) as sampled
  from runs as r${amounts} where r.project = ${sqlText(project)}
  group by r.build order by coalesce(min(r.commit_time), min(r.added)), min(r.added), r.build`;
}

/**
 * Returns the statement for the sums of a measure and of its squares by part (context, or place of waste), over the
 * runs of some builds.
 */
export function partsOfBuilds(measure: FleetMeasure, project: string, builds: readonly string[]): string {
  const { table, column, where } = measure.ofParts!;
  const among = builds.map(sqlText).join(", ");
  if (table === "metrics")
    return `select s.ctx as part, sum(s.${column}) as total, sum(s.${column}_squares) as squares, sum(s.runs) as runs
    from context_sums as s where s.project = ${sqlText(project)} and s.build in (${among}) group by s.ctx`;
  const value = "cast(x.amount as double)";
  return `select x.part as part, sum(${value}) as total, sum(${value} * ${value}) as squares, count(*) as runs from (
    select p.run as run, p.site as part, sum(p.${column}) as amount from ${table} as p
    join runs as r on r.run = p.run
    where r.project = ${sqlText(project)} and r.build in (${among})${where === undefined ? "" : ` and ${where}`}
    group by p.run, p.site) as x group by x.part`;
}

/** Returns the view of context figures by build: of the runs with rows of their own, and of the summed ones. */
export function contextSums(columns: readonly string[]): string {
  const sums = columns.map((name) => {
    const value = `cast(m.${name} as double)`;
    return `sum(${value}) as ${name}, sum(${value} * ${value}) as ${name}_squares`;
  });
  const rolled = columns.map(
    (name) => `cast(u.${name} as double) as ${name}, u.${name}_squares as ${name}_squares`,
  );
  return `create view context_sums as
    select r.project as project, r.build as build, m.ctx as ctx, count(*) as runs, ${sums.join(", ")}
    from metrics as m join runs as r on r.run = m.run group by r.project, r.build, m.ctx
    union all select u.project, u.build, u.ctx, u.runs, ${rolled.join(", ")} from rollup as u`;
}

export interface FleetQuestion {
  readonly name: string;
  readonly asks: string;
  readonly text: string;
}

/** Frequent questions as SQL text, for use with other engines; column names are those of the store's tables. */
export const FLEET_QUESTIONS: readonly FleetQuestion[] = [
  {
    name: "peak-percentile",
    asks: "the 99th percentile of the peak, by build",
    text: `with ranked as (select build as build, peak_bytes as x,
    row_number() over (partition by build order by peak_bytes) as i, count(*) over (partition by build) as n
  from runs where peak_bytes is not null)
select build as build, min(x) as p99, max(n) as runs from ranked where i >= 0.99 * n group by build order by build`,
  },
  {
    name: "growth",
    asks: "what each context allocates, by build, with what Welch's t needs",
    text: `select r.build as build, m.ctx as ctx, count(*) as n, sum(cast(m.total_size as double)) as total,
  sum(cast(m.total_size as double) * cast(m.total_size as double)) as squares
from metrics as m join runs as r on r.run = m.run group by r.build, m.ctx order by r.build, m.ctx`,
  },
  {
    name: "change-points",
    asks: "the mean of 20 builds before and behind each build",
    text: `with means as (select build as build, min(coalesce(commit_time, added)) as moment,
    avg(cast(allocated_bytes as double)) as x from runs group by build)
select build as build, x as x, avg(x) over (order by moment rows between 20 preceding and 1 preceding) as before,
  avg(x) over (order by moment rows between current row and 19 following) as behind from means order by moment`,
  },
  {
    name: "cold",
    asks: "contexts that are cold in at least 95 % of ten runs or more, by LLVM's rule",
    text: `select m.ctx as ctx, count(*) as n, sum(case
    when m.total_lifetime_access_density / 100.0 / m.alloc_count < 0.05
     and m.total_lifetime / 1000.0 / m.alloc_count >= 200 then 1 else 0 end) as cold
from metrics as m where m.alloc_count > 0 group by m.ctx
having count(*) >= 10 and sum(case
    when m.total_lifetime_access_density / 100.0 / m.alloc_count < 0.05
     and m.total_lifetime / 1000.0 / m.alloc_count >= 200 then 1 else 0 end) >= 0.95 * count(*) order by m.ctx`,
  },
  {
    name: "site-trend",
    asks: "what each site allocates, by build",
    text: `select r.build as build, m.site as site, sum(m.total_size) as bytes, sum(m.alloc_count) as blocks
from metrics as m join runs as r on r.run = m.run group by r.build, m.site order by r.build, m.site`,
  },
  {
    name: "growth-per-input",
    asks: "bytes per unit of input, the slope of a line through all runs",
    text: `select program as program, (count(*) * sum(input_size * peak_bytes) - sum(input_size) * sum(peak_bytes))
  / (count(*) * sum(input_size * input_size) - sum(input_size) * sum(input_size)) as bytes_per_unit
from runs where input_size is not null and peak_bytes is not null
group by program having min(input_size) < max(input_size)`,
  },
  {
    name: "unread",
    asks: "bytes of blocks that nobody read, by build",
    text: `select r.build as build, sum(m.written_never_read_bytes) as unread_bytes, count(distinct m.run) as runs
from metrics as m join runs as r on r.run = m.run group by r.build order by r.build`,
  },
];
