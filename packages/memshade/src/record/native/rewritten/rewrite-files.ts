import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { availableParallelism, release } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { loadObject } from "../../../names/load/objects.ts";
import { counted } from "../../../profile/model/counted.ts";
import { cacheFolder, keepingFolder } from "../../host/run/cache-folder.ts";
import { Progress } from "../../host/run/progress.ts";
import type { NativeToolName, NativeToolOptions } from "../native-tool.ts";
import { nativeTool } from "../tools/index.ts";
import { FileSums } from "./file-sums.ts";
import type { RewritingData, RewritingReply, RewritingTask } from "./rewriting-messages.ts";
import { type KeptFile, markOf, RewrittenCache, rewrittenKey } from "./rewritten-cache.ts";

/** A file and its rewritten copy, or the reason why it has none. */
export interface RewrittenFile extends KeptFile {
  /** Path of the original, without links. */
  readonly original: string;
  /** Number by which a process distinguishes it from the original. */
  readonly mark: number;
}

export function isRewritten({ facts }: RewrittenFile): boolean {
  return !("refused" in facts);
}

export interface Rewriting {
  readonly tool: NativeToolName;
  readonly options: NativeToolOptions;
  /** Folder that exists during the run. */
  readonly instead: string;
  /** Most bytes of memory that rewriting may take; undefined: no limit. */
  readonly memory?: number | undefined;
  /** Sums of the contents of files that must stay unchanged. */
  readonly asTheyAre?: ReadonlySet<string> | undefined;
  readonly isQuiet?: boolean | undefined;
}

const VERSION_DIGITS = 16;
const EXECUTABLE = 1;
/**
 * Most bytes of memory per byte of code while it is rewritten. Measured: 25 to 50, with 1 to 100 MB of code.
 */
const MEMORY_PER_BYTE = 50;
const TOO_LARGE = "to rewrite it would take more memory than half of what was free: see --memory-limit";
const READ_AS_DATA = "the program has read its code as data in an earlier run";
/** Rewritten code must reach data across this room, within 2 GiB. */
const HEAP_ROOM = 2 ** 30;

interface Wanted {
  original: string;
  sum: string;
  key: string;
  /** Bytes of memory that rewriting it takes. */
  memory: number;
}

/**
 * Rewrites files, or takes them from the cache. Files with the same content are rewritten once.
 * @param originals paths without links
 */
export async function rewriteFiles(
  originals: readonly string[],
  rewriting: Rewriting,
): Promise<RewrittenFile[]> {
  const { tool, options, instead, memory = Number.POSITIVE_INFINITY, asTheyAre, isQuiet } = rewriting;
  const cache = new RewrittenCache({ caches: cacheFolder(), instead });
  const { folder } = cache;
  const heapRoom = heapRoomOf(release());
  const code = `${versionOfRewriter()} ${nativeTool(tool, options).key} ${heapRoom}`;
  const data = { tool, options, folder, code, heapRoom };
  const sums = new FileSums(keepingFolder("sums", instead, cacheFolder()));
  const sumOf = (path: string): string => sums.sumOf(path);
  const wantedFiles = originals.flatMap((original) => wantedOf(original, data.code, sumOf));
  const results = new Map<string, KeptFile>();
  const missing = new Map<string, Wanted>();
  for (const wanted of wantedFiles) {
    if (results.has(wanted.key) || missing.has(wanted.key)) continue;
    if (asTheyAre?.has(wanted.sum)) {
      results.set(wanted.key, refused(READ_AS_DATA));
      continue;
    }
    const found = cache.read(wanted.key, sumOf);
    if (found !== undefined) results.set(wanted.key, found);
    else if (wanted.memory > memory) results.set(wanted.key, refused(TOO_LARGE));
    else missing.set(wanted.key, wanted);
  }
  if (missing.size > 0) {
    const failures = await rewriteAll([...missing.values()], data, memory, isQuiet);
    for (const [key, { original }] of missing)
      results.set(key, cache.read(key) ?? refused(failures.get(original) ?? "it was changed meanwhile"));
    cache.shrink();
  }
  sums.keep();
  return wantedFiles.map(({ original, key }) => ({ original, mark: markOf(key), ...results.get(key)! }));
}

