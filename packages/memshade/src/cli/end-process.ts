/**
 * Ends this process after a program has run: threads of the program may still be there. Only for commands that print
 * nothing to stdout themselves, as that might not have reached its reader yet.
 */
export function endProcess(code: number): never {
  process.exit(code);
}
