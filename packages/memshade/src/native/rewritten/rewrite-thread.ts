// Rewrites files, one task after the other.
import { readFileSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { FormatError } from "../../bytes/errors.ts";
import { describeSystemError } from "../../bytes/system-errors.ts";
import { openObject } from "../../objects/index.ts";
import { nativeTool } from "../native-tool.ts";
import type { PlanBlock } from "../rewrite/emit.ts";
import { type Rewritten, rewriteFile } from "../rewrite/rewrite.ts";
import { isStatic } from "../start/check-program.ts";
import { sumOfContent } from "./file-sums.ts";
import type { RewritingData, RewritingReply, RewritingTask } from "./rewriting-messages.ts";
import { markOf, RewrittenCache, rewrittenKey } from "./rewritten-cache.ts";

const { tool: name, options, place, code } = workerData as RewritingData;
const tool = nativeTool(name, options);
const cache = new RewrittenCache(place);

parentPort?.on("message", ({ path }: RewritingTask) => {
  parentPort?.postMessage(rewrite(path));
});

function rewrite(path: string): RewritingReply {
  try {
    const content = readFileSync(path);
    const key = rewrittenKey(sumOfContent(content), code);
    const file = tool.planFile?.({ key, folder: cache.folder });
    const made = tryRewrite(content, key, file?.plan ?? tool.plan);
    cache.write(key, made, file?.notes());
    file?.kept(cache.notesOf(key));
    return undefined;
  } catch (error) {
    return describeSystemError(error);
  }
}

function tryRewrite(content: Uint8Array, key: string, plan: PlanBlock): Rewritten | { refused: string } {
  try {
    // It has no dynamic linker that would map what inserted code uses.
    if (isStatic(openObject(content))) return { refused: "it is linked statically" };
    return rewriteFile(content, plan, markOf(key));
  } catch (error) {
    if (error instanceof FormatError) return { refused: error.detail };
    throw error;
  }
}
