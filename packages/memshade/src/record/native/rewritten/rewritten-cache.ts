import { createHash, randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { keepingFolder } from "../../host/run/cache-folder.ts";
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

interface Entry {
  facts: RewritingFacts;
  /** Sums of the files, in hexadecimal. */
  sums: { file: string; origins: string; notes?: string | undefined };
}

const [FILE, ORIGINS, NOTES, ENTRY] = ["file", "origins", "notes", "entry.json"];
const NAME = "rewritten";
const PARTIAL = ".partial-";
const KEY_DIGITS = 32;
/** Programs map the file, also programs of other users. */
const FILE_MODE = 0o755;
const PRIVATE = 0o700;
const GIB = 2 ** 30;
const MOST_BYTES = 4 * GIB;
/** Milliseconds during which a file may be about to be mounted after its last use. */
const IN_USE_MS = 600_000;

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
  constructor(place: RewrittenCachePlace | string, mostBytes = MOST_BYTES) {
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
  write(key: string, made: Rewritten | { refused: string }, notes?: Uint8Array): void {
    const partial = join(this.folder, `${PARTIAL}${randomUUID()}`);
    mkdirSync(partial, PRIVATE);
    try {
      const entry: Entry = { facts: { refused: "" }, sums: { file: "", origins: "" } };
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

  /** Removes files until the cache is small enough, those unused for longest first, and unfinished ones. */
  shrink(): void {
    const entries = readdirSync(this.folder)
      .flatMap((name) => tryDescribe(join(this.folder, name)))
      .sort((a, b) => b.usedMs - a.usedMs);
    let total = 0;
    for (const { folder, bytes, usedMs, isPartial } of entries) {
      total += bytes;
      const isOld = Date.now() - usedMs > IN_USE_MS;
      if (isOld && (isPartial || total > this.#mostBytes)) rmSync(folder, { recursive: true, force: true });
    }
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

function tryDescribe(
  folder: string,
): { folder: string; bytes: number; usedMs: number; isPartial: boolean }[] {
  try {
    const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    return [{ folder, bytes, usedMs: statSync(folder).mtimeMs, isPartial: folder.includes(PARTIAL) }];
  } catch {
    // Another process has removed it.
    return [];
  }
}

function folderOf({ caches, instead }: RewrittenCachePlace): string {
  const folder = keepingFolder(NAME, instead, caches);
  if (canHoldCode(dirname(folder))) return folder;
  const other = join(instead, NAME);
  makeFolders(other, PRIVATE);
  return other;
}
