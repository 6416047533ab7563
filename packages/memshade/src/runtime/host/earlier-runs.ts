import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { InstrumentOptions, SiteRuns } from "../../instrument/index.ts";
import { addedRuns, type ModuleRuns, readSiteRuns, siteRunsText } from "./waste/site-runs.ts";

/** Modules that are remembered at most. */
const MOST_MODULES = 200;
const ENDING = ".runs";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What earlier runs of modules did, kept in a folder from run to run: a file per module. It serves speed alone, so whatever
 * fails here is as if nothing were known.
 */
export class EarlierRuns {
  readonly #folder: string | undefined;

  /** `folder`: undefined for one that knows nothing and keeps nothing. */
  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  /** What is known of a module. */
  of(original: Uint8Array): SiteRuns | undefined {
    if (this.#folder === undefined) return undefined;
    try {
      return readSiteRuns(readFileSync(fileOf(this.#folder, original), "utf8"));
    } catch {
      return undefined;
    }
  }

  /** Options for rewriting a module, with what is known of it. */
  added(options: InstrumentOptions, original: Uint8Array): InstrumentOptions {
    const siteRuns = this.of(original);
    return siteRuns === undefined ? options : { ...options, waste: { ...options.waste, siteRuns } };
  }

  /** Adds runs to what is known of their modules. */
  keep(modules: readonly ModuleRuns[]): void {
    const folder = this.#folder;
    if (folder === undefined) return;
    for (const { original, runs } of modules)
      if (runs.offsets.length > 0) write(folder, original, siteRunsText(addedRuns(runs, this.of(original))));
    forgetOldest(folder);
  }
}

/**
 * The user's folder, absolute: `MEMSHADE_CACHE`, none if that is empty, else `memshade` in the folder for caches. Asked for before
 * the program starts, which may change its environment and its working directory.
 */
export function earlierRunsFolder(environment: Environment): string | undefined {
  const { MEMSHADE_CACHE: own, XDG_CACHE_HOME: caches } = environment;
  if (own !== undefined) return own === "" ? undefined : resolve(own);
  if (caches !== undefined && caches !== "") return resolve(caches, "memshade");
  try {
    return resolve(homedir(), ".cache", "memshade");
  } catch {
    // Users without a home are known to some containers.
    return undefined;
  }
}

/** All of it or nothing, whoever else writes there. */
function write(folder: string, original: Uint8Array, text: string): void {
  const partial = join(folder, `${process.pid}.partial`);
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(partial, text);
    renameSync(partial, fileOf(folder, original));
  } catch {
    try {
      rmSync(partial, { force: true });
    } catch {
      // There is no folder.
    }
  }
}

function fileOf(folder: string, original: Uint8Array): string {
  return join(folder, `${createHash("sha256").update(original).digest("hex")}${ENDING}`);
}

function forgetOldest(folder: string): void {
  try {
    const files = readdirSync(folder).filter((name) => name.endsWith(ENDING));
    if (files.length <= MOST_MODULES) return;
    const byAge = files
      .map((name) => ({ path: join(folder, name), time: statSync(join(folder, name)).mtimeMs }))
      .sort((a, b) => a.time - b.time);
    for (const { path } of byAge.slice(0, files.length - MOST_MODULES)) rmSync(path, { force: true });
  } catch {
    // Somebody else is at it.
  }
}
