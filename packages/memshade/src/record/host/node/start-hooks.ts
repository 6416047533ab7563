/**
 * Entry of the threads of a built `memshade node`: loads `register.ts` with the code that V8 compiled in an earlier process.
 * Node's own cache would also take in the program's modules.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedDataVersionTag } from "node:v8";
import { getEnvironmentData, isMainThread } from "node:worker_threads";
import { attempt } from "../../../ground/bytes/dispensable.ts";
import { readKept, writeKept } from "../run/kept-files.ts";
import { builtInModule, builtScript } from "../sibling-module.ts";
import { type HookSettings, SETTINGS_KEY, SETTINGS_VARIABLE } from "./settings.ts";

/** Name of the script beside this file, with a hash of its code. */
declare const BUILT_HOOKS: string;

const filename = fileURLToPath(import.meta.url);
const folder = settings()?.compiledCode;
// The tag depends on the engine and its flags.
const cached = folder === undefined ? undefined : join(folder, `${BUILT_HOOKS}.${cachedDataVersionTag()}`);
const { script, run } = builtScript(
  fileURLToPath(new URL(BUILT_HOOKS, import.meta.url)),
  ["exports", "require", "__filename", "keepCode"],
  cached === undefined ? undefined : readKept(cached),
);
run({}, builtInModule, filename, keepCode);

function settings(): Partial<HookSettings> | undefined {
  if (!isMainThread) return getEnvironmentData(SETTINGS_KEY) as Partial<HookSettings> | undefined;
  const text = process.env[SETTINGS_VARIABLE];
  return text === undefined ? undefined : (JSON.parse(text) as HookSettings);
}

/** Caches the code, with the functions that were compiled so far. */
function keepCode(): void {
  if (cached !== undefined && script.cachedDataRejected !== false)
    attempt(() => writeKept(cached, script.createCachedData()), undefined);
}
