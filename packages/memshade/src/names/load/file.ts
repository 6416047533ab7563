import type { Stats } from "node:fs";
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import type { ByteSource } from "../../ground/bytes/byte-source.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { describeSystemError } from "../../ground/bytes/system-errors.ts";

export interface OpenFile extends ByteSource {
  close(): void;
}

const RETRY_MS = 2;

/**
 * Opens a regular file without blocking: a pipe without a writer could block forever, and a device might never end.
 *
 * @throws errors of the file system, and an error of the same kind for a file that is not regular
 */
export function openRegular(file: string): number {
  return openChecked(file, (status) => (status.isFile() ? undefined : "it is not a regular file"));
}

/**
 * Opens a file that the user named, like `openRegular`; pipes, such as the shell's process substitution, are
 * allowed. See `readPipe`.
 */
export function openInput(file: string): number {
  return openChecked(file, (status) =>
    status.isCharacterDevice() || status.isBlockDevice() ? "it is a device, and no file" : undefined,
  );
}

function openChecked(file: string, problemOf: (status: Stats) => string | undefined): number {
  // The check comes first, since opening some devices has side effects.
  assertNone(problemOf(statSync(file)));
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    assertNone(problemOf(fstatSync(descriptor)));
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  return descriptor;
}

function assertNone(problem: string | undefined): void {
  if (problem !== undefined) throw Object.assign(new Error(problem), { code: "EINVAL" });
}

/** Reads a pipe opened by `openInput` to its end; returns nothing if it has no writer. */
export function readPipe(descriptor: number): Buffer {
  const pieces: Uint8Array[] = [];
  for (;;) {
    const piece = Buffer.allocUnsafeSlow(1 << 16);
    try {
      const count = readSync(descriptor, piece);
      if (count === 0) return Buffer.concat(pieces);
      pieces.push(piece.subarray(0, count));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

export function readRegular(file: string): Buffer {
  return whole(openRegular(file));
}

export function readInput(file: string): Buffer {
  return whole(openInput(file));
}

function whole(descriptor: number): Buffer {
  try {
    const isPipe = fstatSync(descriptor).isFIFO();
    return isPipe ? readPipe(descriptor) : readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Opens a regular file.
 *
 * @throws UserError in one line if it does not exist or cannot be read
 */
export function openFile(file: string): OpenFile {
  const descriptor = explained(file, () => {
    if (statSync(file).isDirectory()) throw new UserError(`${file} is a directory`);
    return openRegular(file);
  });
  const source = descriptorSource(file, descriptor, fstatSync(descriptor).size);
  return { ...source, close: () => closeSync(descriptor) };
}

/** Returns a source for an open file, valid while it is open. `file` is its name in errors. */
export function descriptorSource(file: string, descriptor: number, size: number): ByteSource {
  return {
    size,
    read: (offset, length) =>
      explained(file, () => fill(descriptor, offset, newPiece(Math.min(length, size - offset)))),
    readInto: (offset, target) => explained(file, () => fill(descriptor, offset, target)),
  };
}

/** Number of files that sources keep open; a further one is reopened for each read. */
const MOST_OPEN = 16;

/** Open files of sources, the last one read at the end. */
const openFiles = new Map<ByteSource, OpenFile>();

/**
 * Returns a source for a file, without a limit on its use: the number of sources may exceed that of a process's
 * open files.
 */
export function fileSource(file: string): ByteSource {
  const opened = openFile(file);
  const source: ByteSource = {
    size: opened.size,
    read: (offset, length) => reopened(source, file).read(offset, length),
    readInto: (offset, target) => reopened(source, file).readInto!(offset, target),
  };
  keepOpen(source, opened);
  return source;
}

function reopened(source: ByteSource, file: string): OpenFile {
  const opened = openFiles.get(source) ?? openFile(file);
  keepOpen(source, opened);
  return opened;
}

function keepOpen(source: ByteSource, opened: OpenFile): void {
  openFiles.delete(source);
  openFiles.set(source, opened);
  if (openFiles.size <= MOST_OPEN) return;
  for (const [oldest, { close }] of openFiles) {
    openFiles.delete(oldest);
    close();
    return;
  }
}

/**
 * Reads a file.
 *
 * @throws UserError as `openFile`
 */
export function readWholeFile(file: string): Uint8Array {
  return explained(file, () => readRegular(file));
}

function newPiece(length: number): Uint8Array {
  return Buffer.allocUnsafeSlow(Math.max(0, length));
}

/** Fills a piece with the bytes at `offset`; returns fewer if the file ends or was shortened. */
function fill(descriptor: number, offset: number, piece: Uint8Array): Uint8Array {
  let filled = 0;
  while (filled < piece.length) {
    const count = readSync(
      descriptor,
      piece,
      filled,
      Math.min(piece.length - filled, 2 ** 30),
      offset + filled,
    );
    if (count === 0) break;
    filled += count;
  }
  return piece.subarray(0, filled);
}

function explained<T>(file: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof UserError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new UserError(`${file}: there is no such file`);
    if (code === "EISDIR") throw new UserError(`${file} is a directory`);
    throw new UserError(`${file} cannot be read: ${describeSystemError(error)}`);
  }
}
