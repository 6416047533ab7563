import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import type { Finding } from "../explain/findings/index.ts";
import { dayOf } from "../explain/fleet/trend.ts";
import { entryOf } from "../ground/bytes/entries.ts";
import { FormatError, UserError } from "../ground/bytes/errors.ts";
import { readRegular } from "../names/load/file.ts";
import { type BinaryPlaces, ProfiledBinaries } from "../names/memprof/binaries.ts";
import { RUN_PAGES } from "../profile/model/run.ts";
import { StoreFolder } from "./folder.ts";
import { StoreKeys } from "./keys.ts";
import { SharedFrames } from "./read/raw-contexts.ts";
import { readStoredRun, type StoreInput, storeInputs } from "./read/read-run.ts";
import { type RunIdentity, type RunRows, rowsOfRun, runKey } from "./rows.ts";

/** Rows of contexts, or of objects, that are collected before they are written: a file of a few MB. */
const MOST_ROWS = 100_000;

export interface AddOptions {
  readonly places: BinaryPlaces;
  readonly identity: RunIdentity;
  readonly sayFinding: (finding: Finding) => string;
  /** Add runs even if the store has them. */
  readonly force?: boolean | undefined;
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

export interface AddedRuns {
  readonly added: number;
  readonly knownInputs: readonly string[];
  readonly contexts: number;
  /** Number of sites that make garbage-collected objects. */
  readonly objectPlaces: number;
  /** Sentences about data that a store does not keep. */
  readonly leftOut: readonly string[];
}

/**
 * Adds runs and profiles to a store. Existing runs do not change, and readers never see a part of a run.
 *
 * @param args run folders, profiles, folders with these, response files
 * @throws UserError for the first unreadable input; runs before it may have been added
 */
export async function addRuns(
  store: string,
  args: readonly string[],
  options: AddOptions,
): Promise<AddedRuns> {
  const inputs = storeInputs(args);
  const { places, sayFinding, identity } = options;
  const reading = { places, binaries: new ProfiledBinaries(places), frames: new SharedFrames(), sayFinding };
  const keys = new StoreKeys();
  const batches = new Map<string, Batch>();
  let added = 0;
  const write = (day: string) => {
    const batch = batches.get(day)!;
    folder.write(batch.runs, { project: identity.project, day }, batch.rows());
    batches.delete(day);
    added += batch.runs.length;
  };
  const folder = StoreFolder.openOrMake(store);
  const present = await runsIn(folder);
  const knownInputs: string[] = [];
  const leftOut = new Set<string>();
  let contexts = 0;
  let objectPlaces = 0;
  for (const [index, input] of inputs.entries()) {
    options.progress?.(index, inputs.length);
    const key = runKey(digestOf(input), identity);
    if (present.has(key) && options.force !== true) {
      knownInputs.push(input.path);
      continue;
    }
    present.add(key);
    const run = await readStoredRun(input, reading);
    for (const sentence of run.leftOut) leftOut.add(sentence);
    contexts += run.contexts.length;
    const day = dayOf(run.started);
    const batch = entryOf(batches, day, () => new Batch());
    const rows = rowsOfRun(run, key, identity, keys);
    objectPlaces += new Set(rows.objects?.map(({ site }) => site)).size;
    batch.add(key, rows);
    if (batch.length >= MOST_ROWS) write(day);
  }
  for (const day of [...batches.keys()]) write(day);
  return { added, knownInputs, contexts, objectPlaces, leftOut: [...leftOut] };
}

function digestOf({ heap, folder }: StoreInput): string {
  const hash = createHash("sha256");
  const files =
    folder === undefined
      ? [heap!.path]
      : readdirSync(folder)
          .filter((name) => /\.(json|memprofraw)$/.test(name) && name !== "measured.json")
          .sort()
          .map((name) => join(folder, name));
  for (const file of files)
    if (existsSync(file) && !Object.values<string>(RUN_PAGES).includes(file)) hash.update(readRegular(file));
  return hash.digest("hex");
}

async function runsIn(store: StoreFolder): Promise<Set<bigint>> {
  const keys = new Set<bigint>();
  for (const file of store.filesOf("runs"))
    try {
      const rows = await parquetReadObjects({ file: await asyncBufferFromFile(file), columns: ["run"] });
      for (const { run } of rows) keys.add(run as bigint);
    } catch (error) {
      throw new UserError(
        `${file} is damaged: ${error instanceof FormatError ? error.detail : (error as Error).message}`,
      );
    }
  return keys;
}

class Batch {
  readonly runs: bigint[] = [];
  readonly #parts: RunRows[] = [];
  /** Number of rows of the largest tables. */
  length = 0;

  add(key: bigint, rows: RunRows): void {
    this.runs.push(key);
    this.#parts.push(rows);
    this.length += rows.metrics!.length + rows.objects!.length;
  }

  /** Returns the rows by table. Contexts and frames of several runs occur once. */
  rows(): RunRows {
    const names = new Set(this.#parts.flatMap((part) => Object.keys(part)));
    return Object.fromEntries(
      Array.from(names, (name) => {
        const rows = this.#parts.flatMap((part) => part[name] ?? []);
        const key = name === "contexts" ? "ctx" : name === "frames" ? "frame" : undefined;
        if (key === undefined) return [name, rows];
        return [name, [...new Map(rows.map((row) => [row[key], row])).values()]];
      }),
    );
  }
}
