import { statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { sha256 } from "@noble/hashes/sha2.js";
import { dayOf } from "../explain/fleet/day.ts";
import { sqlText } from "../explain/fleet/statements.ts";
import {
  columnOfField,
  OWN_FIELDS,
  POWER_COLUMNS,
  SPREAD_COLUMNS,
  STORE_TABLES,
  STORED_FIELDS,
} from "../profile/formats/parquet-store/index.ts";
import { LLVM_THRESHOLDS } from "../profile/model/memprof/hot-cold.ts";
import { ruleOf } from "../profile/model/memprof/index.ts";
import { makeFolders } from "../record/host/run/make-folders.ts";
import { readFiles, StoreDatabase } from "./database.ts";
import { batchId, type StoreFolder } from "./folder.ts";
import { coldIn } from "./merge-store.ts";
import { pendingSwap, Swap } from "./swap.ts";

/** Files become no larger by being joined: engines read parts of this size at a time. */
const JOINED_BYTES = 128 << 20;
const DAY_MS = 86_400_000;
/** Tables whose rows of old runs go. */
const ROLLED_TABLES = ["metrics", "series", "workingset"];

export interface Compacted {
  /** Files of all tables. */
  readonly before: number;
  readonly after: number;
  /** Runs that are sums by build now. */
  readonly rolledUp: number;
}

/**
 * Joins small files. With `olderThan`, runs from before so many days are left as sums by build.
 *
 * @param now milliseconds since 1970
 */
export async function compactStore(
  store: StoreFolder,
  olderThan: number | undefined,
  now: number,
): Promise<Compacted> {
  pendingSwap(store.path)?.finish();
  const before = countFiles(store);
  const rolledUp = olderThan === undefined ? 0 : await rollUp(store, dayOf(now - olderThan * DAY_MS));
  const database = await StoreDatabase.open(store, { writes: true });
  const come: { partial: string; file: string }[] = [];
  const go: string[] = [];
  for (const table of STORE_TABLES)
    for (const files of joinable(store.filesOf(table.name))) {
      const file = join(dirname(files[0]!), `${nameOf(files)}.parquet`);
      const partial = join(dirname(file), `.${basename(file)}.${process.pid}.partial`);
      const distinct = table.key === undefined ? "" : `distinct on (${table.key}) `;
      await database.run(
        `copy (select ${distinct}* from ${readFiles(table.columns, files)}
         order by ${table.key ?? "run"}) to ${sqlText(partial)} (format parquet)`,
      );
      come.push({ partial: relative(store.path, partial), file: relative(store.path, file) });
      go.push(...files.map((old) => relative(store.path, old)));
    }
  database.close();
  if (come.length > 0) new Swap(store.path, { come, go }).run();
  return { before, after: countFiles(store), rolledUp };
}

function countFiles(store: StoreFolder): number {
  return STORE_TABLES.reduce((sum, { name }) => sum + store.filesOf(name).length, 0);
}

/** Files of one folder, as many together as make a file of the size that engines like; single ones stay. */
function joinable(files: readonly string[]): string[][] {
  const groups: string[][] = [];
  let group: string[] = [];
  let bytes = 0;
  for (const file of files) {
    const { size } = statSync(file);
    if (size >= JOINED_BYTES) continue;
    if (group.length > 0 && (dirname(group[0]!) !== dirname(file) || bytes + size > JOINED_BYTES)) {
      groups.push(group);
      group = [];
      bytes = 0;
    }
    group.push(file);
    bytes += size;
  }
  return [...groups, group].filter(({ length }) => length > 1);
}

function nameOf(files: readonly string[]): string {
  return Buffer.from(sha256(new TextEncoder().encode(files.map((file) => basename(file)).join(" "))))
    .toString("hex")
    .slice(0, 16);
}

/** Sums up all runs from before a day that have rows of their own, and takes these away. */
async function rollUp(store: StoreFolder, day: string): Promise<number> {
  const database = await StoreDatabase.open(store, { writes: true });
  await database.run(
    `create temporary table old as select r.run, r.project, r.build, r.started from runs as r
     where r.day < ${sqlText(day)} and r.fields_known <> 0 and r.run not in (select run from rolled)`,
  );
  const { rows } = await database.ask("select project, list(run) from old group by project order by project");
  const come: { partial: string; file: string }[] = [];
  let rolledUp = 0;
  for (const [project, keys] of rows) {
    const runs = keys as readonly bigint[];
    rolledUp += runs.length;
    for (const [table, select] of [
      ["rollup", rollUpStatement(project as string)],
      ["rolled", `select run, project, build from old where project = ${sqlText(project as string)}`],
    ] as const) {
      const file = store.fileOf(table, batchId(runs), { project: project as string });
      const partial = join(dirname(file), `.${basename(file)}.${process.pid}.partial`);
      makeFolders(dirname(file));
      await database.run(`copy (${select}) to ${sqlText(partial)} (format parquet)`);
      come.push({ partial: relative(store.path, partial), file: relative(store.path, file) });
    }
  }
  database.close();
  const go = ROLLED_TABLES.flatMap((table) => store.filesOf(table))
    .filter((file) => basename(dirname(file)).slice("day=".length) < day)
    .map((file) => relative(store.path, file));
  if (come.length > 0) new Swap(store.path, { come, go }).run();
  return rolledUp;
}

/**
 * Lists of powers of two, added up by build and context; empty where one of the runs has none, as it is not known there. A run has all
 * blocks of a context in the last number.
 */
function summedPowers(name: string, project: string): string {
  return `${name}_sums as (
    select build, ctx, case when min(n) = 0 then []
      else list_transform(range(1, max(n) + 1), lambda power: coalesce(map(list(n), list(total))[power], 0)) end as sums
    from (select r.build, m.ctx, len(m.${name}) as n, sum(m.alloc_count)::bigint as total
      from metrics as m join old as r on r.run = m.run where r.project = ${sqlText(project)} group by r.build, m.ctx, n)
    group by build, ctx)`;
}

function rollUpStatement(project: string): string {
  const fields = STORED_FIELDS.map((field) => {
    const name = columnOfField(field.name);
    const rule = ruleOf(field);
    const value = rule === "last" ? `arg_max(m.${name}, (r.started, m.run))` : `${rule}(m.${name})::bigint`;
    return `case when count(m.${name}) = count(*) then ${value} end as ${name}`;
  });
  const own = OWN_FIELDS.map((field) => `sum(m.${columnOfField(field)})::bigint as ${columnOfField(field)}`);
  const powers = POWER_COLUMNS.map((name) => `any_value(${name}_sums.sums) as ${name}`);
  const squares = SPREAD_COLUMNS.map(
    (name) => `sum(m.${name}::double * m.${name}::double) as ${name}_squares`,
  );
  const joined = POWER_COLUMNS.map(
    (name) => `join ${name}_sums on ${name}_sums.build = r.build and ${name}_sums.ctx = m.ctx`,
  );
  return `with ${POWER_COLUMNS.map((name) => summedPowers(name, project)).join(", ")}
    select arg_max(m.run, (r.started, m.run)) as run, r.project, r.build, m.ctx, any_value(m.site) as site, count(*) as runs,
    ${[...fields, ...own, ...powers, ...squares].join(", ")}, sum(${coldIn(LLVM_THRESHOLDS)})::bigint as cold_runs
    from metrics as m join old as r on r.run = m.run ${joined.join(" ")}
    where r.project = ${sqlText(project)} group by r.project, r.build, m.ctx order by r.build, m.ctx`;
}
