import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { attempt } from "../../../ground/bytes/dispensable.ts";
import { UserError } from "../../../ground/bytes/errors.ts";
import { describeSystemError } from "../../../ground/bytes/system-errors.ts";
import { readRegular } from "../../../names/load/file.ts";
import { NAMES_FILE, RUN_FILE, RUN_PAGES, RUN_SCHEMA } from "../../../profile/model/run.ts";
import { makeFolders } from "./make-folders.ts";
import { isOwn } from "./own-files.ts";
import {
  describeProcess,
  isProcess,
  isRunning,
  isSeenFromHere,
  ownIdentity,
  ownNamespace,
} from "./process-identity.ts";
import type { ProfileFile } from "./recorder.ts";

/** Contents of a claim: its owner, the files being written, and the earlier run while it is replaced. */
const OWNER = "owner";
const NEW = "new";
const OLD = "old";

/** Only the user who profiled may read the profile. */
const PRIVATE = 0o700;

const PIECE_BYTES = 1 << 20;

/** Upper bound of the time between two states of a claim, ms. */
const PASSED_MS = 3_600_000;

/** Attempts to take a claim whose owner has just gone. */
const TRIES = 20;

/**
 * Right to write one run folder. A claim is a hidden folder beside it, `.NAME.partial`, which names the owning process
 * and holds the files until all are complete. Creating it is atomic, and so is every other step. The state that a
 * killed process leaves shows how far it came; the next claim beside it cleans up.
 */
export class FolderClaim {
  readonly folder: string;
  readonly #target: string;
  readonly #claim: string;
  /** Topmost of the folders that had to be created. */
  readonly #made: string | undefined;
  /** Owner of the claim, if another process holds it and lets this one write. */
  readonly #lender: string | undefined;

  private constructor(folder: string, target: string, made: string | undefined, lender: string | undefined) {
    this.folder = folder;
    this.#target = target;
    this.#claim = claimOf(target);
    this.#made = made;
    this.#lender = lender;
  }

  /**
   * Claims a folder that does not exist, is empty, or holds a finished run.
   * @param lender identity of a process whose claim this one may use, as by `ownIdentity()`.
   * @throws UserError in one line: another run is in progress there, it holds something else, or the system refuses.
   */
  static take(folder: string, lender?: string): FolderClaim {
    try {
      // Files of other runs may vanish at any time, when those runs end.
      for (let tries = 1; ; tries++)
        try {
          return FolderClaim.#take(folder, lender);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ENOENT" || tries === TRIES) throw error;
        }
    } catch (error) {
      if (error instanceof UserError || (error as NodeJS.ErrnoException).syscall === "uv_cwd") throw error;
      throw new UserError(`cannot write the profile to ${folder}: ${describeSystemError(error)}`);
    }
  }