function refused(reason: string): KeptFile {
  return { path: "", origins: "", notes: "", facts: { refused: reason } };
}

/**
 * Kernels before 5.18 find the program headers in memory only if addresses and file offsets have a constant
 * difference.
 */
function heapRoomOf(kernel: string): number {
  const [major, minor] = kernel.split(".").map(Number);
  return major > 5 || (major === 5 && minor >= 18) ? HEAP_ROOM : 0;
}

/** Returns nothing for a file that cannot be read, since the program cannot load it either. */
function wantedOf(original: string, code: string, sumOf: (path: string) => string): Wanted[] {
  try {
    const sum = sumOf(original);
    return [{ original, sum, key: rewrittenKey(sum, code), memory: memoryFor(original) }];
  } catch {
    return [];
  }
}

/** Returns bytes; 0 for a file that is no object. */
function memoryFor(path: string): number {
  try {
    const code = loadObject(path).object.segments.filter(({ flags }) => (flags & EXECUTABLE) !== 0);
    return MEMORY_PER_BYTE * code.reduce((sum, { fileSize }) => sum + fileSize, 0);
  } catch {
    return 0;
  }
}

/**
 * Rewrites files, the largest first.
 * @param memory most bytes for all files at once
 * @returns errors by file
 */
async function rewriteAll(
  files: readonly Wanted[],
  data: RewritingData,
  memory: number,
  isQuiet: boolean | undefined,
): Promise<Map<string, string>> {
  const title = `rewriting ${counted(files.length, "file", "files")}, once`;
  const progress = new Progress(title, isQuiet ? false : undefined);
  const waiting = [...files].sort((a, b) => b.memory - a.memory);
  let free = memory;
  // If no file fits, a worker that still has one takes the next when it is done.
  const takeNext = (): Wanted | undefined => {
    const at = waiting.findIndex((file) => file.memory <= free);
    return at < 0 ? undefined : waiting.splice(at, 1)[0];
  };
  const failures = new Map<string, string>();
  let done = 0;
  progress.show(done, files.length);
  const work = async (): Promise<void> => {
    let worker: Worker | undefined;
    for (let file = takeNext(); file !== undefined; file = takeNext()) {
      free -= file.memory;
      worker ??= startWorker(data);
      const failure = await rewriteOne(worker, file.original);
      free += file.memory;
      if (failure !== undefined) failures.set(file.original, failure.message);
      // The thread has ended because it had no memory left.
      if (failure?.isThreads === true) worker = undefined;
      progress.show(++done, files.length);
    }
    await worker?.terminate();
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), files.length) }, work));
  progress.clear();
  return failures;
}

/** The thread's file has the same extension as this one, in the sources and in the build. */
const THREAD = new URL(`rewrite-thread${extname(import.meta.url)}`, import.meta.url);

/**
 * Returns the version of the rewriter: a sum of the built file, which contains the sums of its imports, or
 * the last change of the sources.
 */
function versionOfRewriter(): string {
  if (extname(THREAD.pathname) !== ".js")
    return `sources ${lastChange(fileURLToPath(new URL("../../..", THREAD)))}`;
  return createHash("sha256").update(readFileSync(THREAD)).digest("hex").slice(0, VERSION_DIGITS);
}

function lastChange(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return files.reduce((last, file) => Math.max(last, statSync(file).mtimeMs), 0);
}

/** Separates the thread's output, since the standard streams belong to the program. */
function startWorker(workerData: RewritingData): Worker {
  return new Worker(THREAD, { workerData, stdout: true, stderr: true });
}

/** @returns the error, and if it has ended the thread */
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
