import { ByteWriter, type ColumnSource, parquetWrite } from "hyparquet-writer";
import { MIB_FIELDS } from "../model/mib-fields.ts";

/** Version of the tables, and of the content of `memshade-store.json`. */
export const STORE_SCHEMA = "memshade-store";
export const STORE_VERSION = 1;

export type StoreType = "int64" | "double" | "boolean" | "string" | "timestamp" | "int64s";

export interface StoreColumn {
  readonly name: string;
  readonly type: StoreType;
  /** Meaning of the column, a noun phrase: for the documentation, and for other engines. */
  readonly meaning: string;
  readonly isRequired?: boolean;
}

/**
 * Table of a store. The writer, the views, the statements for other engines and the documentation are derived from it.
 */
export interface StoreTable {
  readonly name: string;
  readonly meaning: string;
  /**
   * Folder levels of the table's files: project and day, project only, or none for rows that mean the same in every
   * project.
   */
  readonly by: "day" | "project" | "nothing";
  /** Column that identifies rows, if several files may hold the same rows. */
  readonly key?: string;
  /** Order, in SQL, that chooses the first of several different rows with one key. */
  readonly order?: string;
  readonly columns: readonly StoreColumn[];
}

function column(name: string, type: StoreType, meaning: string): StoreColumn {
  return { name, type, meaning };
}

function required(name: string, type: StoreType, meaning: string): StoreColumn {
  return { name, type, meaning, isRequired: true };
}

