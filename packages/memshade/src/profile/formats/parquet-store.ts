import { ByteWriter, type ColumnSource, parquetWrite } from "hyparquet-writer";
import { MIB_FIELDS } from "../model/mib-fields.ts";

/** Version of the tables, and of the content of `memshade-store.json`. */
export const STORE_SCHEMA = "memshade-store";
export const STORE_VERSION = 1;

export type StoreType = "int64" | "double" | "boolean" | "string" | "timestamp" | "int64s";

export interface StoreColumn {
  readonly name: string;
  readonly type: StoreType;
  /** Rest of a sentence that begins with the column's name, for the documentation and for other engines. */
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
  required("run", "int64", "is the key of the run"),
  required("project", "string", "is the project of the run"),
  required("day", "string", "is the day of the run, as in 2026-11-24, in UTC"),
];

/** Columns whose sums of squares are kept by build, to compute the spread of its runs. */
export const SPREAD_COLUMNS = ["alloc_count", "total_size", "peak_bytes", "live_bytes"] as const;

export const POWER_COLUMNS = ["size_log2", "lifetime_log2"] as const;

const BUCKETS =
  "those with 0, with 1, with 2 and 3, and so on by powers of two; empty where the smallest and the largest are not of one power";

const FIGURES = [
  ...STORED_FIELDS.map(({ name }) => column(columnOfField(name), "int64", `is MemProf's ${name}`)),
  column("live_bytes", "int64", "is what was live at the end"),
  column("live_blocks", "int64", "is how many blocks that were"),
  column("peak_bytes", "int64", "is what was live when the whole heap was largest"),
  column("peak_blocks", "int64", "is how many blocks that were"),
  column("never_accessed_bytes", "int64", "is the size of the blocks that nobody touched"),
  column("written_never_read_bytes", "int64", "is the size of those that nobody read"),
  column("temporary", "int64", "is the number of blocks that were freed at once"),
  required("size_log2", "int64s", `has the blocks by size: ${BUCKETS}`),
  required("lifetime_log2", "int64s", `has the blocks by lifetime: ${BUCKETS}`),
];

