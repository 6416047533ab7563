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

/** Inside of a claim: whose it is, what is being written, and the earlier run while it makes room. */
const OWNER = "owner";
const NEW = "new";
const OLD = "old";

/** Only the user who profiled may see what was profiled. */
const PRIVATE = 0o700;

const PIECE_BYTES = 1 << 20;

/** Longer than a claim is between two of its states, ms. */
const PASSED_MS = 3_600_000;

/** So often a claim is tried again whose owner has just gone. */
const TRIES = 20;

/**
 * The right to write one run folder. Whoever has it has a hidden folder beside that one, `.NAME.partial`: it says which process
 * that is, and holds what is written until it is whole. Making it is one step of the file system, so is every other step, and
 * what a killed process has left says how far it came: the next claim beside it settles that.
 */
export class FolderClaim {
  readonly folder: string;
  readonly #target: string;
  readonly #claim: string;
  /** Topmost of the folders that had to be made. */
  readonly #made: string | undefined;
  /** Who holds it, if another process does and lets this one write. */
  readonly #lender: string | undefined;

  private constructor(folder: string, target: string, made: string | undefined, lender: string | undefined) {
    this.folder = folder;
    this.#target = target;
    this.#claim = claimOf(target);
    this.#made = made;
    this.#lender = lender;
  }

