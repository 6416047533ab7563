import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { COUNTERS as SHADOW } from "../../packages/memshade/src/record/native/layout.ts";
import { inPlaceOf, type Mount } from "./namespace.ts";

const ROUNDS = 1_000_000;
/** A round reads a word, writes a word, and reads and writes a third; every other round writes a byte. */
const HEAP_ACCESSES = ROUNDS * 4 + ROUNDS / 2;

/**
 * Checks the counters of a program with a known number of accesses: its heap must have exactly that number, its stack
 * and static data none.
 * @param mountsOf replacements of a command's files; this command crashes without them
 * @returns the counts as a sentence
 */
export function checkCounters(
  folder: string,
  mountsOf: (command: readonly string[]) => readonly Mount[],
): string {
  const program = join(folder, "known-count");
  const source = join(import.meta.dirname, "known-count.c");
  const options = ["-O2", "-fomit-frame-pointer", `-DSHADOW=${SHADOW}ul`, `-DROUNDS=${ROUNDS}`];
  const build = spawnSync("gcc", [...options, source, "-o", program], { encoding: "utf8" });
  if (build.error !== undefined) return "SKIPPED: there is no gcc to build the check of the counters with";
  if (build.status !== 0) throw new Error(`known-count.c does not compile: ${build.stderr}`);
  const [first, ...rest] = [...inPlaceOf(mountsOf([program])), program];
  const { stdout, stderr, status, signal } = spawnSync(first, rest, { encoding: "utf8" });
  const expected = `${HEAP_ACCESSES} 0 0\n`;
  if (stdout !== expected)
    throw new Error(
      `the counters say ${JSON.stringify(stdout)}, not ${JSON.stringify(expected)} (${signal ?? status}) ${stderr}`,
    );
  return `The counters of a program with ${HEAP_ACCESSES} accesses of its heap say ${HEAP_ACCESSES}, and those of its stack and static data 0.`;
}
