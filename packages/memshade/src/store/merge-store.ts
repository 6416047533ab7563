import { UserError } from "../ground/bytes/errors.ts";
import { columnOfField, STORED_FIELDS } from "../profile/formats/parquet-store/index.ts";
import {
  classifyAllocation,
  type HotColdThresholds,
  LLVM_THRESHOLDS,
} from "../profile/model/memprof/hot-cold.ts";
import { type MemprofFrame, ProfileBuilder, ProfileMerger, ruleOf } from "../profile/model/memprof/index.ts";
import type { MibField } from "../profile/model/mib-fields.ts";
import type { Cell, StoreDatabase } from "./database.ts";
import { addDataAccesses } from "./merge-data-accesses.ts";
import { callSitesOf, type StoredFrame } from "./stored-run.ts";

export interface MergeStoreOptions {
  /** A condition on the columns of `runs`; absent: all. */
  readonly where?: string | undefined;
  readonly schema: readonly MibField[];
  /** Contexts that are cold by their sums stay so only if they are in so large a part of their runs; absent: by their sums alone. */
  readonly coldIn?: number | undefined;
  readonly thresholds?: HotColdThresholds | undefined;
}

export interface MergedStore {
  readonly tables: ProfileMerger;
  readonly runs: number;
  /** Contexts that are not cold any more. */
  readonly warmed: number;
  /** Contexts without a frame that has debug information. */
  readonly dropped: number;
}

/** Fewer runs say nothing of what is cold in most of them. */
const LEAST_RUNS = 10;

/**
 * One profile of many runs, as merging their files would make it.
 *
 * @throws UserError if no run fits
 */
export async function mergeStore(database: StoreDatabase, options: MergeStoreOptions): Promise<MergedStore> {
  const { where, schema } = options;
  const chosen = `select run, project, build, started, fields_known, derived_calls, static_data from runs where ${where ?? "true"}`;
  await database.checkOnlyReading(chosen);
  await database.run(`create temporary table chosen as ${chosen}`);
  const [[runs, known] = []] = (
    await database.ask("select count(*), bit_and(fields_known) from chosen where fields_known <> 0")
  ).rows;
  if (Number(runs) === 0)
    throw new UserError(
      where === undefined ? "there is no heap in this store" : `no run with a heap fits --where ${where}`,
    );
  const fields = schema.filter(({ tag }) => ((known as bigint) >> BigInt(tag - 1)) & 1n);
  // Of histograms nothing is in a store, not even their size.
  const stored = fields.filter((field) => STORED_FIELDS.includes(field));
  await refusePartOfSums(database);
  const thresholds = options.thresholds ?? LLVM_THRESHOLDS;
  const names = stored.map(({ name }) => columnOfField(name)).join(", ");
  const { rows } = await database.ask(
    `with parts as (
       select m.ctx, m.run, r.started, ${names}, ${coldIn(thresholds)} as cold, 1 as runs
       from metrics as m join chosen as r on r.run = m.run
       union all select u.ctx, u.run, r.started, ${names}, u.cold_runs as cold, u.runs as runs
       from rollup as u join chosen as r on r.run = u.run)
     select ctx, ${[...stored.map(mergedField), "sum(cold)", "sum(runs)"].join(", ")} from parts group by ctx order by ctx`,
  );
  const frames = await framesOfContexts(database);
  const builder = new ProfileBuilder(fields, false);
  let warmed = 0;
  let dropped = 0;
  for (const row of rows) {
    const path = frames.get(row[0] as bigint)!;
    const visible = path.filter(({ place }) => place === undefined);
    if (visible.length === 0) {
      dropped++;
      continue;
    }
    const values = new Map(
      stored.map(({ name }, index) => [name, BigInt(row[index + 1] as bigint | number)]),
    );
    if (options.coldIn !== undefined && keepWarm(values, row.slice(stored.length + 1), options)) warmed++;
    addContext(builder, visible, fields, values);
  }
  const tables = new ProfileMerger(schema, false);
  await addCalls(
    database,
    builder,
    frames,
    rows.map(([ctx]) => ctx as bigint),
  );
  tables.addProfile(builder.build(), 0);
  await addDataAccesses(database, tables);
  return { tables, runs: Number(runs), warmed, dropped };
}

/** How a field of many processes becomes one. The last one is that of the run that started last. */
function mergedField(field: MibField): string {
  const column = columnOfField(field.name);
  const rule = ruleOf(field);
  if (rule === "last") return `arg_max(${column}, (started, run))`;
  return rule === "sum" ? `sum(${column}::hugeint)` : `${rule}(${column})`;
}

/** Sums of a build are of all its runs. */
async function refusePartOfSums(database: StoreDatabase): Promise<void> {
  const { rows } = await database.ask(
    `select l.build from rolled as l where l.run not in (select run from chosen)
     and exists (select 1 from chosen as c where c.project = l.project and c.build = l.build) limit 1`,
  );
  if (rows.length > 0)
    throw new UserError(
      `of build ${rows[0]![0]} the sums of all runs are left: --where has to choose all of them, or none`,
    );
}

/** 1 where a context is cold in a run, by itself. */
export function coldIn({ coldDensity, coldLifetimeSeconds }: HotColdThresholds): string {
  return `case when m.alloc_count > 0
    and m.total_lifetime_access_density / m.alloc_count / 100.0 < ${coldDensity}
    and m.total_lifetime / m.alloc_count >= ${coldLifetimeSeconds * 1000} then 1 else 0 end`;
}

