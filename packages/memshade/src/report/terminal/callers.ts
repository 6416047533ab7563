import { type CallerNode, callerTree } from "../../analyses/caller-tree.ts";
import type { HeapProfile } from "../../model/heap-profile.ts";
import type { IndexIntoContextTable, IndexIntoFrameTable } from "../../model/indices.ts";
import { framesOfContext } from "../../model/stacks.ts";
import { formatPercent, plural } from "../format.ts";
import { describeFrame } from "../frames.ts";
import { compactName } from "./names.ts";
import type { Screen } from "./screen.ts";
import { cutMiddle, displayWidth } from "./text.ts";

/** Callers below this part of their site are counted, not shown. */
const SMALLEST_PART = 0.05;
const LINES_PER_CHAIN = 2;
const LONGEST_NAME = 40;

/**
 * The callers of a site, innermost first, as a tree: frames with a single caller follow each other on a
 * line, a fork gets a branch for each caller with its part of the site.
 *
 *     ← fetchPage ← readPage
 *     ├ 80.0 % ← moveToRoot ← step ← main
 *     └ 20.0 % ← balance ← … 5 more ← main
 *
 * At most `lineLimit` lines, unless the screen is wide.
 */
export function callerLines(
  screen: Screen,
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
  values: ArrayLike<number>,
  indent: number,
  lineLimit: number,
): string[] {
  const total = contexts.reduce((sum, context) => sum + values[context]!, 0);
  const callers = callerTree(profile, contexts, values);
  if (callers.length === 0) {
    return pathLine(screen, profile, contexts[0]!, indent);
  }
  const lines = new CallerTreeLines(screen, profile, total).lines(callers, total, " ".repeat(indent));
  if (screen.isWide || lines.length <= lineLimit) {
    return lines;
  }
  screen.isShortened = true;
  return [...lines.slice(0, lineLimit - 1), `${" ".repeat(indent)}└ … more callers`];
}

/** The heaviest call path of a site on one line, and how many more there are; on a wide screen all of them. */
export function heaviestPathLine(
  screen: Screen,
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
  values: ArrayLike<number>,
  indent: number,
): string[] {
  if (screen.isWide) {
    return callerLines(screen, profile, contexts, values, indent, Number.POSITIVE_INFINITY);
  }
  const weighty = contexts.filter((context) => values[context]! > 0);
  const heaviest = weighty.reduce((best, context) => (values[context]! > values[best]! ? context : best));
  const others = weighty.length - 1;
  if (others > 0) {
    screen.isShortened = true;
  }
  return pathLine(screen, profile, heaviest, indent, others === 0 ? "" : `  (+${plural(others, "path")})`);
}

/** The callers of one context on one line, with a remark at its end. */
export function pathLine(
  screen: Screen,
  profile: HeapProfile,
  context: IndexIntoContextTable,
  indent: number,
  remark = "",
): string[] {
  const frames = framesOfContext(profile, context);
  const margin = " ".repeat(indent);
  if (frames.length === 0) {
    return [];
  }
  if (frames.length === 1) {
    return [`${margin}${rootInWords(profile)}${remark}`];
  }
  const lines = chainLines(screen, profile, frames.slice(1), margin, margin, 1, displayWidth(remark));
  return [...lines.slice(0, -1), lines.at(-1)! + remark];
}

function rootInWords({ description }: HeapProfile): string {
  return description.program === undefined ? "no caller recorded" : "called by the host";
}

class CallerTreeLines {
  private readonly screen: Screen;
  private readonly profile: HeapProfile;
  private readonly total: number;

  constructor(screen: Screen, profile: HeapProfile, total: number) {
    this.screen = screen;
    this.profile = profile;
    this.total = total;
  }

  /** Lines for `callers` of something that weighs `value`, of which a rest may have no caller. */
  lines(callers: readonly CallerNode[], value: number, margin: string): string[] {
    const [only] = callers;
    if (only !== undefined && only.value === value) {
      return this.chain(only, margin, margin);
    }
    if (only === undefined) {
      return [];
    }
    const parts = this.screen.isWide
      ? callers
      : callers.filter((caller) => caller.value >= SMALLEST_PART * this.total);
    const branches = parts.map(
      (caller) => (first: string, rest: string) =>
        this.chain(caller, `${first}${this.percent(caller.value)} `, rest),
    );
    const withoutCaller = value - callers.reduce((sum, caller) => sum + caller.value, 0);
    if (withoutCaller > 0) {
      branches.push((first) => [`${first}${this.percent(withoutCaller)} ${rootInWords(this.profile)}`]);
    }
    const hidden = callers.length - parts.length;
    if (hidden > 0) {
      this.screen.isShortened = true;
      const hiddenValue = callers.slice(-hidden).reduce((sum, caller) => sum + caller.value, 0);
      const noun = hidden === 1 ? "caller" : "callers";
      branches.push((first) => [`${first}${this.percent(hiddenValue)} ${hidden} more ${noun}`]);
    }
    return branches.flatMap((branch, index) =>
      index < branches.length - 1
        ? branch(`${margin}├ `, `${margin}│ `)
        : branch(`${margin}└ `, `${margin}  `),
    );
  }

  private chain(start: CallerNode, first: string, margin: string): string[] {
    const frames = [start.frame];
    let node = start;
    while (node.callers.length === 1 && node.callers[0]!.value === node.value) {
      node = node.callers[0]!;
      frames.push(node.frame);
    }
    const hanging = margin + " ".repeat(displayWidth(first) - displayWidth(margin));
    return [
      ...chainLines(this.screen, this.profile, frames, first, hanging, LINES_PER_CHAIN, 0),
      ...this.lines(node.callers, node.value, margin),
    ];
  }

  private percent(value: number): string {
    return formatPercent(value, this.total);
  }
}

/** `← a ← b ← c` in at most `lineLimit` lines; what does not fit is left out before the last frame. */
function chainLines(
  screen: Screen,
  profile: HeapProfile,
  frames: readonly IndexIntoFrameTable[],
  first: string,
  hanging: string,
  lineLimit: number,
  reservedWidth: number,
): string[] {
  const nameOf = (frame: IndexIntoFrameTable) => describeFrame(profile, frame).function;
  if (screen.isWide) {
    return frames.map((frame, index) => `${index === 0 ? first : hanging}← ${screen.fit(nameOf(frame), 0)}`);
  }
  const room = screen.width - displayWidth(first) - reservedWidth;
  const words = frames.map((frame) => {
    const name = nameOf(frame);
    return `← ${cutMiddle(compactName(name), Math.min(LONGEST_NAME, Math.max(8, room - 2)))}`;
  });
  for (let kept = words.length; ; kept--) {
    const left = words.length - kept;
    const shown =
      left === 0
        ? words
        : kept <= 1
          ? [...words.slice(0, kept), `← … ${left} more`]
          : [...words.slice(0, kept - 1), `← … ${left} more`, words.at(-1)!];
    const lines = fillLines(shown, room);
    if (lines.length <= lineLimit || kept <= 1) {
      if (left > 0) {
        screen.isShortened = true;
      }
      return lines.slice(0, lineLimit).map((line, index) => (index === 0 ? first : hanging) + line);
    }
  }
}

function fillLines(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && displayWidth(last) + 1 + displayWidth(word) <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines;
}