export function columnOfField(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export const STORED_FIELDS = MIB_FIELDS.filter(({ tag }) => tag <= 25);

/** Counts of memshade beyond MemProf's fields, under the names of `RunSite`. */
export const OWN_FIELDS = [
  "liveBytes",
  "liveBlocks",
  "peakBytes",
  "peakBlocks",
  "neverAccessedBytes",
  "writtenNeverReadBytes",
  "temporary",
] as const;
export type OwnField = (typeof OWN_FIELDS)[number];

const PLACE = [
  required("run", "int64", "key of the run"),
  required("project", "string", "project of the run"),
  required("day", "string", "day of the run in UTC, as in 2026-11-24"),
];

/** Columns whose sums of squares are kept by build, to compute the spread of its runs. */
export const SPREAD_COLUMNS = ["alloc_count", "total_size", "peak_bytes", "live_bytes"] as const;

export const POWER_COLUMNS = ["size_log2", "lifetime_log2"] as const;

const BUCKETS =
  "0, 1, 2 to 3, and so on by powers of two; empty if the smallest and the largest are of different powers";

const FIGURES = [
  ...STORED_FIELDS.map(({ name }) => column(columnOfField(name), "int64", `MemProf's ${name}`)),
  column("live_bytes", "int64", "bytes live at the end"),
  column("live_blocks", "int64", "blocks live at the end"),
  column("peak_bytes", "int64", "bytes live at the peak of the whole heap"),
  column("peak_blocks", "int64", "blocks live at that peak"),
  column("never_accessed_bytes", "int64", "size of the blocks that were never accessed"),
  column("written_never_read_bytes", "int64", "size of the blocks that were written and never read"),
  column("temporary", "int64", "number of temporary blocks"),
  required("size_log2", "int64s", `blocks by size: ${BUCKETS}`),
  required("lifetime_log2", "int64s", `blocks by lifetime: ${BUCKETS}`),
];

export const STORE_TABLES: readonly StoreTable[] = [
  {
    name: "runs",
    meaning: "one row per run",
    by: "day",
    columns: [
      ...PLACE,
      required("program", "string", "name of the program"),
      required("build", "string", "name of the build, by default the commit"),
      column("commit_id", "string", "commit that was built"),
      column("commit_time", "timestamp", "time of the commit by git"),
      required("started", "timestamp", "time of the profile"),
      required("added", "timestamp", "time when the run was added"),
      column("host", "string", "machine of the run (--host)"),
      required("labels", "string", "all labels, as JSON"),
      required("clock", "string", "unit of lifetimes: ms, or that of a virtual clock"),
      required("tool_version", "string", "version of memshade that recorded the run; empty for other tools"),
      required("sampled", "boolean", "true: some figures are estimates"),
      column("allocations", "int64", "number of blocks"),
      column("allocated_bytes", "int64", "bytes of all blocks"),
      column("peak_bytes", "int64", "largest number of live bytes; unknown to MemProf"),
      column("live_bytes", "int64", "bytes live at the end; unknown to MemProf"),
      column("accesses", "int64", "number of accesses to blocks"),
      column("wasted_bytes", "int64", "dead bytes (waste tool)"),
      column("workingset_bytes", "int64", "largest working set (working-set tool)"),
      column("objects", "int64", "number of garbage-collected objects (objects tool)"),
      column("object_bytes", "int64", "their size, by a model of an engine"),
      column("objects_in_use", "int64", "estimated bytes of objects in use at the end"),
      column("input_size", "double", "size of the input (--input)"),
      required("fields_known", "int64", "bit n is set if the MemProf field with tag n + 1 is known"),
      required("derived_calls", "boolean", "true: call sites follow from the contexts"),
      required("static_data", "boolean", "true: data_accesses has all accesses to static data"),
    ],
  },
  {
    name: "metrics",
    meaning: "one row per run and context",
    by: "day",
    columns: [
      ...PLACE,
      required("ctx", "int64", "key of the context"),
      required("site", "int64", "key of its innermost frame, without the functions that it is inlined into"),
      ...FIGURES,
    ],
  },
  {
    name: "rollup",
    meaning: "one row per project, build and context of compacted runs",
    by: "project",
    columns: [
      required("run", "int64", "run among them that started last"),
      required("project", "string", "project"),
      required("build", "string", "build"),
      required("ctx", "int64", "key of the context"),
      required("site", "int64", "key of its innermost frame"),
      required("runs", "int64", "number of runs that have it"),
      ...FIGURES,
      ...SPREAD_COLUMNS.map((name) => column(`${name}_squares`, "double", `sum of the squares of ${name}`)),
      column("cold_runs", "int64", "number of runs in which it is cold, by LLVM's limits"),
    ],
  },
  {
    name: "rolled",
    meaning: "one row per run whose rows exist in rollup alone",
    by: "project",
    columns: [
      required("run", "int64", "key of the run"),
      required("project", "string", "project of the run"),
      required("build", "string", "build of the run"),
    ],
  },
  {
    name: "contexts",
    meaning: "one row per call path to an allocation",
    by: "nothing",
    key: "ctx",
    columns: [
      required("ctx", "int64", "key of the call path, from the keys of all frames"),
      required("ctx_functions", "int64", "key from their functions alone"),
      required("site", "int64", "key of its innermost frame, without the functions that it is inlined into"),
      required("frames", "int64s", "keys of its frames, innermost first"),
    ],
  },
  {
    name: "frames",
    meaning: "one row per place in the program",
    by: "nothing",
    key: "frame",
    order: "line desc, file_name, function_name",
    columns: [
      required("frame", "int64", "key of the place"),
      required("guid", "int64", "LLVM's hash of the function's name, as a signed 64-bit number"),
      required("line_offset", "int64", "line minus the function's first line, modulo 2^32"),
      required("column", "int64", "column"),
      required("inline", "boolean", "true: inlined into the function of the next frame"),
      column("function_name", "string", "linker's name"),
      column("file_name", "string", "source file"),
      column("line", "int64", "line, in the build where it is furthest down"),
      column("build_id", "string", "module of a place without debug information"),
      column("offset", "int64", "offset of such a place in its function or module"),
    ],
  },
  {
    name: "modules",
    meaning: "one row per run and module",
    by: "day",
    columns: [
      ...PLACE,
      required("module", "int64", "number in the run"),
      required("build_id", "string", "build id"),
      column("name", "string", "name"),
    ],
  },
  {
    name: "call_sites",
    meaning: "one row per call site, for runs whose call sites do not follow from their contexts",
    by: "day",
    columns: [
      ...PLACE,
      required("guid", "int64", "hash of the function"),
      required("frames", "int64s", "frames, innermost first"),
      required("callees", "int64s", "functions that may be called there"),
    ],
  },
  {
    name: "other_functions",
    meaning: "one row per function that a context is recorded in, besides those of its innermost call",
    by: "day",
    columns: [
      ...PLACE,
      required("ctx", "int64", "key of the context"),
      required("guid", "int64", "hash of the function"),
    ],
  },
  {
    name: "series",
    meaning: "one row per interval of an instance: the heap at its end",
    by: "day",
    columns: [
      ...PLACE,
      required("instance", "int64", "number of the instance in the run"),
      required("t", "int64", "end of the interval, in the clock's unit"),
      required("live_bytes", "int64", "bytes live then"),
      required("live_blocks", "int64", "blocks live then"),
    ],
  },
  {
    name: "waste",
    meaning: "one row per run, kind of waste and place in the program",
    by: "day",
    columns: [
      ...PLACE,
      required("kind", "string", "dead, silent, redundant or another kind of the waste tool"),
      required("site", "int64", "key of the place, a frame"),
      required("bytes", "int64", "bytes stored or loaded in vain"),
      required("count", "int64", "number of such accesses"),
      column("partner_site", "int64", "frame that overwrote or repeated them"),
    ],
  },
  {
    name: "amounts",
    meaning:
      "one row per run and additive measure, and one per place for measures that no other table has by place",
    by: "day",
    columns: [
      ...PLACE,
      required("measure", "string", "word of the measure (memshade check --list)"),
      column("site", "int64", "key of the place, a frame; empty for the whole run"),
      required("amount", "double", "amount in the measure's unit"),
    ],
  },
  {
    name: "findings",
    meaning: "one row per run and finding of its report",
    by: "day",
    columns: [
      ...PLACE,
      required("rule", "string", "kind of the finding (memshade explain)"),
      required("site", "int64", "key of the place, a frame"),
      column("bytes", "int64", "bytes that go away when the finding is fixed"),
      required("part", "double", "the same as a part of all that the program has of that sort, 0 to 1"),
      required("text", "string", "sentence of the report"),
    ],
  },
  {
    name: "data_accesses",
    meaning: "one row per run and symbol of static data with counted accesses",
    by: "day",
    columns: [
      ...PLACE,
      required("position", "int64", "position in the profile, or by name"),
      column("symbol", "string", "compiler's name"),
      column("hash", "int64", "hash of a string literal without a name, as a signed 64-bit number"),
      column(
        "access_count",
        "int64",
        "number of accesses; none for symbols that a profile only lists as cold",
      ),
      required("cold", "boolean", "true: never accessed, or listed as cold by a profile"),
      required(
        "counted",
        "boolean",
        "true: counted by memshade; false: from a profile's list of hot symbols",
      ),
    ],
  },
  {
    name: "data_places",
    meaning: "one row per run, such a symbol, and place of it in the source",
    by: "day",
    columns: [
      ...PLACE,
      required("position", "int64", "position of the symbol in data_accesses"),
      required("place", "int64", "number among the places of the symbol"),
      required("file_name", "string", "source file"),
      required("line", "int64", "line"),
    ],
  },
  {
    name: "objects",
    meaning: "one row per run, type of garbage-collected objects, and place that makes them",
    by: "day",
    columns: [
      ...PLACE,
      required("site", "int64", "key of the place, a frame"),
      required("type_name", "string", "type"),
      required("objects", "int64", "number of objects"),
      required("bytes", "int64", "their size, by a model of an engine"),
      column("in_use", "int64", "estimated bytes of objects in use at the end"),
    ],
  },
  {
    name: "layouts",
    meaning: "one row per run and place that allocates records of one type or size",
    by: "day",
    columns: [
      ...PLACE,
      required("layout", "int64", "number in the run"),
      required("site", "int64", "key of the place, a frame"),
      column("type_name", "string", "type of the records, if debug information or a name section has it"),
      required("element", "int64", "size of a record"),
      required("bytes", "int64", "size of all blocks or objects"),
    ],
  },
  {
    name: "fields",
    meaning: "one row per run, such a place, and field that is never read",
    by: "day",
    columns: [
      ...PLACE,
      required("layout", "int64", "number in layouts"),
      required("site", "int64", "key of the place, a frame"),
      required("field_offset", "int64", "offset of the field in a record"),
      required("size", "int64", "size"),
      column("field_name", "string", "name"),
      required("written", "boolean", "true: the program stores to it"),
    ],
  },
  {
    name: "owners",
    meaning: "one row per run, interval, and place whose blocks are used in it (--who)",
    by: "day",
    columns: [
      ...PLACE,
      required("interval", "int64", "number of the interval"),
      required("site", "int64", "key of the place, a frame"),
      required("lines", "double", "touched cache lines of its blocks, with parts of shared lines"),
    ],
  },
  {
    name: "workingset",
    meaning: "one row per run and interval",
    by: "day",
    columns: [
      ...PLACE,
      required("interval", "int64", "number of the interval"),
      required("start", "int64", "start, in the clock's unit"),
      required("accesses", "int64", "number of accesses"),
      required("bytes", "int64", "touched memory, in whole lines"),
      column("touched_bytes", "int64", "touched bytes of these lines (--who)"),
    ],
  },
];

export function tableOf(name: string): StoreTable {
  const table = STORE_TABLES.find((candidate) => candidate.name === name);
  if (table === undefined) throw new RangeError(`no such table: ${name}`);
  return table;
}

/** Value of a column: numbers and bigints for `int64`, milliseconds since 1970 for `timestamp`. */
type StoreValue = bigint | number | string | boolean | readonly (bigint | number)[] | undefined;
export type StoreRow = Readonly<Record<string, StoreValue>>;

const BASIC = {
  int64: "INT64",
  double: "DOUBLE",
  boolean: "BOOLEAN",
  string: "STRING",
  timestamp: "TIMESTAMP",
} as const;

/** Rows of a group: readers skip groups by their minimum and maximum values. */
const GROUP_ROWS = 100_000;

/**
 * Writes the rows of a table as a Parquet file; equal rows give equal bytes.
 *
 * @param rows have no other columns than the table; absent values are null
 */
export function writeTable({ columns }: StoreTable, rows: readonly StoreRow[]): Uint8Array {
  const writer = new ByteWriter();
  parquetWrite({
    writer,
    columnData: columns.map((column) => columnData(column, rows)),
    schema: [{ name: "root", num_children: columns.length }, ...columns.flatMap(schemaOf)],
    rowGroupSize: GROUP_ROWS,
    createdBy: "memshade",
  });
  return new Uint8Array(writer.getBuffer());
}

function columnData({ name, type }: StoreColumn, rows: readonly StoreRow[]): ColumnSource {
  return { name, data: rows.map((row) => cellOf(row[name], type)) };
}

function cellOf(value: StoreValue, type: StoreType): unknown {
  if (value === undefined) return null;
  if (type === "int64") return BigInt.asIntN(64, BigInt(value as bigint | number));
  if (type === "int64s")
    return (value as readonly bigint[]).map((element) => BigInt.asIntN(64, BigInt(element)));
  return type === "timestamp" ? new Date(value as number) : value;
}

type SchemaElements = NonNullable<Parameters<typeof parquetWrite>[0]["schema"]>;

function schemaOf({ name, type, isRequired }: StoreColumn): SchemaElements {
  const repetition_type = isRequired ? "REQUIRED" : "OPTIONAL";
  if (type === "int64s")
    return [
      { name, repetition_type, converted_type: "LIST", num_children: 1 },
      { name: "list", repetition_type: "REPEATED", num_children: 1 },
      { name: "element", type: "INT64", repetition_type: "REQUIRED" },
    ];
  const basic = BASIC[type];
  if (basic === "STRING") return [{ name, type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type }];
  if (basic === "TIMESTAMP")
    return [{ name, type: "INT64", converted_type: "TIMESTAMP_MILLIS", repetition_type }];
  return [{ name, type: basic, repetition_type }];
}
