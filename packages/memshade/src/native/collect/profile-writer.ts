import { type FolderClaim, writeRunFolder } from "../../host/run/folder-claim.ts";
import { sayNotWritten } from "../../host/run/profile-failure.ts";
import { sayWritten } from "../../host/run/terminal-line.ts";
import { RUN_FILE, type Run, type RunChild, type RunEnd } from "../../model/run.ts";
import type { ChildProcess } from "./child-processes.ts";
import { type LeftBehind, type RecordedProgram, type RecordingOptions, recordedRun } from "./recorded-run.ts";

export interface ProfileTarget {
  folder: string;
  claim: FolderClaim | undefined;
  what: "profile" | "dump";
}

/** A child process whose run was written. */
export interface WrittenChild {
  folder: string;
  child: RunChild;
}

/** Writes what processes have left in their memories. */
export class ProfileWriter {
  #how: RecordingOptions;
  readonly #isQuiet: boolean | undefined;
  /** Whether all that was to be written is. */
  isComplete = true;

  constructor(how: RecordingOptions, isQuiet: boolean | undefined) {
    this.#how = how;
    this.#isQuiet = isQuiet;
  }

  /** More of how processes were recorded. */
  tell(more: Partial<RecordingOptions>): void {
    this.#how = { ...this.#how, ...more };
  }

  /** Undefined, with the reason said, where it could not be written. */
  write(
    target: ProfileTarget,
    left: LeftBehind,
    program: RecordedProgram,
    { end, children }: { end: RunEnd; children?: readonly RunChild[] | undefined },
  ): Run | undefined {
    const run = this.#write(target, left, program, { end, children });
    if (run !== undefined && (target.what === "dump" || this.#isQuiet !== true))
      sayWritten(target.folder, process.cwd(), target.what);
    return run;
  }

  /** A child is told of at the end of all. */
  child({ folder, memory, samples, program, isRunning }: ChildProcess): WrittenChild | undefined {
    const target = { folder, claim: undefined, what: "profile" } as const;
    const end: RunEnd = { kind: isRunning ? "dump" : "ended" };
    const run = this.#write(target, { memory: memory.read(), counters: memory.counters, samples }, program, {
      end,
      children: undefined,
    });
    if (run === undefined) return undefined;
    const { allocations, allocatedBytes } = run.heap ?? {};
    return { folder, child: { program: run.program, command: run.command, allocations, allocatedBytes } };
  }

  #write(
    { folder, claim }: ProfileTarget,
    left: LeftBehind,
    program: RecordedProgram,
    { end, children }: { end: RunEnd; children: readonly RunChild[] | undefined },
  ): Run | undefined {
    try {
      const { run, files } = recordedRun(left, program, end, { ...this.#how, children });
      const all = [...files, { name: RUN_FILE, contents: `${JSON.stringify(run, null, 2)}\n` }];
      if (claim === undefined) writeRunFolder(folder, all);
      else claim.write(all);
      return run;
    } catch (error) {
      sayNotWritten(folder, process.cwd(), error);
      this.isComplete = false;
      return undefined;
    }
  }
}
