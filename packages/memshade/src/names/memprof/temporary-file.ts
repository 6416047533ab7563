import { closeSync, openSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";
import type { SpillFile } from "../../profile/model/memprof/index.ts";

let serial = 0;

/**
 * Temporary storage in the output file's folder, where there is room for that file. The file is unlinked at once,
 * so that nothing is left behind, however the process ends. Systems that require a name remove it when it is
 * closed.
 *
 * All methods throw UserError if the system refuses.
 */
export class TemporaryFile implements SpillFile {
  #size = 0;
  readonly #path: string;
  readonly #descriptor: number;

  constructor(output: string) {
    const isRegular = statSync(output, { throwIfNoEntry: false })?.isFile() !== false;
    const folder = isRegular ? dirname(resolve(output)) : tmpdir();
    this.#path = join(folder, `.${basename(output)}.${process.pid}.${serial++}.tmp`);
    this.#descriptor = this.#explained(() => openSync(this.#path, "wx+", 0o600));
    this.#remove();
  }

  get size(): number {
    return this.#size;
  }

  append(bytes: Uint8Array): void {
    this.#explained(() => {
      for (let at = 0; at < bytes.length; ) {
        const count = writeSync(this.#descriptor, bytes, at, bytes.length - at, this.#size);
        at += count;
        this.#size += count;
      }
    });
  }

  read(at: number, into: Uint8Array): void {
    this.#explained(() => {
      for (let done = 0; done < into.length; ) {
        const count = readSync(this.#descriptor, into, done, into.length - done, at + done);
        if (count === 0) throw new UserError(`${this.#path} was changed while it was used`);
        done += count;
      }
    });
  }

  release(): void {
    closeSync(this.#descriptor);
    this.#remove();
  }

  #remove(): void {
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // The system refused; the file is removed when it is closed.
    }
  }

  #explained<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (error instanceof UserError) throw error;
      throw new UserError(`cannot write ${this.#path}: ${describeSystemError(error)}`);
    }
  }
}
