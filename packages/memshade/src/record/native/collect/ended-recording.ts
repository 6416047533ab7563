import { MIB } from "../../../ground/bytes/sizes.ts";
import { counted, groupDigits } from "../../../profile/model/counted.ts";
import type { Run, RunChild, RunEnd } from "../../../profile/model/run.ts";
import type { NativeWorkingSetSession } from "../tools/working-set/read/native-session.ts";
import type { ChildProcess } from "./child-processes.ts";
import type { FreedCounts } from "./freed-counts.ts";
import type { NativeRecord, RecordedProgram } from "./left-behind.ts";
import type { MemoryWatch } from "./memory-watch.ts";
import type { ProfileTarget, ProfileWriter, WrittenChild } from "./profile-writer.ts";

const ENDED =
  "The recording reached --memory-limit and ended before the program: all figures are those of that time.";

/**
 * A recording that has ended before the program because it took too much memory. Its data are written when
 * processes end.
 */
export class EndedRecording {
  readonly line: string;
  ownRecord: NativeRecord | undefined;
  done: Promise<void> = Promise.resolve();
  readonly #watch: MemoryWatch;
  readonly #writer: ProfileWriter;
  readonly #children = new Map<string, NativeRecord>();
  #later = 0;
  #hasEnded = false;
  #freed: FreedCounts | undefined;

  constructor(watch: MemoryWatch, writer: ProfileWriter, limit: number) {
    this.#watch = watch;
    this.#writer = writer;
    this.line = `recording has taken ${groupDigits(Math.ceil(limit / MIB))} MiB of memory, which is its limit`;
  }

  /** Stores the data of all processes, and frees their memory. */
  end(program: RecordedProgram, workingSet: NativeWorkingSetSession | undefined, freed: FreedCounts): void {
    this.#freed = freed;
    this.done = this.#end(program, workingSet);
  }

  async #end(program: RecordedProgram, workingSet: NativeWorkingSetSession | undefined): Promise<void> {
    const data = await this.#watch.readSoFar();
    await workingSet?.finish(Number(process.hrtime.bigint()));
    if (data !== undefined) this.ownRecord = this.#writer.keep("", { ...data, workingSet }, program);
    for (const child of this.#watch.running) {
      const { memory, samples, reach, folder } = child;
      const still = await memory.readStill();
      if (still === undefined) continue;
      const data = { memory: still, counters: memory.counters, samples, reach };
      const record = this.#writer.keep(folder, data, child.program);
      if (record !== undefined) this.#children.set(folder, record);
    }
    this.#hasEnded = true;
    this.#watch.endRecording((counts) => this.#freed?.free(counts));
  }

  /** Writes the run of a child that has ended. Returns undefined if the child began after the recording. */
  child(child: ChildProcess): WrittenChild | undefined {
    const { folder, isRunning } = child;
    const record = this.#children.get(folder);
    // The recording still covers all of the child.
    if (record === undefined && !this.#hasEnded) return this.#writer.child(child);
    if (record === undefined) {
      this.#later++;
      return undefined;
    }
    const end: RunEnd = { kind: isRunning ? "dump" : "ended" };
    const run = this.#writer.writeKept({ folder, claim: undefined, what: "profile" }, record, {
      end,
      children: undefined,
      gaps: [ENDED],
    });
    if (run === undefined) return undefined;
    const { allocations, allocatedBytes } = run.heap ?? {};
    return { folder, child: { program: run.program, command: run.command, allocations, allocatedBytes } };
  }

  write(
    target: ProfileTarget,
    { end, children }: { end: RunEnd; children: readonly RunChild[] | undefined },
    notes: readonly string[],
  ): Run | undefined {
    const later =
      this.#later === 0
        ? []
        : [`${counted(this.#later, "child process", "child processes")} started later and have no run.`];
    const gaps = [ENDED, ...later, ...notes];
    return this.ownRecord && this.#writer.writeKept(target, this.ownRecord, { end, children, gaps });
  }

  close(): void {
    this.#freed?.stop();
  }
}
