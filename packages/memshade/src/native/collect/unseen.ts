import { counted, groupDigits } from "../../model/counted.ts";
import { Control } from "../../tools/heap/layout.ts";
import { Header, Place } from "../layout.ts";

/**
 * Sentences about what the hooks did not see.
 *
 * @param notes sentences about the program's own allocator @param replacedBy path of the program that the process has replaced itself by
 */
export function unseen(view: DataView, notes: readonly string[], replacedBy?: string): string[] {
  const count = (field: number): number => Number(view.getBigUint64(field, true));
  const sentences: string[] = [];
  if (replacedBy !== undefined)
    sentences.push(
      `The program has replaced itself by ${replacedBy} (exec), of which nothing is recorded: run that one, or record both with --trace-children.`,
    );
  else if (notes.length === 0 && view.getBigUint64(Place.control + Control.allocations, true) === 0n)
    sentences.push(
      "No allocation was seen: the program makes none, has an allocator of its own, or has replaced itself by another program at once.",
    );
  const say = (number: number, one: string, many: string, rest: string): void => {
    if (number > 0) sentences.push(`${counted(number, one, many)} ${rest}`);
  };
  say(
    ...([count(Header.early), "call", "calls"] as const),
    "of the allocator came before anything could be recorded.",
  );
  say(
    ...([count(Header.unrecorded), "call", "calls"] as const),
    "of the allocator came from signal handlers or found the tables taken, and are not recorded.",
  );
  say(
    ...([count(Header.lostStacks), "stack", "stacks"] as const),
    "ended early, where no table says how code was called.",
  );
  say(
    ...([count(Header.cutStacks), "stack was", "stacks were"] as const),
    "deeper than is kept: their outermost frames are missing.",
  );
  say(
    ...([view.getUint32(Header.threadsRefused, true), "thread", "threads"] as const),
    "more than there is room for: what they allocate is not recorded.",
  );
  const large = count(Header.largeRanges);
  say(
    ...([large, "mapped range", "mapped ranges"] as const),
    `of 4 GiB and more ${large === 1 ? "is" : "are"} not among the blocks (${groupDigits(count(Header.largeRangeBytes) / 2 ** 30)} GiB, reserved as a rule).`,
  );
  if (view.getUint32(Header.parent, true) !== 0)
    sentences.push(
      "This process was forked: blocks that its parent had are its parent's, and their releases here are of blocks whose allocation was not seen.",
    );
  return sentences;
}
