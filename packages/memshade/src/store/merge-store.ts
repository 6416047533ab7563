import { statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { sha256 } from "@noble/hashes/sha2.js";
import { profileOfSymbols, type SymbolUse } from "../explain/analyses/statics.ts";
import { sqlText } from "../explain/fleet/statements.ts";
import { dayOf } from "../explain/fleet/trend.ts";
import { entryOf } from "../ground/bytes/entries.ts";
import { UserError } from "../ground/bytes/errors.ts";
import {
  columnOfField,
  OWN_FIELDS,
  POWER_COLUMNS,
  SPREAD_COLUMNS,
  STORE_TABLES,
  STORED_FIELDS,
} from "../profile/formats/parquet-store.ts";
import {
  classifyAllocation,
  type HotColdThresholds,
  LLVM_THRESHOLDS,
} from "../profile/model/memprof/hot-cold.ts";
import {
  type DataAccessRecord,
  type MemprofFrame,
  ProfileBuilder,
  ProfileMerger,
  ruleOf,
} from "../profile/model/memprof/index.ts";
import type { MibField } from "../profile/model/mib-fields.ts";
import { makeFolders } from "../record/host/run/make-folders.ts";
import { type Cell, readFiles, StoreDatabase } from "./database.ts";
import { batchId, pendingSwap, type StoreFolder, Swap } from "./folder.ts";
import { callSitesOf, type StoredFrame } from "./stored-run.ts";

export interface MergeStoreOptions {
  /** Condition on the columns of `runs`; absent: all runs. */
  readonly where?: string | undefined;
  readonly schema: readonly MibField[];
  /** Least share of runs in which a context must be cold to stay cold; absent: the sums alone decide. */
  readonly coldIn?: number | undefined;
  readonly thresholds?: HotColdThresholds | undefined;
}

export interface MergedStore {
  readonly tables: ProfileMerger;
  readonly runs: number;
  /** Number of contexts that are no longer cold. */
  readonly warmed: number;
  /** Number of contexts without a frame that has debug information. */
  readonly dropped: number;
}

/** Fewest runs from which a share of cold runs is derived. */
const LEAST_RUNS = 10;

/**
 * Merges many runs into one profile, as a merge of their files would.
 *
 * @throws UserError if no run matches
 */
export async function mergeStore(database: StoreDatabase, options: MergeStoreOptions): Promise<MergedStore> {
  const { where, schema } = options;
  const chosen = `select run, project, build, started, fields_known, derived_calls, static_data from runs where ${where ?? "true"}`;
  await database.checkOnlyReading(chosen);
  await database.run(`create temporary table chosen as ${chosen}`);
  const [[runs, knownFields] = []] = (
    await database.ask("select count(*), bit_and(fields_known) from chosen where fields_known <> 0")
  ).rows;
  if (Number(runs) === 0)
    throw new UserError(
      where === undefined ? "there is no heap in this store" : `no run with a heap fits --where ${where}`,
    );
  const fields = schema.filter(({ tag }) => ((knownFields as bigint) >> BigInt(tag - 1)) & 1n);
  // A store has no histograms, not even their sizes.
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

/** Returns SQL that merges a field of many processes. For rule `last`, the run that started last decides. */
function mergedField(field: MibField): string {
  const column = columnOfField(field.name);
  const rule = ruleOf(field);
  if (rule === "last") return `arg_max(${column}, (started, run))`;
  return rule === "sum" ? `sum(${column}::hugeint)` : `${rule}(${column})`;
}

/** Rejects a choice of a part of a build's runs whose figures are left only as sums of all of them. */
async function refusePartOfSums(database: StoreDatabase): Promise<void> {
  const { rows } = await database.ask(
    `select l.build from rolled as l where l.run not in (select run from chosen)
     and exists (select 1 from chosen as c where c.project = l.project and c.build = l.build) limit 1`,
  );
  if (rows.length > 0)
    throw new UserError(
      `only sums of all runs are kept of build ${rows[0]![0]}: --where has to choose all its runs, or none`,
    );
}

/** Returns SQL that is 1 if a context is cold in a single run. */
function coldIn({ coldDensity, coldLifetimeSeconds }: HotColdThresholds): string {
  return `case when m.alloc_count > 0
    and m.total_lifetime_access_density / m.alloc_count / 100.0 < ${coldDensity}
    and m.total_lifetime / m.alloc_count >= ${coldLifetimeSeconds * 1000} then 1 else 0 end`;
}

/** Raises a context that is cold by its sums, but in too few runs, just above the limit. True if it did. */
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

/** Wraps sums of 32-bit fields, as a merge of files does. */
function wrapped({ bytes }: MibField, value: bigint): bigint {
  return BigInt.asUintN(bytes * 8, value);
}

function stackOf(builder: ProfileBuilder, path: readonly MemprofFrame[]): number {
  return builder.stackOf(path.map((frame) => builder.frames.intern(frame)));
}

/** Adds call sites: those that follow from contexts, and those of runs with others. */
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
  const otherFunctions = await database.ask(
    "select distinct o.ctx, o.guid from other_functions as o join chosen as r on r.run = o.run order by o.ctx, o.guid",
  );
  if (otherFunctions.rows.length > 0) addOtherFunctions(builder, otherFunctions.rows, frames);
}

/** Adds contexts to further functions, which YAML profiles can have. */
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

interface AccessRow {
  readonly symbol: string | bigint;
  readonly count: bigint;
  readonly isCold: boolean;
  readonly isCounted: boolean;
  readonly places: readonly { readonly file: string; readonly line: number }[];
}

/**
 * Adds the chosen runs' accesses to static data: the lists of profiles, and symbols that are hot by all
 * counts together.
 */
async function addDataAccesses(database: StoreDatabase, tables: ProfileMerger): Promise<void> {
  const { rows } = await database.ask(
    `select r.run, a.position, a.symbol, a."hash", a.access_count, a.cold, a.counted, p.file_name, p.line
     from chosen as r left join data_accesses as a on a.run = r.run
     left join data_places as p on p.run = r.run and p.position = a.position
     where r.static_data order by r.started, r.run, a.position, p.place`,
  );
  const runs = new Map<Cell, Map<Cell, AccessRow & { readonly places: AccessRow["places"][number][] }>>();
  for (const [run, position, symbol, hash, count, cold, counted, file, line] of rows) {
    const accessesOfRun = entryOf(runs, run!, () => new Map());
    if (position === null) continue;
    const row = accessesOfRun.get(position!) ?? {
      symbol: symbol === null ? BigInt.asUintN(64, hash as bigint) : (symbol as string),
      count: BigInt.asUintN(64, (count ?? 0n) as bigint),
      isCold: cold as boolean,
      isCounted: counted as boolean,
      places: [],
    };
    accessesOfRun.set(position!, row);
    if (file !== null) row.places.push({ file: file as string, line: Number(line) });
  }
  const uses: [string, SymbolUse][] = [];
  let isCounted = false;
  for (const accessesOfRun of runs.values()) {
    const accesses = [...accessesOfRun.values()];
    if (accesses.some((row) => row.isCounted)) {
      isCounted = true;
      uses.push(...accesses.map(useOf));
    } else addListed(tables, accesses);
  }
  if (isCounted) tables.addDataAccess(profileOfSymbols(uses));
}

function useOf({ symbol, count, isCold, places }: AccessRow): [string, SymbolUse] {
  return [symbol as string, { accesses: Number(count), isUntouched: isCold, places }];
}

function addListed(tables: ProfileMerger, accesses: readonly AccessRow[]): void {
  const cold = accesses.filter(({ isCold }) => isCold).map(({ symbol }) => symbol);
  tables.addDataAccess({
    records: accesses
      .filter(({ isCold }) => !isCold)
      .map(
        ({ symbol, count, places }): DataAccessRecord => ({ symbol, accessCount: count, locations: places }),
      ),
    coldSymbols: cold.filter((symbol) => typeof symbol === "string"),
    coldHashes: cold.filter((symbol) => typeof symbol === "bigint"),
  });
}

/** Size of joined files, bytes. Engines read parts of this size, so larger files have no advantage. */
const JOINED_BYTES = 128 << 20;
const DAY_MS = 86_400_000;
/** Tables whose rows of old runs are deleted. */
const ROLLED_TABLES = ["metrics", "series", "workingset"];

interface Compacted {
  readonly before: number;
  readonly after: number;
  /** Number of runs that were replaced by sums per build. */
  readonly rolledUp: number;
}

/**
 * Joins small files. With `olderThan`, older runs are replaced by sums per build.
 *
 * @param olderThan days
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

/** Groups files of one folder up to the target size. A group has two files at least. */
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

/** Replaces runs from before a day by sums per build, if they have rows of their own. */
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
 * Returns SQL that adds up lists of powers of two by build and context. The list is empty if it is unknown
 * for one of the runs. All blocks of a context in a run are in the list's last number.
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
