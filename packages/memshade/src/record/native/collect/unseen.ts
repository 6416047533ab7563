import { counted, groupDigits } from "../../../profile/model/counted.ts";
import { Control } from "../../tools/heap/layout.ts";
import { Header, Place } from "../layout.ts";

/**
 * Sentences about what was not seen of a process, whatever is recorded of it.
 *
 * @param replacedBy path of the program that the process has replaced itself by
 */
export function unseen(view: DataView, replacedBy?: string): string[] {
  const refused = view.getUint32(Header.threadsRefused, true);
  return [
    ...(replacedBy === undefined
      ? []
      : [
          `The program has replaced itself by ${replacedBy} (exec), of which nothing is recorded: run that one, or record both with --trace-children.`,
        ]),
    ...some(
      count(view, Header.early),
      ["call", "calls"],
      "of the allocator came before anything could be recorded.",
    ),
    ...some(
      count(view, Header.unrecorded),
      ["call", "calls"],
      "of the allocator came from signal handlers or found the tables taken, and are not recorded.",
    ),
    ...some(
      view.getUint32(Header.foldedCalls, true),
      ["call", "calls"],
      "inside of recursion left out of new call paths, which were very many: these have the call that entered the recursion and the one that left it.",
    ),
    ...some(
      refused,
      ["thread", "threads"],
      "more than there is room for: what they allocate is not recorded.",
    ),
  ];
}

/**
 * Sentences about what of its blocks was not, where these are recorded.
 *
 * @param isNoneExpected whether it is told anyhow why there may be none
 */
export function unseenBlocks(view: DataView, isNoneExpected: boolean): string[] {
  const large = count(view, Header.largeRanges);
  return [
    ...(!isNoneExpected && count(view, Place.control + Control.allocations) === 0
      ? [
          "No allocation was seen: the program makes none, has an allocator of its own, or has replaced itself by another program at once.",
        ]
      : []),
    ...some(
      count(view, Header.lostStacks),
      ["stack", "stacks"],
      "ended early, where no table says how code was called.",
    ),
    ...some(
      count(view, Header.cutStacks),
      ["stack was", "stacks were"],
      "deeper than is kept: their outermost frames are missing.",
    ),
    ...some(
      large,
      ["mapped range", "mapped ranges"],
      `of 4 GiB and more ${large === 1 ? "is" : "are"} not among the blocks (${groupDigits(count(view, Header.largeRangeBytes) / 2 ** 30)} GiB, reserved as a rule).`,
    ),
    ...(view.getUint32(Header.parent, true) === 0
      ? []
      : [
          "This process was forked: blocks that its parent had are its parent's, and their releases here are of blocks whose allocation was not seen.",
        ]),
  ];
}

function count(view: DataView, field: number): number {
  return Number(view.getBigUint64(field, true));
}

/** One sentence where there are any. */
function some(number: number, [one, many]: readonly [string, string], rest: string): string[] {
  return number === 0 ? [] : [`${counted(number, one, many)} ${rest}`];
}
