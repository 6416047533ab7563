import { closeSync, openSync, realpathSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";

/**
 * File that appears under its name only once it is complete: until then it is written beside it. Links are
 * followed. A file that is not regular (a device, a pipe) is written to directly.
 *
 * All methods throw UserError if the file cannot be written.
 */
export class WholeFile {
  readonly #name: string;
  readonly #target: string;
  /** Path being written; the target itself if that is not a regular file. */
  readonly #partial: string;
  readonly #descriptor: number;
  #isOpen = true;

  /** @param mode permissions of a new file, before the umask */
  constructor(name: string, mode?: number) {
    this.#name = name;
    const isRegular = this.#explained(() => statSync(name, { throwIfNoEntry: false })?.isFile());
    this.#target = isRegular === true ? this.#explained(() => realpathSync(name)) : resolve(name);
    this.#partial =
      isRegular === false
        ? this.#target
        : join(dirname(this.#target), `.${basename(this.#target)}.${process.pid}.partial`);
    this.#descriptor = this.#explained(() => {
      if (this.#partial === this.#target) return openSync(this.#partial, "w");
      // A file of a killed process, or another user's link, may be in the way.
      rmSync(this.#partial, { force: true });
      return openSync(this.#partial, "wx", mode);
    });
  }

  write(piece: string | Uint8Array, offset?: number): void {
    const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
    this.#explained(() => {
      for (let at = 0; at < bytes.length; )
        at += writeSync(
          this.#descriptor,
          bytes,
          at,
          bytes.length - at,
          offset === undefined ? null : offset + at,
        );
    });
  }

  finish(): void {
    this.#explained(() => {
      this.#close();
      if (this.#partial !== this.#target) renameSync(this.#partial, this.#target);
    });
  }

  abandon(): void {
    this.#close();
    if (this.#partial !== this.#target) rmSync(this.#partial, { force: true });
  }

  #close(): void {
    if (!this.#isOpen) return;
    // Linux closes a descriptor even if it reports an error, and the next file may get the same number.
    this.#isOpen = false;
    closeSync(this.#descriptor);
  }

  #explained<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw new UserError(`cannot write ${this.#name}: ${describeSystemError(error)}`);
    }
  }
}

/**
 * Writes a file atomically. After a failure no file is left behind.
 *
 * @param mode as for `WholeFile`
 * @throws UserError if it cannot be written
 */
export function writeWholeFile(name: string, write: (file: WholeFile) => void, mode?: number): void {
  const file = new WholeFile(name, mode);
  try {
    write(file);
    file.finish();
  } catch (error) {
    file.abandon();
    throw error;
  }
}
