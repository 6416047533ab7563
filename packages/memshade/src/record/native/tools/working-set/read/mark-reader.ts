import { type ChildProcessByStdio, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { kept } from "../../../tables/kept.ts";
import { TableCache } from "../../../tables/table-cache.ts";
import { markReaderProgram } from "../mark-reader-program.ts";
import { type MarkListener, MarkStream, type SnapshotTaken } from "./mark-stream.ts";

const EXECUTABLE = 0o755;

export interface MarkReaderOptions {
  accesses?: { interval: number; maxIntervals: number } | undefined;
  owners?: boolean | undefined;
}

/** The process that takes marks out of the file that a program shares. */
export class MarkReader {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #closed: () => void = () => undefined;
  #hasEnded = false;
  #waiting: ((taken: SnapshotTaken | undefined) => void) | undefined;

  /**
   * @param folder where programs may lie, for the time of the run
   * @param listener is given snapshots, those that are asked for and those of intervals in accesses
   * @param options `accesses`: how long intervals are, and after how many they become twice as long; undefined: they are not counted;
   * `owners`: whose lines are is asked for
   */
  constructor(
    folder: string,
    file: string,
    pid: number,
    listener: MarkListener,
    { accesses, owners = false }: MarkReaderOptions = {},
  ) {
    const program = join(folder, "mark-reader");
    const code = kept(new TableCache(folder).folder, "mark-reader", markReaderProgram);
    writeFileSync(program, code, { mode: EXECUTABLE });
    const { interval, maxIntervals } = accesses ?? { interval: 0, maxIntervals: 0 };
    const args = [file, pid, interval, maxIntervals, owners ? 1 : 0].map(String);
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
    const stream = new MarkStream(
      {
        piece: (at, marks, owners) => listener.piece(at, marks, owners),
        taken: (snapshot) => {
          listener.taken(snapshot);
          this.#answer(snapshot);
        },
      },
      owners,
    );
    this.#child.stdout.on("data", (bytes: Buffer) => stream.add(bytes));
    const end = () => {
      this.#hasEnded = true;
      this.#answer(undefined);
      this.#closed();
    };
    this.#child.on("error", end);
    this.#child.on("close", end);
    // It may be gone, and then says so by that.
    this.#child.stdin.on("error", () => undefined);
  }

  #answer(snapshot: SnapshotTaken | undefined): void {
    this.#waiting?.(snapshot);
    this.#waiting = undefined;
  }

  /** Takes all marks that there are. One at a time. Undefined where the process is gone. */
  take(): Promise<SnapshotTaken | undefined> {
    if (this.#hasEnded) return Promise.resolve(undefined);
    return new Promise((done) => {
      this.#waiting = done;
      this.#child.stdin.write("s");
    });
  }

  /** Where accesses are counted, there is a last snapshot then. */
  close(): Promise<void> {
    this.#child.stdin.end();
    return this.#hasEnded ? Promise.resolve() : new Promise((done) => (this.#closed = done));
  }
}
