import fs from "node:fs";
import path from "node:path";
import { attempt } from "../ground/bytes/dispensable.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { WholeFile } from "../names/load/whole-file.ts";
import { printableOutput } from "../profile/model/printable.ts";
import { RUN_FILE, type Run } from "../profile/model/run.ts";
import { runOf } from "./run-of-folder.ts";

/** Characters of text that are written at once. */
const BATCH = 2 ** 16;

export interface Output {
  write(piece: string | Uint8Array): void;
  /** Completes the output: a file gets its name now. */
  finish(): void;
  /** Removes the part of a file that was written before an error. */
  abandon(): void;
}

/**
 * Writes to standard output, or to a file that gets its name only when it is complete.
 *
 * @param inputs files and run folders that are read and must not be overwritten, because a recording cannot
 * be repeated
 * @throws UserError if the file cannot be written, or is one of the inputs
 */
export async function writeOutput(
  file: string | undefined,
  action: (output: Output) => void | Promise<void>,
  inputs: readonly string[] = [],
): Promise<void> {
  if (file !== undefined && inputs.flatMap(filesOf).some((input) => isSame(input, file)))
    throw new UserError(`${file} is the input: write to another file`);
  const output = new BatchedOutput(file === undefined ? standardOutput : new WholeFile(file));
  try {
    await action(output);
    output.finish();
  } catch (error) {
    output.abandon();
    throw error;
  }
}

export function writePieces(
  file: string | undefined,
  pieces: Iterable<string | Uint8Array>,
  inputs: readonly string[] = [],
): Promise<void> {
  return writeOutput(
    file,
    (output) => {
      for (const piece of pieces) output.write(piece);
    },
    inputs,
  );
}

/** Returns the file itself, all recorded files of the run around it, and the programs that ran. */
function filesOf(input: string): string[] {
  const isFolder = fs.statSync(input, { throwIfNoEntry: false })?.isDirectory() === true;
  const folder = isFolder ? input : path.dirname(input);
  const run = isFolder || fs.existsSync(path.join(folder, RUN_FILE)) ? readableRun(folder) : undefined;
  if (run === undefined) return [input];
  const recorded = Object.values(run.files).filter((name) => typeof name === "string");
  const programs = run.modules.flatMap((module) => module.path ?? []);
  return [input, ...[RUN_FILE, ...recorded].map((name) => path.join(folder, name)), ...programs];
}

/** Returns undefined, too, if the run beside the file cannot be read. */
function readableRun(folder: string): Run | undefined {
  return attempt(() => runOf(folder), undefined);
}

function isSame(first: string, second: string): boolean {
  const [a, b] = [first, second].map((file) => fs.statSync(file, { throwIfNoEntry: false, bigint: true }));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev && a.isFile();
}

const standardOutput: Output = {
  write: (piece) => void process.stdout.write(typeof piece === "string" ? printableOutput(piece) : piece),
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