export const STORE_TABLES: readonly StoreTable[] = [
  {
    name: "runs",
    meaning: "one row per run",
    by: "day",
    columns: [
      ...PLACE,
      required("program", "string", "is the name of the program"),
      required("build", "string", "names the build: the commit where nothing else was said"),
      column("commit_id", "string", "is the commit that was built"),
      column("commit_time", "timestamp", "is the time of the commit, as git has it"),
      required("started", "timestamp", "is the time of the profile"),
      required("added", "timestamp", "is the time at which the run was added"),
      column("host", "string", "is the machine that the run was on, where somebody said it"),
      required("labels", "string", "has all labels, as JSON"),
      required("clock", "string", "is the unit of lifetimes: ms, or that of a virtual clock"),
      required("tool_version", "string", "is the version of memshade that recorded it; empty for others"),
      required("sampled", "boolean", "says whether some figures are estimates"),
      column("allocations", "int64", "is the number of blocks"),
      column("allocated_bytes", "int64", "is their size"),
      column("peak_bytes", "int64", "is the most that was live at once; MemProf does not know it"),
      column("live_bytes", "int64", "is what was live at the end; MemProf does not know it"),
      column("accesses", "int64", "is the number of accesses to blocks"),
      column("wasted_bytes", "int64", "is what was stored for nothing, where the waste tool ran"),
      column("workingset_bytes", "int64", "is the largest working set, where that tool ran"),
      column("objects", "int64", "is the number of garbage-collected objects, where that tool ran"),
      column("object_bytes", "int64", "is their size, by a model of an engine"),
      column("objects_in_use", "int64", "is the size of those that were in use at the end, an estimate"),
      column("input_size", "double", "is the size of the input, where somebody said it"),
      required("fields_known", "int64", "has bit n where the MemProf field with tag n + 1 is known"),
      required("derived_calls", "boolean", "says that call sites follow from the contexts"),
      required("static_data", "boolean", "says that data_accesses has all accesses to static data of it"),
    ],
  },
  {
    name: "metrics",
    meaning: "one row per run and context",
    by: "day",
    columns: [
      ...PLACE,
      required("ctx", "int64", "is the key of the context"),
      required("site", "int64", "is the key of its innermost frame, without what it is inlined into"),
      ...FIGURES,
    ],
  },
  {
    name: "rollup",
    meaning: "one row per project, build and context of runs whose own rows are gone",
    by: "project",
    columns: [
      required("run", "int64", "is the run among them that started last"),
      required("project", "string", "is the project"),
      required("build", "string", "is the build"),
      required("ctx", "int64", "is the key of the context"),
      required("site", "int64", "is the key of its innermost frame"),
      required("runs", "int64", "is the number of runs that have it"),
      ...FIGURES,
      ...SPREAD_COLUMNS.map((name) =>
        column(`${name}_squares`, "double", `is the sum of the squares of ${name}`),
      ),
      column("cold_runs", "int64", "is the number of runs in which it is cold, by LLVM's limits"),
    ],
  },
  {
    name: "rolled",
    meaning: "one row per run that is in the roll-up alone",
    by: "project",
    columns: [
      required("run", "int64", "is the key of the run"),
      required("project", "string", "is the project of the run"),
      required("build", "string", "is its build"),
    ],
  },
  {
    name: "contexts",
    meaning: "one row per call path to an allocation",
    by: "nothing",
    key: "ctx",
    columns: [
      required("ctx", "int64", "is its key, of the keys of all frames"),
      required("ctx_functions", "int64", "is the same of their functions alone"),
      required("site", "int64", "is the key of its innermost frame, without what it is inlined into"),
      required("frames", "int64s", "has the keys of its frames, innermost first"),
    ],
  },
  {
    name: "frames",
    meaning: "one row per place in the program",
    by: "nothing",
    key: "frame",
    order: "line desc, file_name, function_name",
    columns: [
      required("frame", "int64", "is its key"),
      required("guid", "int64", "is LLVM's hash of the function's name, the same 64 bits as a signed number"),
      required("line_offset", "int64", "is the line minus the function's first one, modulo 2^32"),
      required("column", "int64", "is the column"),
      required("inline", "boolean", "says whether the function is inlined into that of the next frame"),
      column("function_name", "string", "is the linker's name"),
      column("file_name", "string", "is the source file"),
      column("line", "int64", "is the line in it, in the build where it is furthest down"),
      column("build_id", "string", "is the module of a place without debug information"),
      column("offset", "int64", "is the offset in the function of such a place, or in the module"),
    ],
  },
  {
    name: "modules",
    meaning: "one row per run and module",
    by: "day",
    columns: [
      ...PLACE,
      required("module", "int64", "is its number in the run"),
      required("build_id", "string", "is its build id"),
      column("name", "string", "is its name"),
    ],
  },
  {
    name: "call_sites",
    meaning: "one row per call site of a run whose call sites do not follow from its contexts",
    by: "day",
    columns: [
      ...PLACE,
      required("guid", "int64", "is the function"),
      required("frames", "int64s", "has the frames, innermost first"),
      required("callees", "int64s", "has the functions that may be called there"),
    ],
  },
  {
    name: "other_functions",
    meaning: "one row per function that a context is recorded in besides those of its innermost call",
    by: "day",
    columns: [
      ...PLACE,
      required("ctx", "int64", "is the context"),
      required("guid", "int64", "is the function"),
    ],
  },
  {
    name: "series",
    meaning: "one row per interval of an instance: the heap at its end",
    by: "day",
    columns: [
      ...PLACE,
      required("instance", "int64", "is the number of the instance in the run"),
      required("t", "int64", "is the time of its end, in the clock's unit"),
      required("live_bytes", "int64", "is what was live then"),
      required("live_blocks", "int64", "is how many blocks that were"),
    ],
  },
  {
    name: "waste",
    meaning: "one row per run, kind of waste and place",
    by: "day",
    columns: [
      ...PLACE,
      required("kind", "string", "is dead, silent, redundant or another of the waste tool's kinds"),
      required("site", "int64", "is the key of the place, a frame"),
      required("bytes", "int64", "is what was stored or loaded for nothing"),
      required("count", "int64", "is how often"),
      column("partner_site", "int64", "is the frame that made it waste"),
    ],
  },
  {
    name: "amounts",
    meaning:
      "one row per run and measure that adds up, and one per place that has some of those for which no other table has places",
    by: "day",
    columns: [
      ...PLACE,
      required("measure", "string", "is the word of the measure, as memshade check --list has it"),
      column("site", "int64", "is the key of the place, a frame; empty for the run as a whole"),
      required("amount", "double", "is how much, in the measure's unit"),
    ],
  },
  {
    name: "findings",
    meaning: "one row per run and finding of its report",
    by: "day",
    columns: [
      ...PLACE,
      required("rule", "string", "is the kind of the finding, as memshade explain has it"),
      required("site", "int64", "is the key of the place, a frame"),
      column("bytes", "int64", "is what goes if it is mended, where that is bytes"),
      required("part", "double", "is the same as a part of all that the program has of that sort, 0 to 1"),
      required("text", "string", "is the sentence of the report"),
    ],
  },
  {
    name: "data_accesses",
    meaning: "one row per run and symbol of static data that somebody counted the accesses to",
    by: "day",
    columns: [
      ...PLACE,
      required("position", "int64", "is its place in the profile, or by name"),
      column("symbol", "string", "is its name as the compiler has it"),
      column(
        "hash",
        "int64",
        "is the hash of a string literal, which has no name: 64 bits as a signed number",
      ),
      column(
        "access_count",
        "int64",
        "is the number of accesses; none for what a profile only lists as cold",
      ),
      required("cold", "boolean", "says that nobody touched it, or that a profile lists it as cold"),
      required(
        "counted",
        "boolean",
        "says that memshade counted it; else it is of a profile's list of hot ones",
      ),
    ],
  },
  {
    name: "data_places",
    meaning: "one row per run, such a symbol, and place in the source that it is told to be at",
    by: "day",
    columns: [
      ...PLACE,
      required("position", "int64", "is that of the symbol in data_accesses"),
      required("place", "int64", "is its number among those of the symbol"),
      required("file_name", "string", "is the source file"),
      required("line", "int64", "is the line in it"),
    ],
  },
  {
    name: "objects",
    meaning: "one row per run, place that makes garbage-collected objects, and type of them",
    by: "day",
    columns: [
      ...PLACE,
      required("site", "int64", "is the key of the place, a frame"),
      required("type_name", "string", "is the type"),
      required("objects", "int64", "is the number of objects"),
      required("bytes", "int64", "is their size, by a model of an engine"),
      column("in_use", "int64", "is the size of those that were in use at the end, an estimate"),
    ],
  },
  {
    name: "layouts",
    meaning: "one row per run and place that allocates records of one type or size",
    by: "day",
    columns: [
      ...PLACE,
      required("layout", "int64", "is its number in the run"),
      required("site", "int64", "is the key of the place, a frame"),
      column(
        "type_name",
        "string",
        "is the type of the records, where debug information or a name section has it",
      ),
      required("element", "int64", "is the size of a record"),
      required("bytes", "int64", "is the size of all blocks, or of all objects"),
    ],
  },
  {
    name: "fields",
    meaning: "one row per run, such a place, and field that nobody read",
    by: "day",
    columns: [
      ...PLACE,
      required("layout", "int64", "is the number of the place and type in layouts"),
      required("site", "int64", "is the key of the place, a frame"),
      required("field_offset", "int64", "is where the field begins in a record"),
      required("size", "int64", "is its size"),
      column("field_name", "string", "is its name"),
      required("written", "boolean", "says whether somebody stores to it"),
    ],
  },
  {
    name: "owners",
    meaning: "one row per run, interval and place whose blocks are used in it, of working sets with --who",
    by: "day",
    columns: [
      ...PLACE,
      required("interval", "int64", "is the number of the interval"),
      required("site", "int64", "is the key of the place, a frame"),
      required(
        "lines",
        "double",
        "is the number of cache lines of its blocks that were touched, parts of shared ones included",
      ),
    ],
  },
  {
    name: "workingset",
    meaning: "one row per run and interval",
    by: "day",
    columns: [
      ...PLACE,
      required("interval", "int64", "is its number"),
      required("start", "int64", "is its beginning, in the clock's unit"),
      required("accesses", "int64", "is the number of accesses in it"),
      required("bytes", "int64", "is the memory that they touched, in whole lines"),
      column("touched_bytes", "int64", "is what they touched of it, of working sets with --who"),
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
