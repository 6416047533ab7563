import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { sha256 } from "@noble/hashes/sha2.js";
import { UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { writeWholeFile } from "../names/load/whole-file.ts";
import {
  STORE_SCHEMA,
  STORE_TABLES,
  STORE_VERSION,
  type StoreRow,
  type StoreTable,
  tableOf,
  writeTable,
} from "../profile/formats/parquet-store.ts";
import { makeFolders } from "../record/host/run/make-folders.ts";
import type { RunRows } from "./rows.ts";

const SWAP_FILE = "memshade-swap.json";

/**
 * Files by their paths in the store: new files with their temporary names, and the files that they replace.
 */
interface Exchange {
  readonly come: readonly { readonly partial: string; readonly file: string }[];
  readonly go: readonly string[];
}

/**
 * Replacement of a store's files by others. Readers see either the old files or the new ones, even if the
 * replacement was interrupted, because it is written to a file first.
 */
export class Swap {
  readonly #store: string;
  readonly #exchange: Exchange;

  constructor(store: string, exchange: Exchange) {
    this.#store = store;
    this.#exchange = exchange;
  }

  /** Returns the files of a table's folder after the replacement. */
  applyTo(files: readonly string[], folder: string): string[] {
    const { come, go } = this.#exchange;
    const replaced = new Set([...go, ...come.map(({ file }) => file)].map((path) => join(this.#store, path)));
    const added = come
      .map(({ partial, file }) => [join(this.#store, partial), join(this.#store, file)] as const)
      .filter(([, file]) => file.startsWith(`${folder}/`))
      .map(([partial, file]) => (existsSync(partial) ? partial : file));
    return [...files.filter((file) => !replaced.has(file)), ...added].sort();
  }

  /** Writes the replacement to a file, then does it. */
  run(): void {
    writeWholeFile(join(this.#store, SWAP_FILE), (file) => file.write(JSON.stringify(this.#exchange)));
    this.finish();
  }

  finish(): void {
    const { come, go } = this.#exchange;
    const names = new Set(come.map(({ file }) => file));
    for (const { partial, file } of come)
      if (existsSync(join(this.#store, partial)))
        renameSync(join(this.#store, partial), join(this.#store, file));
    for (const file of go) if (!names.has(file)) rmSync(join(this.#store, file), { force: true });
    rmSync(join(this.#store, SWAP_FILE), { force: true });
  }
}

/** Returns the replacement that was begun in a store but not finished. */
export function pendingSwap(store: string): Swap | undefined {
  const file = join(store, SWAP_FILE);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // No replacement is open, which is the usual case, or it has just ended.
    return undefined;
  }
  try {
    return new Swap(store, JSON.parse(text) as Exchange);
  } catch {
    throw new UserError(`${file} is damaged: ${dirname(file)} cannot be read`);
  }
}

const MARK = "memshade-store.json";
const ID_DIGITS = 16;

export class StoreFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** @throws UserError if there is no store, or one of another version */
  static open(path: string): StoreFolder {
    const mark = join(path, MARK);
    if (!existsSync(mark))
      throw new UserError(`${path} is not a store: it has no ${MARK} (memshade store add creates a store)`);
    let found: { schema?: unknown; version?: unknown };
    try {
      found = JSON.parse(readFileSync(mark, "utf8"));
    } catch (error) {
      throw new UserError(`${mark} cannot be read: ${describeSystemError(error)}`);
    }
    if (found?.schema !== STORE_SCHEMA)
      throw new UserError(`${path} is not a store: ${mark} belongs to another program`);
    if (found.version !== STORE_VERSION)
      throw new UserError(
        `${path} is a store of version ${found.version}: this memshade reads version ${STORE_VERSION}`,
      );
    return new StoreFolder(path);
  }

  /** Opens a store, or creates one in an empty or new folder. @throws UserError as `open` */
  static openOrMake(path: string): StoreFolder {
    if (existsSync(join(path, MARK))) return StoreFolder.open(path);
    if (existsSync(path) && listOf(path).length > 0)
      throw new UserError(`${path} is not a store and has other files: give the name of a new folder`);
    makeFolders(path);
    const content = { schema: STORE_SCHEMA, version: STORE_VERSION };
    writeWholeFile(join(path, MARK), (file) => file.write(`${JSON.stringify(content)}\n`));
    return new StoreFolder(path);
  }

  filesOf(table: string): string[] {
    const files = parquetBelow(join(this.path, table));
    return pendingSwap(this.path)?.applyTo(files, join(this.path, table)) ?? files;
  }

  /**
   * Writes the rows of a batch. Contexts and frames come first, so that a reader who sees a run finds all its
   * data.
   *
   * @param runs keys of its runs
   */
  write(runs: readonly bigint[], place: { project: string; day: string }, rows: RunRows): void {
    const id = batchId(runs);
    for (const table of STORE_TABLES.toReversed()) {
      const own = rows[table.name] ?? [];
      if (own.length > 0) this.#writeRows(table, id, place, own);
    }
  }

  #writeRows(
    table: StoreTable,
    id: string,
    place: { project: string; day: string },
    rows: readonly StoreRow[],
  ): void {
    const file = this.fileOf(table.name, id, place);
    makeFolders(join(file, ".."));
    writeWholeFile(file, (whole) => whole.write(writeTable(table, rows)));
  }

  fileOf(table: string, id: string, place: { project: string; day?: string }): string {
    return join(this.path, table, ...foldersOf(tableOf(table), place), `${id}.parquet`);
  }
}

function listOf(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    throw new UserError(`${folder} cannot be read: ${describeSystemError(error)}`);
  }
}

function parquetBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return listOf(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return parquetBelow(path);
    // Names of unfinished files begin with a dot.
    return name.endsWith(".parquet") && !name.startsWith(".") ? [path] : [];
  });
}

/** Returns the names of a batch's folders, in the partition syntax of Hive. */
function foldersOf({ by }: StoreTable, { project, day }: { project: string; day?: string }): string[] {
  const folders = [`project=${encodeURIComponent(project).replaceAll("*", "%2A")}`, `day=${day}`];
  return by === "day" ? folders : by === "project" ? folders.slice(0, 1) : [];
}

/** Returns the name of a batch, which depends on its runs only. */
export function batchId(runs: readonly bigint[]): string {
  const keys = runs.map((key) => BigInt.asUintN(64, key).toString(16).padStart(16, "0")).sort();
  return Buffer.from(sha256(new TextEncoder().encode(keys.join(" "))))
    .toString("hex")
    .slice(0, ID_DIGITS);
}
