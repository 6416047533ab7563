import { spawnSync } from "node:child_process";
import { isatty } from "node:tty";
import { UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import type { TextTarget } from "../show/report/terminal/common/screen.ts";
import { explainFailure } from "./failures.ts";

const STREAMS = ["stdin", "stdout", "stderr"] as const;

/**
 * Hides `process.stdin`, `stdout` and `stderr`. Access to these properties opens the streams, even by Node's
 * own modules. An opened pipe becomes non-blocking for all processes that share it, so the profiled program's
 * reads and writes would fail.
 *
 * @returns a function that restores the properties
 */
export function hideStandardStreams(): () => void {
  const hidden = STREAMS.map((name) => [name, Object.getOwnPropertyDescriptor(process, name)!] as const);
  for (const [name] of hidden) Object.defineProperty(process, name, { value: undefined, configurable: true });
  return () => {
    for (const [name, property] of hidden) Object.defineProperty(process, name, property);
  };
}

/**
 * Ends this process silently if the reader of its output is gone, as in `memshade report DIR | head`. Any
 * other write error ends it with a message.
 */
export function endWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(process.exitCode);
    process.exit(explainFailure(new UserError(`cannot write the output: ${describeSystemError(error)}`)));
  });
}

/** Returns what a descriptor is, without opening Node's stream of it: that would make a pipe non-blocking for all who share it. */
export function targetOf(descriptor: 1 | 2): TextTarget {
  if (!isatty(descriptor)) return { isTerminal: false };
  const { stdout } = spawnSync("stty", ["size"], { stdio: [descriptor, "pipe", "ignore"], encoding: "utf8" });
  const columns = Number(/ (\d+)/.exec(stdout ?? "")?.[1]);
  return { isTerminal: true, columns: columns > 0 ? columns : undefined };
}
