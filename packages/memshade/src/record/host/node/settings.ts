import type { ToolOptions } from "../../tools/run-options.ts";

/** Environment variable that passes the settings to a Node process, as JSON. */
export const SETTINGS_VARIABLE = "MEMSHADE_HOOK";

/** Key under which worker threads find the settings (`getEnvironmentData`). */
export const SETTINGS_KEY = "memshade";

/** Settings that `memshade node` passes to a hooked Node process. */
export interface HookSettings {
  tools: ToolOptions;
  /** Absolute folder for runs if no template is given. */
  cwd: string;
  /** Template of the run folder, absolute, or null for the default. */
  out: string | null;
  /**
   * Program as it was typed, for the direct child. Its arguments are left out, since a variable may have at most 128
   * KiB.
   */
  script: string;
  /** True in the process that `memshade node` started, which passes on false. */
  isDirectChild: boolean;
  /** Identity of the supervising process, if it holds the folder for the direct child: see `FolderClaim`. */
  lender: string | undefined;
  /** Folder of memshade's compiled code; undefined if it is not cached. */
  compiledCode: string | undefined;
  /** Address on which the supervising process listens. */
  socket: string | null;
  /** True if child processes are recorded too. */
  traceChildren: boolean;
}

/** Settings for a worker thread, with its connection to the recording thread. */
export interface ThreadSettings extends HookSettings {
  /** Name of the broadcast channel to the recording thread. */
  channel: string;
  /** Words shared with the recording thread: see `StateWord`. */
  state: Int32Array;
}
