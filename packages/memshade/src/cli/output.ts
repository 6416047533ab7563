import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { UserError } from "../bytes/errors.ts";
import { describeSystemError } from "../runtime/host/run-folder.ts";
import { writeOutput, writeOutputBytes } from "./line-input.ts";

/** Pieces of text are written together up to this many characters. */
const BATCH = 2 ** 16;

/** Takes the output of a command piece by piece. */
export interface Output {
  write(piece: string | Uint8Array): void;
  /** All is written: a file appears under its name now. */
  finish(): void;
  /** Something failed: what was written of a file is removed. */
  abandon(): void;
}

/**
 * Output to a file, which appears under its name only when it is whole, or to standard output.
 *
 * @throws UserError if the file cannot be written
 */
export function openOutput(file: string | undefined, standard: Output = standardOutput): Output {
  return file === undefined ? new BatchedOutput(standard) : fileOutput(file);
}

const standardOutput: Output = {
  write: (piece) => void process.stdout.write(piece),
  finish: () => {},
  abandon: () => {},
};

/** Standard output without `process.stdout`: opening that loads the machinery of streams. */
export const plainStandardOutput: Output = {
  write: (piece) => (typeof piece === "string" ? writeOutput(piece) : writeOutputBytes(piece)),
  finish: () => {},
  abandon: () => {},
};

function fileOutput(file: string): Output {
  const partial = join(dirname(resolve(file)), `.${basename(file)}.${process.pid}.partial`);
  const explained = <T>(action: () => T): T => {
    try {
      return action();
    } catch (error) {
      throw new UserError(`${file} cannot be written: ${describeSystemError(error)}`);
    }
  };
  const descriptor = explained(() => openSync(partial, "w"));
  return new BatchedOutput({
    write: (piece) =>
      explained(() => {
        const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
        for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
      }),
    finish: () =>
      explained(() => {
        closeSync(descriptor);
        renameSync(partial, file);
      }),
    abandon: () => {
      closeSync(descriptor);
      rmSync(partial, { force: true });
    },
  });
}

class BatchedOutput implements Output {
  readonly #target: Output;
  #batch = "";

  constructor(target: Output) {
    this.#target = target;
  }

  write(piece: string | Uint8Array): void {
    if (typeof piece === "string") {
      this.#batch += piece;
      if (this.#batch.length >= BATCH) this.#flush();
    } else {
      this.#flush();
      this.#target.write(piece);
    }
  }

  finish(): void {
    this.#flush();
    this.#target.finish();
  }

  abandon(): void {
    this.#target.abandon();
  }

  #flush(): void {
    if (this.#batch !== "") this.#target.write(this.#batch);
    this.#batch = "";
  }
}
