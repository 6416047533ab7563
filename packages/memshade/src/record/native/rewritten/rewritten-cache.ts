import { createHash, randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { keepingFolder } from "../../host/run/cache-folder.ts";
import { shrinkKept } from "../../host/run/kept-files.ts";
import { makeFolders } from "../../host/run/make-folders.ts";
import { isOwn, KEPT_MODE } from "../../host/run/own-files.ts";
import { canHoldCode } from "../image/can-hold-code.ts";
import type { LeftAlone } from "../rewrite/code.ts";
import type { Rewritten } from "../rewrite/rewrite-file.ts";
import { sumOfContent } from "./file-sums.ts";

/** Facts about a rewritten file, or the reason why it is not rewritten. */
export type RewritingFacts = Omit<Rewritten, "bytes" | "origins"> | { readonly refused: string };

export interface KeptFile {
  readonly path: string;
  /** Path of the file for `Origins`. */
  readonly origins: string;
  /** Path of the tool's notes; the file is missing if the tool has none. */
  readonly notes: string;
  readonly facts: RewritingFacts;
}

/** Words for the list of the cache. */
export interface RewrittenName {
  /** Path of the original. */
  file: string;
  tool: string;
}

/** Description of an entry. */
export interface Entry {
  facts: RewritingFacts;
  about?: RewrittenName | undefined;
  /** Sums of the files, in hexadecimal. */
  sums: { file: string; origins: string; notes?: string | undefined };
}

const [FILE, ORIGINS, NOTES] = ["file", "origins", "notes"];
export const ENTRY = "entry.json";
/** Name of the cache's folder. */
export const REWRITTEN = "rewritten";
const PARTIAL = ".partial-";
const KEY_DIGITS = 32;
/** Programs map the file, also programs of other users. */
const FILE_MODE = 0o755;
const PRIVATE = 0o700;
const GIB = 2 ** 30;
export const MOST_REWRITTEN_BYTES = 4 * GIB;

/** Folders for the cache. */
export interface RewrittenCachePlace {
  readonly caches: string;
  /** Folder for one run, used if the cache cannot be written or is mounted noexec. */
  readonly instead: string;
}

/** Rewritten files, in a folder for each combination of the original's content and the inserted code. */
export class RewrittenCache {
  readonly folder: string;
  readonly #mostBytes: number;

  /** @param place folders to choose from, or the chosen folder */
  constructor(place: RewrittenCachePlace | string, mostBytes = MOST_REWRITTEN_BYTES) {
    this.#mostBytes = mostBytes;
    this.folder = typeof place === "string" ? place : folderOf(place);
  }

  /**
   * Returns a file of the cache, or undefined. Files that are damaged, or that another user could have
   * changed, are removed.
   */
  read(key: string, sumOf: (path: string) => string = sumOfFile): KeptFile | undefined {
    const folder = join(this.folder, key);
    if (!existsSync(folder)) return undefined;
    try {
      const inside = readdirSync(folder).map((name) => join(folder, name));
      if (![folder, ...inside].every(isOwn)) throw new Error("it is not ours");
      const { facts, sums } = JSON.parse(readFileSync(join(folder, ENTRY), "utf8")) as Entry;
      const [path, origins, notes] = [FILE, ORIGINS, NOTES].map((name) => join(folder, name));
      const file = { path, origins, notes, facts };
      const isWhole =
        "refused" in facts ||
        (sumOf(path) === sums.file &&
          sumOf(origins) === sums.origins &&
          (sums.notes === undefined || sumOf(notes) === sums.notes));
      if (isWhole) {
        use(folder);
        return file;
      }
    } catch {
      // The disk was full, power was lost, or another user owns the folder.
    }
    rmSync(folder, { recursive: true, force: true });
    return undefined;
  }

  /**
   * Stores a rewritten file, or the reason why there is none. If another process was faster, its result
   * stays.
   */
  write(key: string, made: Rewritten | { refused: string }, notes?: Uint8Array, about?: RewrittenName): void {
    const partial = join(this.folder, `${PARTIAL}${randomUUID()}`);
    mkdirSync(partial, PRIVATE);
    try {
      const entry: Entry = { about, facts: { refused: "" }, sums: { file: "", origins: "" } };
      if ("refused" in made) entry.facts = made;
      else {
        const { bytes, origins, ...facts } = made;
        writeFileSync(join(partial, FILE), bytes, { mode: FILE_MODE });
        writeFileSync(join(partial, ORIGINS), origins, { mode: KEPT_MODE });
        entry.facts = facts;
        entry.sums = { file: sumOfContent(bytes), origins: sumOfContent(origins) };
        if (notes !== undefined) {
          writeFileSync(join(partial, NOTES), notes, { mode: KEPT_MODE });
          entry.sums.notes = sumOfContent(notes);
        }
      }
      writeFileSync(join(partial, ENTRY), JSON.stringify(entry), { mode: KEPT_MODE });
      renameSync(partial, join(this.folder, key));
    } catch (error) {
      rmSync(partial, { recursive: true, force: true });
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
    }
  }

  notesOf(key: string): string {
    return join(this.folder, key, NOTES);
  }

  /** Removes files until the cache is small enough. */
  shrink(): void {
    shrinkKept(this.folder, this.#mostBytes);
  }
}

/** Marks a file as in use. Files that are not marked for a while may be removed. */
export function stayInUse({ path }: Pick<KeptFile, "path">): void {
  try {
    use(dirname(path));
  } catch {
    // The cache was emptied; the mount keeps the file.
  }
}

function use(folder: string): void {
  const now = new Date();
  utimesSync(folder, now, now);
}

/**
 * Returns the key of a rewritten file.
 * @param sum sum of the original
 * @param code identifies the rewriter and the tool
 */
export function rewrittenKey(sum: string, code: string): string {
  return createHash("sha256").update(sum).update(code).digest("hex").slice(0, KEY_DIGITS);
}

/** Returns 48 bits of the key, by which a process identifies a rewritten file. */
export function markOf(key: string): number {
  return Number.parseInt(key.slice(0, 12), 16);
}

export function leftAloneCount(leftAlone: LeftAlone): number {
  return Object.values(leftAlone).reduce((sum, count) => sum + count, 0);
}

function sumOfFile(path: string): string {
  return sumOfContent(readFileSync(path));
}

function folderOf({ caches, instead }: RewrittenCachePlace): string {
  const folder = keepingFolder(REWRITTEN, instead, caches);
  if (canHoldCode(dirname(folder))) return folder;
  const other = join(instead, REWRITTEN);
  makeFolders(other, PRIVATE);
  return other;
}
