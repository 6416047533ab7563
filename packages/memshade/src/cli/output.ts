import { WholeFile } from "../load/whole-file.ts";

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
 * Writes to standard output, or a file, which appears under its name only when it is whole.
 *
 * @throws UserError if the file cannot be written
 */
export async function writeOutput(
  file: string | undefined,
  action: (output: Output) => void | Promise<void>,
): Promise<void> {
  const output = new BatchedOutput(file === undefined ? standardOutput : new WholeFile(file));
  try {
    await action(output);
  } catch (error) {
    output.abandon();
    throw error;
  }
  output.finish();
}

/** The same for what comes in pieces. */
export function writePieces(file: string | undefined, pieces: Iterable<string | Uint8Array>): Promise<void> {
  return writeOutput(file, (output) => {
    for (const piece of pieces) output.write(piece);
  });
}

const standardOutput: Output = {
  write: (piece) => void process.stdout.write(piece),
  finish: () => {},
  abandon: () => {},
};

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
