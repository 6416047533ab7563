import { writeSync } from "node:fs";
import { relative } from "node:path";
import { printable } from "../../../profile/model/printable.ts";
import { quoteForShell } from "../../../profile/model/shell-words.ts";

/**
 * Writes one line of ours to stderr, at once and without touching `process.stderr`: a program that shares the
 * terminal or pipe must not find it switched to non-blocking mode. Names and paths in it need no cleaning.
 */
export function say(line: string): void {
  sayLines([line]);
}

/** The same of several lines, such as those of a stack. */
export function sayLines(lines: readonly string[]): void {
  const text = `memshade: ${lines.map((line) => `${printable(line)}\n`).join("")}`;
  const bytes = new TextEncoder().encode(text);
  for (let at = 0, refused = 0; at < bytes.length && refused < 1000; )
    try {
      at += writeSync(2, bytes, at);
    } catch (error) {
      // A full non-blocking pipe: its reader is slow. Anything else means that nobody listens.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      refused++;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
}

/** Where a profile went and what to type next to see it, as seen from the folder where memshade was started. */
export function sayWritten(folder: string, cwd: string, what: "profile" | "dump"): void {
  const shown = quoteForShell(fromHere(folder, cwd));
  say(`${what} written to ${shown}; see it with: memshade report ${shown}`);
}

/** A folder as somebody in `cwd` names it. */
export function fromHere(folder: string, cwd: string): string {
  const path = relative(cwd, folder);
  return path === "" || path.startsWith("..") ? folder : path;
}
