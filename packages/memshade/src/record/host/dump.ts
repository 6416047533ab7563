import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RUN_FILE, type Run } from "../../profile/model/run.ts";
import { findRecording } from "./node/recording/recording-api.ts";
import { activeRecording } from "./profile.ts";
import type { Profile } from "./run/recorder.ts";

/** Profile taken while the program runs. */
export interface Dump extends Omit<Profile, "siteRuns" | "warnings"> {
  /** Folder that holds it, when the program runs under `memshade node`. */
  folder?: string;
}

/**
 * Returns the profile up to now, including blocks that are live: of the running `profile()` call, or of this program
 * when it runs under `memshade node`, which also writes it to a folder.
 *
 * @returns undefined when nothing is being recorded.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { dump, profile } from "memshade";
 *
 * const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
 * const { value } = await profile(empty, async (instantiate) => {
 *   await instantiate();
 *   return dump();
 * });
 * assert.equal(value?.run.end.kind, "dump");
 * assert.equal(dump(), undefined);
 * ```
 */
export function dump(): Dump | undefined {
  const recording = activeRecording();
  if (recording !== undefined) return recording.dump();
  const reply = findRecording()?.dump();
  if (reply === undefined || !reply.ok) return undefined;
  const folder = reply.text;
  const run = JSON.parse(readFileSync(join(folder, RUN_FILE), "utf8")) as Run;
  const { heap, measured: _, ...others } = run.files;
  const toolFiles = Object.values(others).flatMap((name) =>
    name === undefined ? [] : [{ name, contents: readFileSync(join(folder, name), "utf8") }],
  );
  const raw = heap === undefined ? new Uint8Array() : readFileSync(join(folder, heap));
  return { folder, run, raw, toolFiles };
}

/**
 * Resets the recording that `dump()` would return, except for blocks that are live now. Does nothing when nothing is
 * being recorded.
 */
export function reset(): void {
  const recording = activeRecording() ?? findRecording();
  recording?.reset();
}
