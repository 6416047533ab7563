import { ByteWriter, type ColumnSource, parquetWrite } from "hyparquet-writer";
import type { StoreColumn, StoreTable, StoreType } from "./schema.ts";

/** What stands in a column: numbers and bigints for `int64`, milliseconds since 1970 for `timestamp`. */
type StoreValue = bigint | number | string | boolean | readonly (bigint | number)[] | undefined;
export type StoreRow = Readonly<Record<string, StoreValue>>;

const BASIC = {
  int64: "INT64",
  double: "DOUBLE",
  boolean: "BOOLEAN",
  string: "STRING",
  timestamp: "TIMESTAMP",
} as const;

/** Rows of a group: readers leave out groups by their smallest and largest values. */
const GROUP_ROWS = 100_000;

/**
 * A Parquet file with the rows of a table; the same rows make the same bytes.
 *
 * @param rows have no other columns than the table; what is absent is null
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
  if (type === "int64s") return (value as readonly bigint[]).map((one) => BigInt.asIntN(64, BigInt(one)));
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
