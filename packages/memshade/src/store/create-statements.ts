import { FLEET_QUESTIONS, sqlText } from "../explain/fleet/statements.ts";
import { STORE_TABLES, type StoreType } from "../profile/formats/parquet-store.ts";

export const DIALECTS = ["clickhouse", "duckdb"] as const;
export type Dialect = (typeof DIALECTS)[number];

const CLICKHOUSE_TYPES: Readonly<Record<StoreType, string>> = {
  int64: "Int64",
  double: "Float64",
  boolean: "Bool",
  string: "String",
  timestamp: "DateTime64(3)",
  int64s: "Array(Int64)",
};

const FOLDERS = { day: "project=*/day=*/", project: "project=*/", nothing: "" } as const;

/** Returns statements that define a store's tables in an engine, and its prepared queries, as text. */
export function createStatements(dialect: Dialect, store: string): string {
  const tables = STORE_TABLES.map((table) => {
    const files = `${store}/${table.name}/${FOLDERS[table.by]}*.parquet`;
    const comment = `-- ${table.name}: ${table.meaning}`;
    const order = table.order === undefined ? "" : ` order by ${table.key}, ${table.order}`;
    if (dialect === "duckdb") {
      const distinct = table.key === undefined ? "" : `distinct on (${table.key}) `;
      return `${comment}\ncreate view ${table.name} as select ${distinct}* from read_parquet(${sqlText(files)}, hive_partitioning = false)${order};`;
    }
    const columns = table.columns.map(({ name, type, isRequired, meaning }) => {
      const typeName = CLICKHOUSE_TYPES[type];
      const columnType = isRequired || type === "int64s" ? typeName : `Nullable(${typeName})`;
      return `  \`${name}\` ${columnType} comment ${sqlText(meaning)}`;
    });
    const limit = table.key === undefined ? "" : ` limit 1 by ${table.key}`;
    const view = table.key === undefined ? table.name : `${table.name}_files`;
    const create = `create table ${view} (\n${columns.join(",\n")}\n) engine = File(Parquet, ${sqlText(files)});`;
    return table.key === undefined
      ? `${comment}\n${create}`
      : `${comment}\n${create}\ncreate view ${table.name} as select * from ${view}${order}${limit};`;
  });
  const questions = FLEET_QUESTIONS.map(({ name, asks, text }) => `-- ${name}: ${asks}\n${text};`);
  return `${[...tables, ...questions].join("\n\n")}\n`;
}
