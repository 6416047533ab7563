import { dieBySignal, onSignals, SAME_SIGNAL_MS } from "./die-by-signal.ts";
import { assertFolderWritable, FolderClaim } from "./folder-claim.ts";
import { defaultOutTemplate, RunFolders } from "./run-folder.ts";

/** Settings of the run folder, for every way to start a program. */
export interface SupervisedRun {
  /** Template of the run folder, see `expandOutTemplate`; undefined: the folder is named after the program. */
  out?: string | undefined;
  program: string;
  /** True if the run claims the folder before the start, so that no other run can write there meanwhile. */
  isHeld: boolean;
  /** Called with the folder of the program's own profile, after all messages were printed. */
  onWritten?: ((folder: string) => Promise<void>) | undefined;
}

/** Output folders of a run; `folder` is the first one. */
export interface RunPlace {
  readonly folders: RunFolders;
  readonly folder: string;
  /** Undefined if the folder is not claimed. */
  readonly claim: FolderClaim | undefined;
}

export interface RunOutcome {
  /** exit code for this process, if no signal ends it */
  readonly code: number;
  /** Signal by which this process must die, also `SIGRTMIN+3`. */
  readonly signal?: string | null | undefined;
  /** Folder of the program's own profile, if it was written. */
  readonly written?: string | undefined;
}

/**
 * Finds the run's folder, records the program, and ends as the program has ended.
 * @returns the exit code; if a signal ended the program, this process dies by that signal instead
 * @throws UserError if the folder cannot be written or belongs to another run, and errors of `record`
 */
export async function supervise(
  { out, program, isHeld, onWritten }: SupervisedRun,
  record: (place: RunPlace) => Promise<RunOutcome>,
): Promise<number> {
  const folders = new RunFolders(out ?? defaultOutTemplate(process.cwd(), program), out === undefined);
  const folder = folders.next(false);
  if (!isHeld) assertFolderWritable(folder);
  const claim = isHeld ? FolderClaim.take(folder) : undefined;
  let outcome: RunOutcome;
  try {
    outcome = await record({ folders, folder, claim });
  } finally {
    claim?.release();
  }
  const { code, signal, written } = outcome;
  if (written !== undefined) await onWritten?.(written);
  if (signal === undefined || signal === null) return code;
  dieBySignal(signal);
  // The signal takes a moment. Nothing may be printed meanwhile.
  return new Promise(() => {});
}

/**
 * Signals that end a run. The first one lets its profile be written; one that arrives later than `SAME_SIGNAL_MS` does
 * not.
 */
export class EndSignals {
  #signal: NodeJS.Signals | undefined;
  #since = 0;
  readonly #onFirst: (signal: NodeJS.Signals) => void;
  readonly #onSecond: () => void;

  constructor(onFirst: (signal: NodeJS.Signals) => void, onSecond: () => void) {
    this.#onFirst = onFirst;
    this.#onSecond = onSecond;
  }

  get signal(): NodeJS.Signals | undefined {
    return this.#signal;
  }

  /** Takes a signal that another process has received already as the first one. */
  begin(signal: NodeJS.Signals): void {
    this.#signal = signal;
    this.#since = performance.now();
  }

  readonly take = (signal: NodeJS.Signals): void => {
    if (this.#signal === undefined) {
      this.begin(signal);
      this.#onFirst(signal);
    } else if (performance.now() - this.#since >= SAME_SIGNAL_MS) this.#onSecond();
  };

  /**
   * Listens to the signals that end programs, and to SIGUSR2, which requests a dump. Returns a function that stops
   * listening.
   */
  listen(dump: () => unknown): () => void {
    const { take } = this;
    return onSignals({ SIGINT: take, SIGTERM: take, SIGHUP: take, SIGUSR2: dump });
  }
}
