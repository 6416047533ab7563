import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { InstrumentOptions, SiteRuns } from "../tools/index.ts";
import {
  type BuildRuns,
  buildRuns,
  buildRunsText,
  movedRuns,
  programOf,
  readBuildRuns,
  totalRuns,
} from "../tools/waste/read/moved-runs.ts";
import { addedRuns, type ModuleRuns, readSiteRuns, siteRunsText } from "../tools/waste/read/site-runs.ts";
import { decodeModule, type WasmModule } from "../wasm/index.ts";
import { makeFolders } from "./run/make-folders.ts";

/** Modules that are remembered at most. */
const MOST_MODULES = 200;
/** A file per module for that very module, and one for other builds of its program. */
const ENDING = ".runs";
const BUILD_ENDING = ".functions";
/** Of so many builds, the latest ones of a program, the one that is most like a new one is looked for. */
const MOST_BUILDS = 8;
/** What is kept of a build is written anew when there are so many times the runs. */
const MUCH_MORE = 2;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What earlier runs of modules did, kept in a folder from run to run. It serves speed alone, so whatever fails here is as if
 * nothing were known.
 */
export class EarlierRuns {
  readonly #folder: string | undefined;

  /** `folder`: undefined for one that knows nothing and keeps nothing. */
  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  /** What is known of a module: what it did itself, else what another build of the program did in the functions they share. */
  of(original: Uint8Array): SiteRuns | undefined {
    const folder = this.#folder;
    return folder === undefined ? undefined : known(folder, original, digestOf(original));
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
    for (const { original, runs } of modules) {
      if (runs.offsets.length === 0) continue;
      const digest = digestOf(original);
      const all = addedRuns(runs, known(folder, original, digest));
      write(folder, fileOf(folder, digest), siteRunsText(all));
      ifPossible(() => keepBuild(folder, decodeModule(original), digest, all));
    }
    forgetOldest(folder, ENDING);
    forgetOldest(folder, BUILD_ENDING);
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

function ifPossible<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function known(folder: string, original: Uint8Array, digest: string): SiteRuns | undefined {
  const itself = ifPossible(() => readSiteRuns(readFileSync(fileOf(folder, digest), "utf8")));
  return itself ?? ifPossible(() => ofOtherBuilds(folder, decodeModule(original)));
}

/** The files of a program's builds. */
function buildsOf(folder: string, module: WasmModule): string[] {
  const program = programOf(module);
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${program}.`) && name.endsWith(BUILD_ENDING))
    .map((name) => join(folder, name));
}

function ofOtherBuilds(folder: string, module: WasmModule): SiteRuns | undefined {
  const latest = byAge(buildsOf(folder, module)).slice(-MOST_BUILDS).reverse();
  if (latest.length === 0) return undefined;
  const builds = latest.map((path) => ifPossible(() => readBuildRuns(readFileSync(path, "utf8"))));
  return movedRuns(
    module,
    builds.filter((build): build is BuildRuns => build !== undefined),
  );
}

/** Where there is not much more to say of a build than what is kept, a run only says that it is still in use. */
function keepBuild(folder: string, module: WasmModule, digest: string, runs: SiteRuns): void {
  const path = join(folder, `${programOf(module)}.${digest}${BUILD_ENDING}`);
  const kept = ifPossible(() => readBuildRuns(readFileSync(path, "utf8")));
  const total = runs.runs.reduce((sum, count) => sum + count, 0);
  if (kept !== undefined && total < MUCH_MORE * totalRuns(kept)) utimesSync(path, new Date(), new Date());
  else write(folder, path, buildRunsText(buildRuns(module, runs)));
}

/** All of it or nothing, whoever else writes there. */
function write(folder: string, path: string, text: string): void {
  const partial = join(folder, `${process.pid}.partial`);
  try {
    makeFolders(folder);
    writeFileSync(partial, text);
    renameSync(partial, path);
  } catch {
    try {
      rmSync(partial, { force: true });
    } catch {
      // There is no folder.
    }
  }
}

function fileOf(folder: string, digest: string): string {
  return join(folder, `${digest}${ENDING}`);
}

function digestOf(original: Uint8Array): string {
  return createHash("sha256").update(original).digest("hex");
}

/** Files, the oldest first. */
function byAge(paths: readonly string[]): string[] {
  return paths
    .map((path) => ({ path, time: statSync(path).mtimeMs }))
    .sort((a, b) => a.time - b.time)
    .map(({ path }) => path);
}

function forgetOldest(folder: string, ending: string): void {
  try {
    const files = readdirSync(folder).filter((name) => name.endsWith(ending));
    if (files.length <= MOST_MODULES) return;
    const paths = byAge(files.map((name) => join(folder, name)));
    for (const path of paths.slice(0, files.length - MOST_MODULES)) rmSync(path, { force: true });
  } catch {
    // Somebody else is at it.
  }
}
