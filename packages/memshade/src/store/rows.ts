import { dayOf } from "../explain/fleet/trend.ts";
import {
  columnOfField,
  OWN_FIELDS,
  STORED_FIELDS,
  type StoreRow,
  tableOf,
} from "../profile/formats/parquet-store.ts";
import { keyOf, StoreKeys } from "./keys.ts";
import type { StoredDataAccess, StoredFrame, StoredRun } from "./stored-run.ts";

const [SIZE, LIFETIME] = (["minSize", "minLifetime"] as const).map(
  (name) => STORED_FIELDS.find((field) => field.name === name)!,
);

const FIELD_COLUMNS = STORED_FIELDS.map((field) => ({
  field,
  name: field.name,
  column: columnOfField(field.name),
}));
/** Row with all columns: an object that grows column by column would be copied again and again. */
const METRICS_ROW: StoreRow = Object.fromEntries(
  tableOf("metrics").columns.map(({ name }) => [name, undefined]),
);
const OWN_COLUMNS = OWN_FIELDS.map((name) => ({ name, column: columnOfField(name) }));

export interface RunIdentity {
  readonly project: string;
  readonly build: string;
  readonly commit?: string | undefined;
  /** Milliseconds since 1970. */
  readonly commitTime?: number | undefined;
  readonly host?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly inputSize?: number | undefined;
  /** Milliseconds since 1970. */
  readonly added: number;
}

export type RunRows = Readonly<Record<string, readonly StoreRow[]>>;

/**
 * Returns the key of a run: a hash of its content and of all properties that distinguish it from other runs.
 */
export function runKey(
  digest: string,
  { project, build, commit = "", host = "", labels }: RunIdentity,
): bigint {
  const sortedLabels = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return keyOf(JSON.stringify([digest, project, build, commit, host, sortedLabels]));
}

export function rowsOfRun(
  run: StoredRun,
  key: bigint,
  identity: RunIdentity,
  keys: StoreKeys = new StoreKeys(),
): RunRows {
  const frames = new FrameRows(keys);
  const place = { run: key, project: identity.project, day: dayOf(run.started) };
  const knownFields = new Set(run.fields);
  const columns = FIELD_COLUMNS.filter(({ field }) => knownFields.has(field));
  const contexts: StoreRow[] = [];
  const metrics: StoreRow[] = [];
  const otherFunctions: StoreRow[] = [];
  for (const { frames: path, mib, own, otherFunctions: others = [] } of run.contexts) {
    for (const frame of path) frames.add(frame);
    const { ctx, site, functions, frames: frameKeys } = keys.context(path);
    contexts.push({ ctx, ctx_functions: functions, site, frames: frameKeys });
    const row: Record<string, StoreRow[string]> = { ...METRICS_ROW, ...place, ctx, site };
    for (const { name, column } of columns) row[column] = mib[name];
    for (const { name, column } of OWN_COLUMNS) row[column] = own?.[name];
    row.size_log2 = knownFields.has(SIZE) ? powersOf(mib.allocCount, mib.minSize, mib.maxSize) : [];
    row.lifetime_log2 = knownFields.has(LIFETIME)
      ? powersOf(mib.allocCount, mib.minLifetime, mib.maxLifetime)
      : [];
    metrics.push(row);
    for (const guid of others) otherFunctions.push({ ...place, ctx, guid });
  }
  const rows = {
    runs: [runRow(run, key, identity)],
    metrics,
    contexts,
    modules: run.modules.map(({ buildId, name }, module) => ({ ...place, module, build_id: buildId, name })),
    call_sites: (run.callSites ?? []).map(({ guid, frames: path, callees }) => ({
      ...place,
      guid,
      frames: path.map((frame) => frames.add(frame)),
      callees,
    })),
    other_functions: otherFunctions,
    series: run.series.map((moment) => ({ ...place, ...inColumns(moment) })),
    waste: run.waste.map(({ kind, place: at, partner, bytes, count }) => ({
      ...place,
      kind,
      site: frames.add(at),
      bytes,
      count,
      partner_site: partner && frames.add(partner),
    })),
    amounts: run.amounts.map(({ measure, place: at, amount }) => ({
      ...place,
      measure,
      site: at && frames.add(at),
      amount,
    })),
    findings: run.findings.map(({ rule, place: at, bytes, part, text }) => ({
      ...place,
      rule,
      site: frames.add(at),
      bytes,
      part,
      text,
    })),
    ...dataRows(run.dataAccesses ?? [], place),
    objects: run.objects.map(({ place: at, type, objects, bytes, inUse }) => ({
      ...place,
      site: frames.add(at),
      type_name: type,
      objects,
      bytes,
      in_use: inUse,
    })),
    layouts: run.layouts.map(({ place: at, type, element, bytes }, layout) => ({
      ...place,
      layout,
      site: frames.add(at),
      type_name: type,
      element,
      bytes,
    })),
    fields: run.layouts.flatMap(({ place: at, fields }, layout) =>
      fields.map(({ offset, size, written, name }) => ({
        ...place,
        layout,
        site: frames.add(at),
        field_offset: offset,
        size,
        field_name: name,
        written,
      })),
    ),
    workingset: run.workingSet.map(({ start, accesses, bytes, touchedBytes }, interval) => ({
      ...place,
      interval,
      start,
      accesses,
      bytes,
      touched_bytes: touchedBytes,
    })),
    owners: run.workingSet.flatMap(({ owners }, interval) =>
      owners.map(({ place: at, lines }) => ({ ...place, interval, site: frames.add(at), lines })),
    ),
  };
  return { ...rows, frames: frames.rows };
}

