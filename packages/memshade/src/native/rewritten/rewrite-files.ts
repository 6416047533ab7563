import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { Progress } from "../../host/run/progress.ts";
import { counted } from "../../model/counted.ts";
import { type NativeToolName, type NativeToolOptions, nativeTool } from "../native-tool.ts";
import { cacheFolder } from "../tables/table-cache.ts";
import { FileSums } from "./file-sums.ts";
import type { RewritingData, RewritingReply, RewritingTask } from "./rewriting-messages.ts";
import { type KeptFile, markOf, RewrittenCache, rewrittenKey } from "./rewritten-cache.ts";

/** A file, and what stands in its place in a run; or why nothing does. */
export interface RewrittenFile extends KeptFile {
  /** Path of the original, without links. */
  readonly original: string;
  /** By which a process tells it from the original. */
  readonly mark: number;
}

/** Whether it can stand in the place of its original. */
export function isRewritten({ facts }: RewrittenFile): boolean {
  return !("refused" in facts);
}

/** Which tool's code is inserted, and where what is made is kept. */
export interface Rewriting {
  readonly tool: NativeToolName;
  readonly options: NativeToolOptions;
  /** A folder for the time of the run. */
  readonly instead: string;
  readonly isQuiet?: boolean | undefined;
}

const VERSION_DIGITS = 16;

interface Wanted {
  original: string;
  key: string;
  bytes: number;
}

/**
 * Rewrites files, or takes what was made of them before. Of files with the same content one is rewritten.
 *
 * @param originals paths without links
 */
export async function rewriteFiles(
  originals: readonly string[],
  rewriting: Rewriting,
): Promise<RewrittenFile[]> {
  const { tool, options, instead, isQuiet } = rewriting;
  const place = { caches: cacheFolder(), instead };
  const data = { tool, options, place, code: `${versionOfRewriter()} ${nativeTool(tool, options).key}` };
  const cache = new RewrittenCache(place);
  const sums = new FileSums(place.caches);
  const sumOf = (path: string): string => sums.of(path);
  const all = originals.flatMap((original) => wantedOf(original, data.code, sumOf));
  const kept = new Map<string, KeptFile>();
  const missing = new Map<string, Wanted>();
  for (const wanted of all) {
    if (kept.has(wanted.key) || missing.has(wanted.key)) continue;
    const found = cache.read(wanted.key, sumOf);
    if (found === undefined) missing.set(wanted.key, wanted);
    else kept.set(wanted.key, found);
  }
  if (missing.size > 0) {
    const failures = await rewriteAll([...missing.values()], data, isQuiet);
    for (const [key, { original }] of missing) {
      const reason = failures.get(original) ?? "it was changed meanwhile";
      kept.set(key, cache.read(key) ?? { path: "", origins: "", notes: "", facts: { refused: reason } });
    }
    cache.shrink();
  }
  sums.keep();
  return all.map(({ original, key }) => ({ original, mark: markOf(key), ...kept.get(key)! }));
}

/** Nothing where it cannot be read: then the program cannot load it either. */
function wantedOf(original: string, code: string, sumOf: (path: string) => string): Wanted[] {
  try {
    return [{ original, key: rewrittenKey(sumOf(original), code), bytes: statSync(original).size }];
  } catch {
    return [];
  }
}

/** The largest come first. @returns what went wrong, by file */
async function rewriteAll(
  files: readonly Wanted[],
  data: RewritingData,
  isQuiet: boolean | undefined,
): Promise<Map<string, string>> {
  const what = `rewriting ${counted(files.length, "file", "files")}, once`;
  const progress = new Progress(what, isQuiet ? false : undefined);
  const left = [...files].sort((a, b) => b.bytes - a.bytes).map(({ original }) => original);
  const failures = new Map<string, string>();
  let done = 0;
  progress.show(done, files.length);
  const work = async (): Promise<void> => {
    let worker: Worker | undefined;
    for (let file = left.shift(); file !== undefined; file = left.shift()) {
      worker ??= startWorker(data);
      const failure = await rewriteOne(worker, file);
      if (failure !== undefined) failures.set(file, failure.message);
      // A thread is gone that had no memory left.
      if (failure?.isThreads === true) worker = undefined;
      progress.show(++done, files.length);
    }
    await worker?.terminate();
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), files.length) }, work));
  progress.clear();
  return failures;
}

/** The file that threads begin with has the extension of this one, in the sources as in the build. */
const THREAD = new URL(`rewrite-thread${extname(import.meta.url)}`, import.meta.url);

/** A sum of the built file with the code that rewrites, which names all that it imports by their sums; of sources, when one was changed last. */
function versionOfRewriter(): string {
  if (extname(THREAD.pathname) !== ".js")
    return `sources ${lastChange(fileURLToPath(new URL("../..", THREAD)))}`;
  return createHash("sha256").update(readFileSync(THREAD)).digest("hex").slice(0, VERSION_DIGITS);
}

function lastChange(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return files.reduce((last, file) => Math.max(last, statSync(file).mtimeMs), 0);
}

/** Its output is its own: the standard streams are the program's. */
function startWorker(workerData: RewritingData): Worker {
  return new Worker(THREAD, { workerData, stdout: true, stderr: true });
}

/** @returns what went wrong, and whether that has ended the thread */
function rewriteOne(
  worker: Worker,
  path: string,
): Promise<{ message: string; isThreads: boolean } | undefined> {
  return new Promise((resolve) => {
    const onMessage = (reply: RewritingReply): void => {
      worker.off("error", onError);
      resolve(reply === undefined ? undefined : { message: reply, isThreads: false });
    };
    const onError = ({ message }: Error): void => {
      worker.off("message", onMessage);
      resolve({ message, isThreads: true });
    };
    worker.once("message", onMessage);
    worker.once("error", onError);
    const task: RewritingTask = { path };
    worker.postMessage(task);
  });
}
