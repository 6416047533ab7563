import { writeSync } from "node:fs";
import { relative } from "node:path";
import { printable } from "../../../profile/model/printable.ts";
import { quoteForShell } from "../../../profile/model/shell-words.ts";

/**
 * Writes one line to stderr, at once and without `process.stderr`: a program that shares the terminal or pipe must not
 * find it switched to non-blocking mode. Unprintable characters are replaced.
 */
export function say(line: string): void {
  sayLines([line]);
}

/** Writes several lines, such as those of a stack. */
export function sayLines(lines: readonly string[]): void {
  const text = `memshade: ${lines.map((line) => `${printable(line)}\n`).join("")}`;
  const bytes = new TextEncoder().encode(text);
  for (let at = 0, refused = 0; at < bytes.length && refused < 1000; )
    try {
      at += writeSync(2, bytes, at);
    } catch (error) {
      // EAGAIN: a non-blocking pipe is full because its reader is slow. Other errors mean that there is no reader.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      refused++;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
}

/** Prints the folder of a profile and the command to see it, relative to the folder where memshade was started. */
export function sayWritten(folder: string, cwd: string, what: "profile" | "dump"): void {
  const shown = quoteForShell(fromHere(folder, cwd));
  say(`${what} written to ${shown}; see it with: memshade report ${shown}`);
}

/** Returns a folder's path relative to `cwd`. */
export function fromHere(folder: string, cwd: string): string {
  const path = relative(cwd, folder);
  return path === "" || path.startsWith("..") ? folder : path;
}