  /**
   * Claims a folder that is not there, is empty, or holds a finished run.
   *
   * @param lender whose claim this process may use, as by `ownIdentity()`.
   * @throws UserError in one line: a run is going on there, it holds something else, the system refuses.
   */
  static take(folder: string, lender?: string): FolderClaim {
    try {
      // What was there may go at any time, when other runs end.
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

  /** Writes a run. It appears, in the place of an earlier one, when all of it is written; when anything fails nothing has changed. */
  write(files: readonly ProfileFile[]): void {
    for (const _ of this.pieces(files)) {
      // All at once.
    }
  }

  /** As `write`, in steps; leaving early takes back what was written. */
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
   * Gives the claim back. Nothing is left of it, nor of folders made for it that are empty. Once more it does nothing, also if
   * somebody else has claimed the folder since.
   */
  release(): void {
    if (this.#lender === undefined) this.revoke();
  }

  /** As `release`, also for a claim of a process that has ended. */
  revoke(): void {
    discard(this.#claim, this.#target, this.#lender ?? ownIdentity());
    removeEmpty(dirname(this.#target), this.#made);
  }
}

/**
 * Checks that a folder can be made and filled later on, without a trace.
 *
 * @throws UserError naming the reason.
 */
export function assertFolderWritable(folder: string): void {
  FolderClaim.take(folder).release();
}

/**
 * Writes the files of a run into a folder that is not there, is empty, or holds a finished run, which is replaced. They appear when
 * all of them are whole; when anything fails nothing has changed.
 *
 * @throws UserError if the folder holds something else, or a run is going on in it; otherwise the system's error.
 */
export function writeRunFolder(folder: string, files: readonly ProfileFile[]): void {
  const claim = FolderClaim.take(folder);
  try {
    claim.write(files);
  } finally {
    claim.release();
  }
}

/** Removes what processes that have ended have left beside run folders. */
export function settleLeftovers(parent: string): void {
  for (const entry of readdirSync(parent, { withFileTypes: true })) {
    const [, name, pid, where] =
      /^\.(.+?)(?:\.(\d+)-(?:(\d+)_)?\w+\.(?:claim|gone)|\.partial)$/s.exec(entry.name) ?? [];
    if (name === undefined || !entry.isDirectory()) continue;
    const path = join(parent, entry.name);
    // Another user could exchange what lies in a folder of his while it is removed.
    if (!isOwn(path)) continue;
    try {
      if (!readdirSync(path).every((inside) => [OWNER, NEW, OLD].includes(inside))) continue;
      const owner = ownerOf(path);
      const isLeft =
        pid === undefined
          ? isRunning(owner ?? "") === false
          : (where ?? ownPlace()) === ownPlace()
            ? !isProcess(Number(pid))
            : Date.now() - statSync(path).ctimeMs > PASSED_MS;
      // Another process may have settled it since, and have claimed the folder.
      if (isLeft) discard(path, join(parent, name), owner);
    } catch {
      // Somebody else's, or somebody else is settling it.
    }
  }
}

/** Where a run is asked for and there is none: ends the exchange that a killed process may have left half done. */
export function settleMissing(folder: string): void {
  const parent = dirname(resolve(folder));
  if (existsSync(claimOf(resolve(folder)))) settleLeftovers(parent);
}

function claimOf(target: string): string {
  return join(dirname(target), `.${basename(target)}.partial`);
}

/** Digits by which processes tell whether they see each other's ids. */
function ownPlace(): string {
  return ownNamespace().replace(/\D/g, "");
}

/** A claim that is not there yet, or not any more, of this process. */
function passing(target: string, state: "claim" | "gone"): string {
  const once = `${ownPlace()}_${Math.random().toString(36).slice(2, 10)}`;
  return join(dirname(target), `.${basename(target)}.${process.pid}-${once}.${state}`);
}

/** Makes the claim. False: it is the lender's. */
function occupy(folder: string, target: string, lender: string | undefined): boolean {
  const claim = claimOf(target);
  const mine = passing(target, "claim");
  mkdirSync(mine, PRIVATE);
  try {
    writeFileSync(join(mine, OWNER), ownIdentity());
    for (let tries = 0; tries < TRIES; tries++) {
      // Where there is one, it has its owner in it, and is not replaced.
      if (renamed(mine, claim)) return true;
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
          `${folder}: a run is going on in it (${describeProcess(owner)}); wait for its end, or name another folder with --out${way}`,
        );
      }
    }
    throw new UserError(`${folder}: other runs are going on in it; name another folder with --out`);
  } finally {
    rmSync(mine, { recursive: true, force: true });
  }
}

/** What systems say where a folder would take the place of something. */
const IN_THE_WAY = ["ENOTEMPTY", "EEXIST", "ENOTDIR"];

/** False: there is something that it would replace. */
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
  try {
    return readRegular(join(claim, OWNER)).toString();
  } catch {
    return undefined;
  }
}

/**
 * Removes a claim. Its name is free in one step, as others wait for it.
 *
 * @param owner if somebody else was quicker and it is not this one's any more, it stays; undefined: it does not say whose it is.
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

/** Ends the exchange of two runs that did not come to its end, and takes back what is not whole. */
function settle(claim: string, target: string): void {
  const [whole, old] = [join(claim, NEW), join(claim, OLD)];
  if (existsSync(old) && !existsSync(target)) renameSync(existsSync(whole) ? whole : old, target);
  for (const left of [whole, old]) rmSync(left, { recursive: true, force: true });
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

/** Removes folders that were made and have stayed empty, from `folder` up to `topmost`. */
function removeEmpty(folder: string, topmost: string | undefined): void {
  if (topmost === undefined) return;
  try {
    for (let path = folder; path.startsWith(topmost); path = dirname(path)) rmdirSync(path);
  } catch {
    // Something is in it.
  }
}

/*
 * Which folders a run may take. `folder` is always its name as it was given, for messages, and `target` the folder that this
 * leads to.
 */

/** So many files that are in the way are named. */
const NAMED = 3;

/** The folder that a name leads to: links are followed, so that they stay. */
function realTarget(folder: string): string {
  const path = resolve(folder);
  let ancestor = path;
  while (!isEntry(ancestor) && dirname(ancestor) !== ancestor) ancestor = dirname(ancestor);
  if (statSync(ancestor, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UserError(`cannot write the profile to ${folder}: ${ancestor} is not a folder`);
  return join(realpathSync(ancestor), relative(ancestor, path));
}

/** Whether there is something, links to nothing included. */
function isEntry(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** A shell would stand in a folder that is gone. @throws UserError */
function assertElsewhere(folder: string, target: string): void {
  const here = realpathSync(process.cwd());
  if (here === target || here.startsWith(join(target, sep)))
    throw new UserError(`${folder}: memshade was started there; name a folder of its own with --out`);
}

/** @throws UserError if there is something that a run must not replace. */
function assertReplaceable(folder: string, target: string): void {
  const status = statSync(target, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (!status.isDirectory()) throw new UserError(`cannot write the profile to ${folder}: it is not a folder`);
  if (status.dev !== statSync(dirname(target)).dev)
    throw new UserError(`${folder}: a file system is mounted there; name a folder inside of it with --out`);
  const names = readdirSync(target).sort();
  const known = names.length === 0 ? [] : filesOfRun(target);
  const foreign = names.filter((name) => !known.includes(name));
  if (foreign.length === 0) return;
  const shown = foreign.slice(0, NAMED).join(", ") + (foreign.length > NAMED ? ", …" : "");
  throw new UserError(
    `${folder}: it holds what is no part of a finished run (${shown}); name another folder with --out, or remove that`,
  );
}

/** Names of the files of a finished run, and of what was made of it; none if there is no such run. */
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
