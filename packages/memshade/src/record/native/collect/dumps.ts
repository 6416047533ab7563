import { dumpTemplate, expandOutTemplate, type RunFolders } from "../../host/run/run-folder.ts";
import { say } from "../../host/run/terminal-line.ts";
import type { NativeWorkingSetSession } from "../tools/working-set/read/native-session.ts";
import type { LeftBehind, RecordedProgram } from "./left-behind.ts";
import type { MemoryWatch } from "./memory-watch.ts";
import type { ProfileWriter } from "./profile-writer.ts";

/** Writes dumps of the program and its children while they run, one after the other. */
export class Dumps {
  readonly #watch: MemoryWatch;
  readonly #program: RecordedProgram;
  readonly #folders: RunFolders;
  readonly #writer: ProfileWriter;
  readonly #workingSet: () => NativeWorkingSetSession | undefined;
  #count = 0;
  done: Promise<void> = Promise.resolve();

  /** @param workingSet returns the working set of the program; a dump has the intervals that have ended */
  constructor(
    watch: MemoryWatch,
    program: RecordedProgram,
    folders: RunFolders,
    writer: ProfileWriter,
    workingSet: () => NativeWorkingSetSession | undefined,
  ) {
    this.#watch = watch;
    this.#program = program;
    this.#folders = folders;
    this.#writer = writer;
    this.#workingSet = workingSet;
  }

  write(): void {
    this.done = this.done.then(() => this.#writeAll());
  }

  async #writeAll(): Promise<void> {
    const { memory, running } = this.#watch;
    if (memory === undefined) {
      say("nothing has been allocated yet: no dump was written");
      return;
    }
    this.#count++;
    const data = await this.#watch.readSoFar();
    const workingSet = this.#workingSet();
    if (data !== undefined) this.#writeOne({ ...data, workingSet }, this.#folders.next(true), this.#program);
    for (const child of running) {
      const memory = await child.memory.readStill();
      // The child has ended meanwhile, and its profile is written.
      if (memory === undefined) continue;
      const template = dumpTemplate(child.folder.replaceAll("%", "%%"));
      const values = { pid: process.pid, sequence: this.#count, environment: process.env };
      const { reach, program } = child;
      this.#writeOne({ memory, reach }, expandOutTemplate(template, values), program);
    }
  }

  #writeOne(data: LeftBehind, folder: string, program: RecordedProgram): void {
    const target = { folder, claim: undefined, what: "dump" } as const;
    this.#writer.write(target, data, program, { end: { kind: "dump" } });
  }
}
