/**
 * Ends this process after a program has run, whose threads may still exist. Only for commands that print
 * nothing to stdout themselves, because their output might be lost.
 */
export function endProcess(code: number): never {
  process.exit(code);
}
