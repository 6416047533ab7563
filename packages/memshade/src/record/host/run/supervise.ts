import { dieBySignal, onSignals, SAME_SIGNAL_MS } from "./die-by-signal.ts";
import { assertFolderWritable, FolderClaim } from "./folder-claim.ts";
import { defaultOutTemplate, RunFolders } from "./run-folder.ts";

/** What every way to start a program is told of its run folder. */
export interface SupervisedRun {
  /** Template of the run folder, see `expandOutTemplate`; undefined: the folder is named after the program. */
  out?: string | undefined;
  /** short name of the program */
  program: string;
  /** Whether the folder is this run's from before the start, so that no other run writes there meanwhile. */
  isHeld: boolean;
  /** Is told of the folder of the program's own profile, when everything else has been said. */
  onWritten?: ((folder: string) => Promise<void>) | undefined;
}

/** Where a run writes to. */
export interface RunPlace {
  readonly folders: RunFolders;
  /** the first of them */
  readonly folder: string;
  /** Undefined where the folder is not held. */
  readonly claim: FolderClaim | undefined;
}

/** How a run has ended. */
export interface RunOutcome {
  /** exit code for this process, if no signal ends it */
  readonly code: number;
  /** The signal that this process is to die by, `SIGRTMIN+3` too. */
  readonly signal?: string | null | undefined;
  /** The folder of the program's own profile, if it was written. */
  readonly written?: string | undefined;
}

/**
 * Finds the run's folder, has the program recorded, and ends as the program has ended.
 *
 * @returns the exit code; where a signal is to end this process, it dies by that signal instead
 * @throws UserError where the folder cannot be written or belongs to another run, and what `record` throws
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
  // The signal takes a moment; nothing else is to be said.
  return new Promise(() => {});
}

/** Signals that end a run: the first lets its profile be written, and one that comes later than `SAME_SIGNAL_MS` does not. */
export class EndSignals {
  #signal: NodeJS.Signals | undefined;
  #since = 0;
  readonly #onFirst: (signal: NodeJS.Signals) => void;
  readonly #onSecond: () => void;

  constructor(onFirst: (signal: NodeJS.Signals) => void, onSecond: () => void) {
    this.#onFirst = onFirst;
    this.#onSecond = onSecond;
  }

  /** The first signal. */
  get signal(): NodeJS.Signals | undefined {
    return this.#signal;
  }

  /** A signal that has come already, to another process, is the first one. */
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

  /** Listens to the signals that end programs, and to SIGUSR2, which asks for a dump. Returns a function that stops listening. */
  listen(dump: () => unknown): () => void {
    const { take } = this;
    return onSignals({ SIGINT: take, SIGTERM: take, SIGHUP: take, SIGUSR2: dump });
  }
}
