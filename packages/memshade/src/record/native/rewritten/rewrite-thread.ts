// Rewrites files, one task after the other.

import { readFileSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { type ObjectFile, openObject } from "../../../code/objects/index.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import { describeSystemError } from "../../../ground/bytes/system-errors.ts";
import { SLOW_PATHS } from "../native-tool.ts";
import type { PlanBlock } from "../rewrite/plan.ts";
import { type Rewritten, rewriteFile } from "../rewrite/rewrite-file.ts";
import { isLibrary, isStatic } from "../start/check-program.ts";
import { nativeTool } from "../tools/index.ts";
import { sumOfContent } from "./file-sums.ts";
import type { RewritingData, RewritingReply, RewritingTask } from "./rewriting-messages.ts";
import { markOf, RewrittenCache, rewrittenKey } from "./rewritten-cache.ts";

const { tool: name, options, folder, code, heapRoom } = workerData as RewritingData;
const tool = nativeTool(name, options);
const cache = new RewrittenCache(folder);

parentPort?.on("message", ({ path }: RewritingTask) => {
  parentPort?.postMessage(rewrite(path));
});

function rewrite(path: string): RewritingReply {
  try {
    const content = readFileSync(path);
    const key = rewrittenKey(sumOfContent(content), code);
    const file = tool.planFile?.({ key, folder: cache.folder });
    const made = tryRewrite(content, key, file?.plan ?? tool.plan);
    cache.write(key, made, file?.notes(), { file: path, tool: name });
    file?.onStored(cache.notesOf(key));
    return undefined;
  } catch (error) {
    return describeSystemError(error);
  }
}

/**
 * Returns half of the room behind a program that its code reaches and no tool uses, at most `heapRoom`. The
 * new code needs the other half.
 */
function roomBehind({ segments }: ObjectFile): number {
  const start = Math.min(...segments.map(({ address }) => address));
  const end = Math.max(...segments.map(({ address, memorySize }) => address + memorySize));
  const last = end < SLOW_PATHS ? SLOW_PATHS : start + 2 ** 31;
  const half = Math.max(0, Math.min(last, start + 2 ** 31) - end) / 2;
  return Math.min(heapRoom, half - (half % PAGE_BYTES));
}

function tryRewrite(content: Uint8Array, key: string, plan: PlanBlock): Rewritten | { refused: string } {
  try {
    // No dynamic linker would map the ranges of inserted code.
    const object = openObject(content);
    if (isStatic(object)) return { refused: "it is linked statically" };
    const heapRoom = isLibrary(object) ? 0 : roomBehind(object);
    return rewriteFile(content, plan, { mark: markOf(key), heapRoom, areCallsWatched: true });
  } catch (error) {
    if (error instanceof FormatError) return { refused: error.detail };
    throw error;
  }
}
