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

/** What is known of a file that was rewritten, or why it cannot be. */
export type RewritingFacts = Omit<Rewritten, "bytes" | "origins"> | { readonly refused: string };

/** A file that was rewritten, as it is kept. */
export interface KeptFile {
  /** Of the rewritten file. */
  readonly path: string;
  /** What addresses of its new code were made of: see `Origins`. */
  readonly origins: string;
  /** What the tool has noted of it; not there for tools that note nothing. */
  readonly notes: string;
  readonly facts: RewritingFacts;
}

interface Entry {
  facts: RewritingFacts;
  /** Of the files, in hexadecimal. */
  sums: { file: string; origins: string; notes?: string | undefined };
}

const [FILE, ORIGINS, NOTES, ENTRY] = ["file", "origins", "notes", "entry.json"];
const NAME = "rewritten";
const PARTIAL = ".partial-";
const KEY_DIGITS = 32;
/** Programs map it, also those of other users that a program starts. */
const FILE_MODE = 0o755;
const PRIVATE = 0o700;
const GIB = 2 ** 30;
const MOST_BYTES = 4 * GIB;
/** What was used in this time may be about to be mounted, ms. */
const IN_USE_MS = 600_000;

/** Where what was rewritten is kept. */
export interface RewrittenCachePlace {
  readonly caches: string;
  /** Where they are kept if nothing can be written there, or no code may lie there: for one run alone. */
  readonly instead: string;
}

/** Files that were rewritten, each in a folder by the content that it was made of and the code that was inserted. */
export class RewrittenCache {
  readonly folder: string;
  readonly #mostBytes: number;

  /** @param place the folder itself, where it has been found */
  constructor(place: RewrittenCachePlace | string, mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
    this.folder = typeof place === "string" ? place : folderOf(place);
  }

  /**
   * What was made of a file, as it was made; undefined where there is none. What is damaged, by its sums, or what others may have had
   * a hand in, is removed.
   */
  read(key: string, sumOf: (path: string) => string = sumOfFile): KeptFile | undefined {
    const folder = join(this.folder, key);
    if (!existsSync(folder)) return undefined;
    try {
      const inside = readdirSync(folder).map((name) => join(folder, name));
      if (![folder, ...inside].every(isOwn)) throw new Error("it is not ours");
      const { facts, sums } = JSON.parse(readFileSync(join(folder, ENTRY), "utf8")) as Entry;
      const [path, origins, notes] = [FILE, ORIGINS, NOTES].map((name) => join(folder, name));
      const kept = { path, origins, notes, facts };
      const isWhole =
        "refused" in facts ||
        (sumOf(path) === sums.file &&
          sumOf(origins) === sums.origins &&
          (sums.notes === undefined || sumOf(notes) === sums.notes));
      if (isWhole) {
        use(folder);
        return kept;
      }
    } catch {
      // A disk was full, power was lost, or it is not ours.
    }
    rmSync(folder, { recursive: true, force: true });
    return undefined;
  }

  /** Keeps what was made, or why nothing could be. Whoever is faster than others has made it. */
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

  /** Path of what a tool has noted of a file. */
  notesOf(key: string): string {
    return join(this.folder, key, NOTES);
  }

  /** Removes what was not used for longest until the rest has room, and what others have left half-written. */
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

/** Says of a file that it is in use: what was not for a while may be removed. */
export function stayInUse({ path }: Pick<KeptFile, "path">): void {
  try {
    use(dirname(path));
  } catch {
    // Somebody has emptied the cache; the mount keeps the file itself.
  }
}

function use(folder: string): void {
  const now = new Date();
  utimesSync(folder, now, now);
}

/** What a rewritten file is kept by. `sum`: of the original; `code`: what tells all that it is made by, the rewriter and the tool. */
export function rewrittenKey(sum: string, code: string): string {
  return createHash("sha256").update(sum).update(code).digest("hex").slice(0, KEY_DIGITS);
}

/** By which a process tells what was made of a file: a part of the key, 48 bits. */
export function markOf(key: string): number {
  return Number.parseInt(key.slice(0, 12), 16);
}

/** How many functions were left as they are. */
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
    // Somebody else has removed it.
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
