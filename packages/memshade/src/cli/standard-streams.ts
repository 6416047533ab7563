import { UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { explainFailure } from "./failures.ts";

const STREAMS = ["stdin", "stdout", "stderr"] as const;

/**
 * Hides `process.stdin`, `stdout` and `stderr`. They are opened by being looked at, also by Node's own modules, and
 * opening a pipe switches it to non-blocking mode, for every process that shares it: the profiled program would find
 * its reads and writes refused.
 *
 * @returns a function that brings them back.
 */
export function hideStandardStreams(): () => void {
  const hidden = STREAMS.map((name) => [name, Object.getOwnPropertyDescriptor(process, name)!] as const);
  for (const [name] of hidden) Object.defineProperty(process, name, { value: undefined, configurable: true });
  return () => {
    for (const [name, property] of hidden) Object.defineProperty(process, name, property);
  };
}

/**
 * Ends this process quietly when the reader of its output has gone, as in `memshade report DIR | head`, and in a line when the
 * output cannot be written.
 */
export function endWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(process.exitCode);
    process.exit(explainFailure(new UserError(`cannot write the output: ${describeSystemError(error)}`)));
  });
}
