export {
  columnOfField,
  OWN_FIELDS,
  type OwnField,
  POWER_COLUMNS,
  SPREAD_COLUMNS,
  STORE_SCHEMA,
  STORE_TABLES,
  STORE_VERSION,
  STORED_FIELDS,
  type StoreColumn,
  type StoreTable,
  type StoreType,
  tableOf,
} from "./schema.ts";
export { type StoreRow, writeTable } from "./write-table.ts";
