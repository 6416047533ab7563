import { readSync, writeSync } from "node:fs";
import { UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { printableOutput } from "../profile/model/printable.ts";

const CHUNK_BYTES = 1 << 16;
const RETRY_MS = 2;
const PENDING_CHARACTERS = 1 << 12;

/**
 * Passes the lines of standard input to `handle` as they arrive, so that each answer comes before the next
 * question. Uses blocking reads, which need no streams.
 */
export function forEachInputLine(handle: (lines: readonly string[]) => void): void {
  const chunk = new Uint8Array(CHUNK_BYTES);
  const decoder = new TextDecoder();
  let rest = "";
  for (let count = readSome(chunk); count > 0; count = readSome(chunk)) {
    const lines = (rest + decoder.decode(chunk.subarray(0, count), { stream: true })).split("\n");
    rest = lines.pop()!;
    if (lines.length > 0) handle(lines);
  }
  if (rest !== "") handle([rest]);
}

function readSome(chunk: Uint8Array): number {
  for (;;)
    try {
      return readSync(0, chunk);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EOF") return 0;
      if (code !== "EAGAIN") throw error;
      pause();
    }
}

/** Collects text for standard output in one buffer, because many pieces of text cost much more memory. */
export class OutputBuffer {
  #bytes = Buffer.allocUnsafeSlow(1 << 18);
  #length = 0;
  #pending = "";

  add(text: string): void {
    this.#pending += text;
    if (this.#pending.length >= PENDING_CHARACTERS) this.#encode();
  }

  #encode(): void {
    this.#pending = printableOutput(this.#pending);
    // A character takes three bytes at most.
    const most = this.#pending.length * 3;
    if (this.#length + most > this.#bytes.length) {
      this.#write();
      if (most > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(most);
    }
    this.#length += this.#bytes.write(this.#pending, this.#length);
    this.#pending = "";
  }

  flush(): void {
    this.#encode();
    this.#write();
  }

  #write(): void {
    writeOutputBytes(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
  }
}

/**
 * Writes text to standard output as a stream. Control characters are escaped for terminals
 * (`printableOutput`).
 */
export function print(text: string): void {
  process.stdout.write(printableOutput(text));
}

/** Like `print`, but writes at once. Ends the process silently if the reader is gone. */
export function writeOutput(text: string): void {
  writeOutputBytes(Buffer.from(printableOutput(text)));
}

function writeOutputBytes(bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; )
    try {
      written += writeSync(1, bytes, written);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EPIPE") process.exit(process.exitCode);
      if (code !== "EAGAIN") throw new UserError(`cannot write the output: ${describeSystemError(error)}`);
      pause();
    }
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
}