function dataRows(
  accesses: readonly StoredDataAccess[],
  place: StoreRow,
): { readonly data_accesses: StoreRow[]; readonly data_places: StoreRow[] } {
  return {
    data_accesses: accesses.map(({ symbol, accesses: count, isCold, isCounted }, position) => ({
      ...place,
      position,
      ...(typeof symbol === "string" ? { symbol } : { hash: symbol }),
      access_count: count,
      cold: isCold,
      counted: isCounted,
    })),
    data_places: accesses.flatMap(({ places }, position) =>
      places.map(({ file, line }, at) => ({ ...place, position, place: at, file_name: file, line })),
    ),
  };
}

function runRow(run: StoredRun, key: bigint, identity: RunIdentity): StoreRow {
  const { workingSetBytes, ...totals } = run.totals;
  return {
    run: key,
    project: identity.project,
    day: dayOf(run.started),
    program: run.program,
    build: identity.build,
    commit_id: identity.commit,
    commit_time: identity.commitTime,
    started: run.started,
    added: identity.added,
    host: identity.host,
    labels: JSON.stringify(identity.labels),
    clock: run.clock,
    tool_version: run.toolVersion,
    sampled: run.isSampled,
    ...inColumns(totals),
    workingset_bytes: workingSetBytes,
    input_size: identity.inputSize,
    fields_known: run.fields.reduce((bits, { tag }) => bits | (1 << (tag - 1)), 0),
    derived_calls: run.callSites === undefined,
    static_data: run.dataAccesses !== undefined,
  };
}

/** Returns the members of an object under the names of their columns. */
function inColumns(members: object): StoreRow {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [columnOfField(name), value]));
}

class FrameRows {
  readonly rows: StoreRow[] = [];
  readonly #keys: StoreKeys;
  readonly #knownFrames = new Set<bigint>();

  constructor(keys: StoreKeys) {
    this.#keys = keys;
  }

  add(frame: StoredFrame): bigint {
    const key = this.#keys.frame(frame);
    if (this.#knownFrames.has(key)) return key;
    this.#knownFrames.add(key);
    this.rows.push({
      frame: key,
      guid: frame.guid,
      line_offset: frame.lineOffset,
      column: frame.column,
      inline: frame.inline,
      function_name: frame.name,
      file_name: frame.file,
      line: frame.line,
      build_id: frame.place?.buildId,
      offset: frame.place?.offset,
    });
    return key;
  }
}

/**
 * Returns the number of blocks by powers of two: size 0, 1, 2 to 3, 4 to 7, … Empty if the smallest and the
 * largest block are of different powers: the counts per power are unknown then.
 *
 * Example: 5 blocks of 24 to 31 bytes are [0, 0, 0, 0, 0, 5].
 *
 * @param least 32 bits, as MemProf has sizes and lifetimes
 */
export function powersOf(blocks: number, least: number, most: number): number[] {
  const power = bitsOf(least);
  return blocks === 0 || power !== bitsOf(most) ? [] : [...new Array<number>(power).fill(0), blocks];
}

function bitsOf(value: number): number {
  return 32 - Math.clz32(value);
}
