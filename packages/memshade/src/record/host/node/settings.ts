import type { ToolOptions } from "../../tools/run-options.ts";

/** Environment variable that carries the settings to a Node process, as JSON. */
export const SETTINGS_VARIABLE = "MEMSHADE_HOOK";

/** Key under which worker threads find the settings (`getEnvironmentData`). */
export const SETTINGS_KEY = "memshade";

/** What a hooked Node process is told by the `memshade node` that started it. */
export interface HookSettings {
  tools: ToolOptions;
  /** Folder in which runs are kept when no template is given: absolute. */
  cwd: string;
  /** Template of the run folder, absolute, or null for the default. */
  out: string | null;
  /** The program as it was typed, for the process started directly, which has its arguments: of a variable there may be 128 KiB. */
  script: string;
  /** Whether this is the process that `memshade node` started: it hands on false. */
  isDirectChild: boolean;
  /** The supervising process, if it holds the folder that the process started directly writes: see `FolderClaim`. */
  lender: string | undefined;
  /** Where the supervising process listens. */
  socket: string | null;
  /** Child processes are recorded too. */
  traceChildren: boolean;
}

/** Settings as a worker thread needs them: with what ties it to the process's recording thread. */
export interface ThreadSettings extends HookSettings {
  /** Name of the broadcast channel to the recording thread. */
  channel: string;
  /** Words shared with it: see `StateWord`. */
  state: Int32Array;
}
