import { unseenBounds } from "../../../profile/model/bound.ts";
import { RUN_FILE, type Run, type RunChild, type RunEnd } from "../../../profile/model/run.ts";
import { runText } from "../../../profile/model/run-text.ts";
import { type FolderClaim, writeRunFolder } from "../../host/run/folder-claim.ts";
import { sayNotWritten } from "../../host/run/profile-failure.ts";
import { sayWritten } from "../../host/run/terminal-line.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import type { ChildProcess } from "./child-processes.ts";
import type { LeftBehind, NativeRecord, RecordedProgram, RecordingOptions } from "./left-behind.ts";
import { recordedRun } from "./recorded-run.ts";

export interface ProfileTarget {
  folder: string;
  claim: FolderClaim | undefined;
  what: "profile" | "dump";
}

export interface WrittenChild {
  folder: string;
  child: RunChild;
}

export class ProfileWriter {
  #options: RecordingOptions;
  readonly #isQuiet: boolean | undefined;
  /** False once a profile could not be written. */
  isComplete = true;
  readonly folders: string[] = [];
  /** Files whose rewritten code a process has read as data. */
  readonly readAsData = new Set<RewrittenFile>();

  constructor(options: RecordingOptions, isQuiet: boolean | undefined) {
    this.#options = options;
    this.#isQuiet = isQuiet;
  }

  addOptions(more: Partial<RecordingOptions>): void {
    this.#options = { ...this.#options, ...more };
  }

  /** Writes a profile. If that fails, prints the reason and returns undefined. */
  write(
    target: ProfileTarget,
    data: LeftBehind,
    program: RecordedProgram,
    { end, children }: { end: RunEnd; children?: readonly RunChild[] | undefined },
  ): Run | undefined {
    const run = this.#write(target, data, program, { end, children });
    if (run !== undefined && (target.what === "dump" || this.#isQuiet !== true))
      sayWritten(target.folder, process.cwd(), target.what);
    return run;
  }

  /** Writes the profile of a child, which is printed at the end of the run. */
  child({ folder, memory, samples, reach, program, isRunning }: ChildProcess): WrittenChild | undefined {
    const target = { folder, claim: undefined, what: "profile" } as const;
    const end: RunEnd = { kind: isRunning ? "dump" : "ended" };
    const data = { memory: memory.read(), counters: memory.counters, samples, reach };
    const run = this.#write(target, data, program, { end, children: undefined });
    if (run === undefined) return undefined;
    const { allocations, allocatedBytes } = run.heap ?? {};
    return { folder, child: { program: run.program, command: run.command, allocations, allocatedBytes } };
  }

  /**
   * Makes a record that is written when the process has ended. If that fails, prints the reason and returns
   * undefined.
   */
  keep(folder: string, data: LeftBehind, program: RecordedProgram): NativeRecord | undefined {
    try {
      return this.#made(recordedRun(data, program, { kind: "dump" }, this.#options));
    } catch (error) {
      sayNotWritten(folder, process.cwd(), error);
      this.isComplete = false;
      return undefined;
    }
  }

  /**
   * Writes a record of `keep`.
   * @param gaps sentences about what it does not cover
   */
  writeKept(
    target: ProfileTarget,
    { run: stored, files, readAsData }: NativeRecord,
    {
      end,
      children,
      gaps,
    }: { end: RunEnd; children: readonly RunChild[] | undefined; gaps: readonly string[] },
  ): Run | undefined {
    const run: Run = {
      ...stored,
      end: { ...end, isLater: true },
      ...(children === undefined ? {} : { children: [...children] }),
      bounds: [...(stored.bounds ?? []), ...unseenBounds(gaps[0])],
    };
    if (run.heap === undefined) run.notTracked = [...run.notTracked, ...gaps];
    else run.heap = { ...run.heap, notTracked: [...(run.heap.notTracked ?? []), ...gaps] };
    const written = this.#writeMade(target, () => ({ run, files, readAsData }));
    if (written !== undefined && this.#isQuiet !== true)
      sayWritten(target.folder, process.cwd(), target.what);
    return written;
  }

  #write(
    target: ProfileTarget,
    data: LeftBehind,
    program: RecordedProgram,
    { end, children }: { end: RunEnd; children: readonly RunChild[] | undefined },
  ): Run | undefined {
    return this.#writeMade(target, () => recordedRun(data, program, end, { ...this.#options, children }));
  }

  #writeMade({ folder, claim }: ProfileTarget, make: () => NativeRecord): Run | undefined {
    try {
      const { run, files } = this.#made(make());
      const allFiles = [...files, { name: RUN_FILE, contents: runText(run) }];
      if (claim === undefined) writeRunFolder(folder, allFiles);
      else claim.write(allFiles);
      this.folders.push(folder);
      return run;
    } catch (error) {
      sayNotWritten(folder, process.cwd(), error);
      this.isComplete = false;
      return undefined;
    }
  }

  #made(record: NativeRecord): NativeRecord {
    for (const file of record.readAsData) this.readAsData.add(file);
    return record;
  }
}
