import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { contextSums, sqlText } from "../explain/fleet/statements.ts";
import { UserError } from "../ground/bytes/errors.ts";
import {
  SPREAD_COLUMNS,
  STORE_TABLES,
  type StoreColumn,
  type StoreTable,
  type StoreType,
} from "../profile/formats/parquet-store.ts";
import { makeOwnedFolder, removeLeftFolders } from "../record/host/run/owned-folders.ts";
import type { StoreFolder } from "./folder.ts";

const PACKAGE = "@duckdb/node-api";
const MEMORY_LIMIT = "1GB";

export const DUCKDB_TYPES: Readonly<Record<StoreType, string>> = {
  int64: "BIGINT",
  double: "DOUBLE",
  boolean: "BOOLEAN",
  string: "VARCHAR",
  timestamp: "TIMESTAMP",
  int64s: "BIGINT[]",
};

export type Cell =
  | bigint
  | number
  | string
  | boolean
  | null
  | readonly Cell[]
  | Date
  | { readonly [name: string]: Cell };

export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export class StoreDatabase {
  readonly #connection: DuckDBConnection;
  readonly #temporary: string;

  private constructor(connection: DuckDBConnection, temporary: string) {
    this.#connection = connection;
    this.#temporary = temporary;
  }

  /**
   * Opens the tables of a store as views, without access to other files.
   *
   * @param writes allows access to other files, because files are to be written
   * @throws UserError if DuckDB is not installed, or a file of the store is damaged
   */
  static async open(
    store: StoreFolder,
    { writes = false }: { readonly writes?: boolean } = {},
  ): Promise<StoreDatabase> {
    const { DuckDBInstance } = await loadDuckdb();
    // Users' statements can read DuckDB's folder for temporary files, so it must be a folder without other
    // files.
    removeLeftFolders(tmpdir(), "store");
    const owned = makeOwnedFolder(tmpdir(), "store");
    process.once("exit", () => rmSync(owned, { recursive: true, force: true }));
    const temporary = join(owned, "spilled");
    mkdirSync(temporary);
    const instance = await DuckDBInstance.create(":memory:", {
      memory_limit: MEMORY_LIMIT,
      temp_directory: temporary,
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
    });
    const database = new StoreDatabase(await instance.connect(), owned);
    for (const table of STORE_TABLES) {
      const files = store.filesOf(table.name);
      // A view with declared columns reads no file, so a damaged file would go unnoticed if no statement used
      // it.
      if (files.length > 0) await database.run(`describe select * from read_parquet(${sqlText(files[0]!)})`);
      await database.run(viewOf(table, files));
    }
    await database.run(contextSums(SPREAD_COLUMNS));
    if (!writes) {
      await database.run(`set allowed_directories = [${sqlText(store.path)}]`);
      await database.run("set enable_external_access = false");
      await database.run("set lock_configuration = true");
    }
    return database;
  }

  async run(sql: string): Promise<void> {
    try {
      await this.#connection.run(sql);
    } catch (error) {
      throw saidBy(error);
    }
  }

  /** @throws UserError with DuckDB's message about the statement */
  async ask(sql: string): Promise<Answer> {
    try {
      const reader = await this.#connection.runAndReadAll(sql);
      return { columns: reader.columnNames(), rows: reader.getRowsJS() as Cell[][] };
    } catch (error) {
      throw saidBy(error);
    }
  }

  /** Like {@link ask}, for statements of users, which may only read. */
  async askOnlyReading(sql: string): Promise<Answer> {
    await this.checkOnlyReading(sql);
    return this.ask(sql);
  }

  /** @throws UserError unless the text is a single statement that only reads */
  async checkOnlyReading(sql: string): Promise<void> {
    const { StatementType } = await loadDuckdb();
    // DuckDB fails without a message if there is no statement.
    if (/^[\s;]*$/.test(sql.replaceAll(/--.*|\/\*[\s\S]*?\*\//g, "")))
      throw new UserError("the query is empty");
    try {
      const statements = await this.#connection.extractStatements(sql);
      if (statements.count !== 1) throw new UserError("a query is one statement: remove the others");
      const { statementType } = await statements.prepare(0);
      if (statementType !== StatementType.SELECT) throw new UserError(ONLY_READS);
    } catch (error) {
      // A statement that would write fails before its type is known.
      if (!READING.test(sql)) throw new UserError(ONLY_READS);
      throw error instanceof UserError ? error : saidBy(error);
    }
  }

  close(): void {
    this.#connection.closeSync();
    rmSync(this.#temporary, { recursive: true, force: true });
  }
}

const ONLY_READS = "a query only reads: begin it with select or with";
const READING = /^(?:\s|\(|--.*|\/\*[\s\S]*?\*\/)*(?:select|with|from|values|table)\b/i;

/** Returns DuckDB's message in one line; it names the damaged file, if any. */
function saidBy(error: unknown): UserError {
  return new UserError(`DuckDB: ${(error as Error).message.split("\n")[0]}`);
}

async function loadDuckdb(): Promise<typeof import("@duckdb/node-api")> {
  try {
    return await import("@duckdb/node-api");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new UserError(`reading a store needs DuckDB: npm install ${PACKAGE}`);
  }
}

function viewOf({ name, columns, key, order }: StoreTable, files: readonly string[]): string {
  const rows =
    files.length === 0
      ? `(select ${columns.map((column) => `null::${DUCKDB_TYPES[column.type]} as ${quoted(column)}`).join(", ")} where false)`
      : readFiles(columns, files);
  const shownColumns = columns.map((column) => shownColumn(column)).join(", ");
  return `create view ${name} as select ${key === undefined ? "" : `distinct on (${key}) `}${shownColumns} from ${rows}${order === undefined ? "" : ` order by ${key}, ${order}`}`;
}

/** Returns SQL for the rows of one table's files. Columns that are newer than a file are null there. */
export function readFiles(columns: readonly StoreColumn[], files: readonly string[]): string {
  const schemaEntries = columns.map(
    ({ name, type }) => `'${name}': {name: '${name}', type: '${DUCKDB_TYPES[type]}', default_value: null}`,
  );
  return `read_parquet([${files.map(sqlText).join(", ")}], hive_partitioning = false, schema = map {${schemaEntries.join(", ")}})`;
}

/** Returns a column as shown to users. GUIDs are unsigned 64-bit hashes. */
function shownColumn(column: StoreColumn): string {
  const name = quoted(column);
  if (column.name !== "guid") return `${name}::${DUCKDB_TYPES[column.type]} as ${name}`;
  return `(case when ${name} < 0 then ${name}::hugeint + 18446744073709551616 else ${name}::hugeint end)::ubigint as ${name}`;
}

function quoted({ name }: StoreColumn): string {
  return `"${name}"`;
}