/** Makes a context that is cold by its sums, and in too few of its runs, as warm as the limit; true if it was. */
function keepWarm(
  values: Map<string, bigint>,
  [coldIn, runs]: readonly Cell[],
  { coldIn: share = 0, thresholds = LLVM_THRESHOLDS }: MergeStoreOptions,
): boolean {
  const blocks = values.get("allocCount") ?? 0n;
  const density = values.get("totalLifetimeAccessDensity") ?? 0n;
  const lifetime = values.get("totalLifetime") ?? 0n;
  if (classifyAllocation(Number(blocks), lifetime, density, thresholds) !== "cold") return false;
  if (Number(runs) >= LEAST_RUNS && Number(coldIn) >= share * Number(runs)) return false;
  values.set(
    "totalLifetimeAccessDensity",
    BigInt(Math.ceil(thresholds.coldDensity * 100 * Number(blocks))) + 1n,
  );
  return true;
}

function addContext(
  builder: ProfileBuilder,
  path: readonly StoredFrame[],
  fields: readonly MibField[],
  values: ReadonlyMap<string, bigint>,
): void {
  const block = builder.blocks.addRow();
  for (const [index, { name }] of fields.entries())
    builder.blocks.setNumber(index, block, wrapped(fields[index]!, values.get(name) ?? 0n));
  builder.record(path[0]!.guid).addAllocSite(stackOf(builder, path), block);
}

/** Sums of 32-bit fields wrap as they do where files are merged. */
function wrapped({ bytes }: MibField, value: bigint): bigint {
  return BigInt.asUintN(bytes * 8, value);
}

function stackOf(builder: ProfileBuilder, path: readonly MemprofFrame[]): number {
  return builder.stackOf(path.map((frame) => builder.frames.intern(frame)));
}

/** Call sites: those that follow from contexts, and those of runs that have others. */
async function addCalls(
  database: StoreDatabase,
  builder: ProfileBuilder,
  frames: ReadonlyMap<bigint, readonly StoredFrame[]>,
  contexts: readonly bigint[],
): Promise<void> {
  const { rows } = await database.ask(
    "select m.ctx from metrics as m join chosen as r on r.run = m.run where r.derived_calls union select u.ctx from rollup as u join chosen as r on r.run = u.run where r.derived_calls",
  );
  const derived = new Set(rows.map(([ctx]) => ctx as bigint));
  const seen = new Set<string>();
  const add = (guid: bigint, path: readonly StoredFrame[], callees: readonly bigint[]) => {
    const stack = stackOf(builder, path);
    if (callees.length === 0 && seen.has(`${guid} ${stack}`)) return;
    seen.add(`${guid} ${stack}`);
    builder.record(guid).addCallSite(stack, callees);
  };
  for (const ctx of contexts) {
    if (!derived.has(ctx)) continue;
    for (const { guid, frames: path } of callSitesOf(frames.get(ctx)!)) add(guid, path, []);
  }
  const explicit = await database.ask(
    "select c.guid, c.frames, c.callees from call_sites as c join chosen as r on r.run = c.run",
  );
  const places = await framesByKey(database);
  for (const [guid, keys, callees] of explicit.rows) {
    const path = (keys as readonly bigint[]).map((key) => places.get(key)!);
    add(
      guid as bigint,
      path,
      (callees as readonly bigint[]).map((callee) => BigInt.asUintN(64, callee)),
    );
  }
  const others = await database.ask(
    "select distinct o.ctx, o.guid from other_functions as o join chosen as r on r.run = o.run order by o.ctx, o.guid",
  );
  if (others.rows.length > 0) addOtherFunctions(builder, others.rows, frames);
}

/** Contexts that are recorded in further functions, as YAML can have it. */
function addOtherFunctions(
  builder: ProfileBuilder,
  rows: readonly (readonly Cell[])[],
  frames: ReadonlyMap<bigint, readonly StoredFrame[]>,
): void {
  for (const [ctx, guid] of rows) {
    const path = frames.get(ctx as bigint)!.filter(({ place }) => place === undefined);
    const stack = stackOf(builder, path);
    const { allocSites } = builder.record(path[0]!.guid);
    for (let at = 0; at < allocSites.length; at += 2)
      if (allocSites[at] === stack) builder.record(guid as bigint).addAllocSite(stack, allocSites[at + 1]!);
  }
}

async function framesOfContexts(database: StoreDatabase): Promise<Map<bigint, readonly StoredFrame[]>> {
  const places = await framesByKey(database);
  const { rows } = await database.ask(
    `select c.ctx, c.frames from contexts as c
     where c.ctx in (select m.ctx from metrics as m join chosen as r on r.run = m.run
       union select u.ctx from rollup as u join chosen as r on r.run = u.run)`,
  );
  return new Map(
    rows.map(([ctx, keys]) => [ctx as bigint, (keys as readonly bigint[]).map((key) => places.get(key)!)]),
  );
}

async function framesByKey(database: StoreDatabase): Promise<Map<bigint, StoredFrame>> {
  const { rows } = await database.ask(
    `select f.frame, f.guid, f.line_offset, f."column", f.inline, f.build_id, f."offset" from frames as f`,
  );
  return new Map(
    rows.map(([key, guid, lineOffset, column, inline, buildId, offset]) => [
      key as bigint,
      {
        guid: guid as bigint,
        lineOffset: Number(lineOffset),
        column: Number(column),
        inline: inline as boolean,
        ...(buildId === null ? {} : { place: { buildId: buildId as string, offset: Number(offset) } }),
      },
    ]),
  );
}