  static #take(folder: string, lender: string | undefined): FolderClaim {
    const target = realTarget(folder);
    const made = makeFolders(dirname(target), PRIVATE);
    try {
      settleLeftovers(dirname(target));
      const isOwn = occupy(folder, target, lender);
      const claim = new FolderClaim(folder, target, made, isOwn ? undefined : lender);
      try {
        assertElsewhere(folder, target);
        assertReplaceable(folder, target);
      } catch (error) {
        claim.release();
        throw error;
      }
      return claim;
    } catch (error) {
      removeEmpty(dirname(target), made);
      throw error;
    }
  }

  /** Writes a run. It replaces an earlier one once all files are complete. If anything fails, nothing has changed. */
  write(files: readonly ProfileFile[]): void {
    for (const _ of this.pieces(files)) {
    }
  }

  /** Does the work of `write` in steps. Leaving the generator early removes the written files. */
  *pieces(files: readonly ProfileFile[]): Generator<void> {
    const whole = join(this.#claim, NEW);
    try {
      rmSync(whole, { recursive: true, force: true });
      mkdirSync(whole, PRIVATE);
      for (const file of files) yield* writeWhole(join(whole, file.name), file.contents);
      assertReplaceable(this.folder, this.#target);
      const old = join(this.#claim, OLD);
      if (existsSync(this.#target)) renameSync(this.#target, old);
      renameSync(whole, this.#target);
      rmSync(old, { recursive: true, force: true });
    } finally {
      settle(this.#claim, this.#target);
    }
  }

  /**
   * Releases the claim. Removes it, and folders created for it that are empty. A second call does nothing, even if
   * another process has claimed the folder since.
   */
  release(): void {
    if (this.#lender === undefined) this.revoke();
  }

  /** Does the work of `release`, also for a claim of a process that has ended. */
  revoke(): void {
    discard(this.#claim, this.#target, this.#lender ?? ownIdentity());
    removeEmpty(dirname(this.#target), this.#made);
  }
}

export function assertFolderWritable(folder: string): void {
  FolderClaim.take(folder).release();
}

/**
 * Writes the files of a run to a folder that does not exist, is empty, or holds a finished run, which is replaced. They
 * appear when all are complete. If anything fails, nothing has changed.
 * @throws UserError if the folder holds something else, or another run is in progress there; otherwise the system's
 * error.
 */
export function writeRunFolder(folder: string, files: readonly ProfileFile[]): void {
  const claim = FolderClaim.take(folder);
  try {
    claim.write(files);
  } finally {
    claim.release();
  }
}

/** Cleans up claims of ended processes beside run folders. */
export function settleLeftovers(parent: string): void {
  for (const entry of readdirSync(parent, { withFileTypes: true })) {
    const [, name, pid, namespace] =
      /^\.(.+?)(?:\.(\d+)-(?:(\d+)_)?\w+\.(?:claim|gone)|\.partial)$/s.exec(entry.name) ?? [];
    if (name === undefined || !entry.isDirectory()) continue;
    const path = join(parent, entry.name);
    // Another user could exchange the contents of a folder of theirs during the removal.
    if (!isOwn(path)) continue;
    try {
      if (!readdirSync(path).every((entryName) => [OWNER, NEW, OLD].includes(entryName))) continue;
      const owner = ownerOf(path);
      const isLeft =
        pid === undefined
          ? isRunning(owner ?? "") === false
          : (namespace ?? ownPlace()) === ownPlace()
            ? !isProcess(Number(pid))
            : Date.now() - statSync(path).ctimeMs > PASSED_MS;
      // Another process may have cleaned up since, and have claimed the folder.
      if (isLeft) discard(path, join(parent, name), owner);
    } catch {}
  }
}

/** Called if a run is missing: completes the exchange of runs that a killed process may have left half done. */
export function settleMissing(folder: string): void {
  const parent = dirname(resolve(folder));
  if (existsSync(claimOf(resolve(folder)))) settleLeftovers(parent);
}

function claimOf(target: string): string {
  return join(dirname(target), `.${basename(target)}.partial`);
}

/** Returns the digits of the own namespace, which show whether two processes see each other's ids. */
function ownPlace(): string {
  return ownNamespace().replace(/\D/g, "");
}

/** Returns the name of a claim of this process while it is created or removed. */
function passing(target: string, state: "claim" | "gone"): string {
  const once = `${ownPlace()}_${Math.random().toString(36).slice(2, 10)}`;
  return join(dirname(target), `.${basename(target)}.${process.pid}-${once}.${state}`);
}

/** Creates the claim. Returns false if the lender holds it. */
function occupy(folder: string, target: string, lender: string | undefined): boolean {
  const claim = claimOf(target);
  const pending = passing(target, "claim");
  mkdirSync(pending, PRIVATE);
  try {
    writeFileSync(join(pending, OWNER), ownIdentity());
    for (let tries = 0; tries < TRIES; tries++) {
      // An existing claim contains its owner, so the rename does not replace it.
      if (renamed(pending, claim)) return true;
      const owner = ownerOf(claim);
      if (owner === undefined) {
        if (existsSync(claim))
          throw new UserError(`cannot write the profile to ${folder}: ${claim} is in the way; remove it`);
      } else if (owner === lender) return false;
      else if (isRunning(owner) === false) {
        if (!isOwn(claim)) throw new UserError(`${folder}: ${claim} was left by another user; remove it`);
        discard(claim, target, owner);
      } else {
        const way = isSeenFromHere(owner) ? "" : `, or remove ${claim} if it has ended`;
        throw new UserError(
          `${folder}: another run is writing to it (${describeProcess(owner)}); wait for its end, or name another folder with --out${way}`,
        );
      }
    }
    throw new UserError(`${folder}: other runs are going on in it; name another folder with --out`);
  } finally {
    rmSync(pending, { recursive: true, force: true });
  }
}

/** Error codes for a rename that would replace an existing entry. */
const IN_THE_WAY = ["ENOTEMPTY", "EEXIST", "ENOTDIR"];

/** Renames a folder; false if it would replace an existing entry. */
function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (IN_THE_WAY.includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

function ownerOf(claim: string): string | undefined {
  return attempt(() => readRegular(join(claim, OWNER)).toString(), undefined);
}

/**
 * Removes a claim. Its name becomes free in one step, since other processes wait for it.
 * @param owner the claim stays if another process has taken it over; undefined: it names no owner.
 */
function discard(claim: string, target: string, owner: string | undefined): void {
  if (ownerOf(claim) !== owner) return;
  const gone = passing(target, "gone");
  try {
    renameSync(claim, gone);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  if (ownerOf(gone) !== owner) {
    renameSync(gone, claim);
    return;
  }
  settle(gone, target);
  rmSync(gone, { recursive: true, force: true });
}

/** Completes an interrupted exchange of two runs, and removes incomplete files. */
function settle(claim: string, target: string): void {
  const [whole, old] = [join(claim, NEW), join(claim, OLD)];
  if (existsSync(old) && !existsSync(target)) renameSync(existsSync(whole) ? whole : old, target);
  for (const path of [whole, old]) rmSync(path, { recursive: true, force: true });
}

function* writeWhole(path: string, contents: string | Uint8Array): Generator<void> {
  const bytes = typeof contents === "string" ? new TextEncoder().encode(contents) : contents;
  const file = openSync(path, "wx");
  try {
    for (let at = 0; at < bytes.length; ) {
      yield;
      at += writeSync(file, bytes, at, Math.min(PIECE_BYTES, bytes.length - at));
    }
  } finally {
    closeSync(file);
  }
}

/** Removes created folders that are still empty, from `folder` up to `topmost`. */
function removeEmpty(folder: string, topmost: string | undefined): void {
  if (topmost === undefined) return;
  try {
    for (let path = folder; path.startsWith(topmost); path = dirname(path)) rmdirSync(path);
  } catch {}
}

/* Checks of run folders. `folder` is the name as given, for messages; `target` is the real path. */

/** Most foreign files that a message names. */
const NAMED = 3;

/** Returns the real path of a name. Links are followed, so that they stay. */
function realTarget(folder: string): string {
  const path = resolve(folder);
  let ancestor = path;
  while (!isEntry(ancestor) && dirname(ancestor) !== ancestor) ancestor = dirname(ancestor);
  if (statSync(ancestor, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UserError(`cannot write the profile to ${folder}: ${ancestor} is not a folder`);
  return join(realpathSync(ancestor), relative(ancestor, path));
}

/** True if there is an entry, including a dangling link. */
function isEntry(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Refuses the current folder: a shell would be left in a folder that is gone. @throws UserError */
function assertElsewhere(folder: string, target: string): void {
  const currentFolder = realpathSync(process.cwd());
  if (currentFolder === target || currentFolder.startsWith(join(target, sep)))
    throw new UserError(`${folder}: memshade was started there; name a folder of its own with --out`);
}

/** @throws UserError if there are files that a run must not replace. */
function assertReplaceable(folder: string, target: string): void {
  const status = statSync(target, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (!status.isDirectory()) throw new UserError(`cannot write the profile to ${folder}: it is not a folder`);
  if (status.dev !== statSync(dirname(target)).dev)
    throw new UserError(`${folder}: a file system is mounted there; name a folder inside of it with --out`);
  const names = readdirSync(target).sort();
  const runFiles = names.length === 0 ? [] : filesOfRun(target);
  const foreign = names.filter((name) => !runFiles.includes(name));
  if (foreign.length === 0) return;
  const shown = foreign.slice(0, NAMED).join(", ") + (foreign.length > NAMED ? ", …" : "");
  throw new UserError(
    `${folder} has other files than a finished run (${shown}); name another folder with --out, or remove them`,
  );
}

/** Returns the names of the files of a finished run, and of pages made from it; none if there is no such run. */
function filesOfRun(folder: string): string[] {
  try {
    const { schema, files } = JSON.parse(readRegular(join(folder, RUN_FILE)).toString());
    return schema === RUN_SCHEMA
      ? [RUN_FILE, NAMES_FILE, ...Object.values(files as Record<string, string>), ...Object.values(RUN_PAGES)]
      : [];
  } catch {
    return [];
  }
}
