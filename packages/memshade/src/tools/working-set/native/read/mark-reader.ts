import { type ChildProcessByStdio, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { markReaderProgram } from "../mark-reader-program.ts";
import { type MarkListener, MarkStream, type SnapshotTaken } from "./mark-stream.ts";

const EXECUTABLE = 0o755;

/** The process that takes marks out of the file that a program shares. */
export class MarkReader {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #waiting: ((taken: SnapshotTaken | undefined) => void) | undefined;

  /**
   * @param folder where programs may lie, for the time of the run
   * @param listener is given the pieces of snapshots
   */
  constructor(folder: string, file: string, pid: number, listener: Pick<MarkListener, "piece">) {
    const program = join(folder, "mark-reader");
    writeFileSync(program, markReaderProgram(), { mode: EXECUTABLE });
    this.#child = spawn(program, [file, `${pid}`], { stdio: ["pipe", "pipe", "ignore"] });
    const stream = new MarkStream({
      piece: (at, marks) => listener.piece(at, marks),
      taken: (snapshot) => this.#answer(snapshot),
    });
    this.#child.stdout.on("data", (bytes: Buffer) => stream.add(bytes));
    this.#child.on("error", () => this.#answer(undefined));
    this.#child.on("close", () => this.#answer(undefined));
    // It may be gone, and then says so by that.
    this.#child.stdin.on("error", () => undefined);
  }

  #answer(snapshot: SnapshotTaken | undefined): void {
    this.#waiting?.(snapshot);
    this.#waiting = undefined;
  }

  /** Takes all marks that there are. One at a time. Undefined where the process is gone. */
  take(): Promise<SnapshotTaken | undefined> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return Promise.resolve(undefined);
    return new Promise((done) => {
      this.#waiting = done;
      this.#child.stdin.write("s");
    });
  }

  close(): void {
    this.#child.stdin.end();
    this.#child.unref();
  }
}
