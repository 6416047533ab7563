import { closeSync, openSync, realpathSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";

/**
 * A file that appears under its name only when it is whole: until then it is written beside it. Links are followed, and
 * what is no regular file (a device, a pipe) is written to as it is.
 *
 * All methods throw UserError where the file cannot be written.
 */
export class WholeFile {
  readonly #name: string;
  readonly #target: string;
  /** Where it is written; the target itself if that is no regular file. */
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
      // What a killed process has left, or a link that somebody else has put there.
      rmSync(this.#partial, { force: true });
      return openSync(this.#partial, "wx", mode);
    });
  }

  /** Appends, or writes at an offset. */
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

  /** All is written. */
  finish(): void {
    this.#explained(() => {
      this.#close();
      if (this.#partial !== this.#target) renameSync(this.#partial, this.#target);
    });
  }

  /** Something failed: nothing is left behind. */
  abandon(): void {
    this.#close();
    if (this.#partial !== this.#target) rmSync(this.#partial, { force: true });
  }

  #close(): void {
    if (!this.#isOpen) return;
    // Linux closes a descriptor also when it reports an error, and the next file may get the same number.
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
 * Writes a file whole. Whatever fails, nothing is left behind.
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
