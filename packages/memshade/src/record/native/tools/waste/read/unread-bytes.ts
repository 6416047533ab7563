import { spawnSync } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { UserError } from "../../../../../ground/bytes/errors.ts";
import { threadStacks } from "../../working-set/read/address-regions.ts";
import { ADDRESS_BITS, ARENA, SHADOW_BITS, TABLES_END } from "../layout.ts";
import { type CountedPart, UNREAD_COUNTS_BYTES, unreadReaderProgram } from "./unread-reader-program.ts";

/** Where a process's bytes are that may be unread. */
export interface ProcessPlaces {
  /** What it had mapped last, as the kernel tells it; empty: nobody knows. */
  maps: string;
  /** An address near the upper end of the first thread's stack; 0: not known. */
  stackTop: number;
  /** The stack is followed. */
  isStackFollowed: boolean;
  /** A folder in which programs may lie. */
  programs: string;
}

const EXECUTABLE = 0o755;
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) ..(.)(.) \S+ \S+ \d+\s*(.*)$/;
/** In the file, the tables are in front of the words. */
const WORDS_AT = TABLES_END - ARENA;
const PAGE_BYTES = 0x1000;
/** The first thread's stack may grow by so much; the system keeps others off there. */
const MOST_STACK_BYTES = 120 * 2 ** 20;
const ABOVE_STACK_BYTES = 2 ** 20;

/**
 * Bytes that nobody has read since they were written, by the ids of the stores that wrote them. Of what others may see still, shared
 * mappings, nothing counts, nor of stacks that are not followed.
 *
 * @param counts path of the file that the process shares
 */
export function unreadBytes(counts: string, places: ProcessPlaces): Float64Array {
  const parts: CountedPart[] = [
    { from: WORDS_AT, to: WORDS_AT + 2 ** SHADOW_BITS, sign: 1 },
    ...leftOut(counts, places).map(
      ({ start, end }): CountedPart => ({
        from: WORDS_AT + wordOf(start),
        to: WORDS_AT + wordOf(end),
        sign: -1,
      }),
    ),
  ];
  const program = join(places.programs, "unread-reader");
  writeFileSync(program, unreadReaderProgram(parts), { mode: EXECUTABLE });
  const file = openSync(counts, "r");
  try {
    const { status, stdout, error } = spawnSync(program, [], {
      stdio: [file, "pipe", "ignore"],
      maxBuffer: 2 * UNREAD_COUNTS_BYTES,
    });
    if (status !== 0 || stdout.length !== UNREAD_COUNTS_BYTES)
      throw new UserError(
        `what nobody has read could not be counted: ${error?.message ?? `${counts} is not readable`}`,
      );
    const words = new BigInt64Array(new Uint8Array(stdout).buffer);
    return Float64Array.from(words, Number);
  } finally {
    closeSync(file);
  }
}

/** Distance of an address's words from the first one. */
function wordOf(address: number): number {
  return 2 * (address % 2 ** ADDRESS_BITS);
}

function leftOut(
  counts: string,
  { maps, stackTop, isStackFollowed }: ProcessPlaces,
): { start: number; end: number }[] {
  const ranges = maps.split("\n").flatMap((line) => {
    const [, from, to, , sharing, path] = MAPPING.exec(line) ?? [];
    // Our own files are shared, too, and no memory of the program's.
    if (sharing !== "s" || path.startsWith(dirname(counts))) return [];
    return [{ start: Number.parseInt(from, 16), end: Number.parseInt(to, 16) }];
  });
  if (isStackFollowed) return ranges;
  ranges.push(...threadStacks(maps));
  if (stackTop > 0) {
    const top = stackTop - (stackTop % PAGE_BYTES);
    ranges.push({ start: top - MOST_STACK_BYTES, end: top + ABOVE_STACK_BYTES });
  }
  return ranges;
}
