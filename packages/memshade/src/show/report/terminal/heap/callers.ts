import { type CallerNode, callerTree } from "../../../../explain/analyses/caller-tree.ts";
import { isLibraryCaller, START_UP } from "../../../../explain/analyses/frames/libraries.ts";
import { bareName, compactName, shortPlace } from "../../../../explain/analyses/frames/place-names.ts";
import { counted } from "../../../../profile/model/counted.ts";
import { formatPercent, plural } from "../../../../profile/model/format.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable, IndexIntoFrameTable } from "../../../../profile/model/indices.ts";
import { isOfNativeProgram } from "../../../../profile/model/known-fields.ts";
import { siteFrameOfContext, siteStackOfContext } from "../../../../profile/model/site-frame.ts";
import { framesOfStack } from "../../../../profile/model/stacks.ts";
import { describeFrame, type FrameDescription, ofModule } from "../../frames.ts";
import { fillLines, foldLibraries } from "../common/call-path.ts";
import { type Screen, shortenName } from "../common/screen.ts";
import { displayWidth, printable, wrapWords } from "../common/text.ts";
import { placeInWords } from "./site-names.ts";

/** Callers with a smaller part of their site are counted, not shown. */
const SMALLEST_PART = 0.05;
const LINES_PER_CHAIN = 2;
const LONGEST_NAME = 36;

/**
 * Formats the callers of a site, innermost first, as a tree. Frames with a single caller share a line; a fork
 * gets a branch per caller, with its part of the site.
 *
 *     ← fetchPage (pager.c:88) ← readPage (pager.c:140)
 *     ├ 80.0 % ← moveToRoot (btree.c:12) ← … 3 more ← main (shell.c:9)
 *     └ 20.0 % ← balance (btree.c:70) ← … 5 more ← main (shell.c:9)
 *
 * Prints at most `lineLimit` lines, or the limit of a wide screen. The heaviest branches come first; "…"
 * marks a fork that is left out.
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
  const site = siteFrameOfContext(profile, contexts[0]!);
  const callers = callerTree(profile, contexts, values);
  if (callers.length === 0) return pathLine(screen, profile, contexts[0]!, indent);
  const margin = " ".repeat(indent);
  const draw = (isShown: (caller: CallerNode) => boolean) =>
    new CallerTreeLines(screen, profile, total, isShown).lines(callers, site, total, margin);
  const allLines = screen.isWide ? draw(() => true) : [];
  if (screen.isWide && allLines.length <= screen.callerLines) return allLines;
  const mostLines = screen.isWide
    ? screen.callerLines
    : screen.allFrames
      ? Number.POSITIVE_INFINITY
      : lineLimit;
  const shown = new Set<CallerNode>();
  const candidates = [...forkAbove(callers, total)];
  for (;;) {
    const heaviest = candidates.sort((a, b) => a.value - b.value).pop();
    if (heaviest === undefined || (!screen.isWide && heaviest.value < SMALLEST_PART * total)) break;
    shown.add(heaviest);
    if (draw((caller) => shown.has(caller)).length > mostLines) {
      shown.delete(heaviest);
      break;
    }
    candidates.push(...forkAbove(heaviest.callers, heaviest.value));
  }
  const lines = draw((caller) => shown.has(caller));
  return screen.isWide ? screen.bounded(lines, margin, allLines.length) : lines;
}

/** Returns the branches of the next fork outwards, past levels with a single caller. */
function forkAbove(callers: readonly CallerNode[], value: number): readonly CallerNode[] {
  let level = callers;
  while (level.length === 1 && level[0]!.value === value) level = level[0]!.callers;
  return level;
}

/** Columns before the lines below a site. */
export const DETAIL_INDENT = 6;

/**
 * Formats one line: facts, the heaviest call path of a site, and the number of other paths. A wide screen
 * shows the tree of all paths below the facts.
 */
export function heaviestPathLine(
  screen: Screen,
  profile: HeapProfile,
  contexts: readonly IndexIntoContextTable[],
  values: ArrayLike<number>,
  facts = "",
): string[] {
  if (screen.isWide) {
    const tree = callerLines(screen, profile, contexts, values, DETAIL_INDENT, Number.POSITIVE_INFINITY);
    return facts === "" ? tree : [" ".repeat(DETAIL_INDENT) + facts, ...tree];
  }
  const weighty = contexts.filter((context) => values[context]! > 0);
  const heaviest = weighty.reduce((best, context) => (values[context]! > values[best]! ? context : best));
  const otherCount = new Set(weighty.map((context) => profile.contexts.stack[context])).size - 1;
  if (otherCount > 0) screen.isShortened = true;
  return pathLine(
    screen,
    profile,
    heaviest,
    DETAIL_INDENT,
    facts,
    otherCount === 0 ? "" : `  (+${plural(otherCount, "path")})`,
  );
}

/** Formats the callers of one context on one line (several on a wide screen), between facts and a remark. */
export function pathLine(
  screen: Screen,
  profile: HeapProfile,
  context: IndexIntoContextTable,
  indent: number,
  facts = "",
  remark = "",
): string[] {
  const path = framesOfStack(profile, siteStackOfContext(profile, context));
  const [site, ...callers] = path;
  const shown = screen.isWide ? callers : withoutStartUp(profile, site, callers);
  const margin = " ".repeat(indent);
  const first = facts === "" ? margin : `${margin}${facts} `;
  if (shown.length === 0) {
    const isKnown = path.length !== 1 || profile.frames.host?.[site!] !== undefined;
    const root = isKnown ? "" : `${facts === "" ? "" : "· "}${rootInWords(profile)}`;
    if (facts + root + remark === "") return [];
    const line = first + (facts + root === "" ? remark.trimStart() : root + remark);
    const fits = facts === "" || screen.isWide || displayWidth(line) <= screen.width;
    return fits ? [line] : [...factLines(screen, facts, margin), `${margin}${(root + remark).trimStart()}`];
  }
  const place = { first, hanging: margin, lineLimit: 1, reservedWidth: displayWidth(remark) };
  const whole = wordsOf(screen, profile, describedFrames(profile, shown), Number.POSITIVE_INFINITY).join(" ");
  // A path that does not fit behind the facts gets a line of its own.
  const isApart = facts !== "" && !screen.isWide && displayWidth(first + whole + remark) > screen.width;
  const lines = isApart
    ? [
        ...factLines(screen, facts, margin),
        ...chainLines(screen, profile, shown, { ...place, first: margin }),
      ]
    : chainLines(screen, profile, shown, place);
  const linesWithRemark = [...lines.slice(0, -1), lines.at(-1)! + remark];
  return screen.isWide ? screen.bounded(linesWithRemark, margin) : linesWithRemark;
}

/** Returns facts that stand apart from the path, on as many lines as the screen needs. */
function factLines(screen: Screen, facts: string, margin: string): string[] {
  return wrapWords(facts, screen.width - margin.length).map((line) => margin + line);
}

function rootInWords(profile: HeapProfile): string {
  const { program, importedFrom } = profile.description;
  const isRun = program !== undefined && importedFrom === undefined && !isOfNativeProgram(profile);
  return isRun ? "called by the host" : "no caller recorded";
}

class CallerTreeLines {
  readonly #screen: Screen;
  readonly #profile: HeapProfile;
  readonly #total: number;
  readonly #isShown: (caller: CallerNode) => boolean;

  constructor(screen: Screen, profile: HeapProfile, total: number, isShown: (caller: CallerNode) => boolean) {
    this.#screen = screen;
    this.#profile = profile;
    this.#total = total;
    this.#isShown = isShown;
  }

  /**
   * Returns lines for `callers` of a frame with the amount `value`. Part of the amount may have no caller.
   */
  lines(
    callers: readonly CallerNode[],
    inner: IndexIntoFrameTable | undefined,
    value: number,
    margin: string,
  ): string[] {
    const [only] = callers;
    if (only !== undefined && only.value === value) return this.#chain(only, inner, margin, margin);
    if (only === undefined) return [];
    const parts = callers.filter(this.#isShown);
    const branches = parts.map(
      (caller) => (first: string, rest: string) =>
        this.#chain(caller, inner, `${first}${this.#percent(caller.value)} `, rest),
    );
    const withoutCaller = value - callers.reduce((sum, caller) => sum + caller.value, 0);
    if (withoutCaller > 0)
      branches.push((first) => [`${first}${this.#percent(withoutCaller)} ${rootInWords(this.#profile)}`]);
    const hidden = callers.length - parts.length;
    if (hidden > 0) {
      this.#screen.isShortened = true;
      const hiddenValue = callers.slice(-hidden).reduce((sum, caller) => sum + caller.value, 0);
      branches.push((first) => [`${first}${this.#percent(hiddenValue)} ${counted(hidden, "more caller")}`]);
    }
    return branches.flatMap((branch, index) =>
      index < branches.length - 1
        ? branch(`${margin}├ `, `${margin}│ `)
        : branch(`${margin}└ `, `${margin}  `),
    );
  }

  #chain(start: CallerNode, inner: IndexIntoFrameTable | undefined, first: string, margin: string): string[] {
    const frames = [start.frame];
    let node = start;
    while (node.callers.length === 1 && node.callers[0]!.value === node.value) {
      node = node.callers[0]!;
      frames.push(node.frame);
    }
    if (node.callers.length === 0 && !this.#screen.isWide) {
      const shown = withoutStartUp(this.#profile, inner, frames).length;
      if (shown < frames.length && first === margin && shown === 0) return [];
      frames.splice(Math.max(shown, 1));
    }
    const hanging = margin + " ".repeat(displayWidth(first) - displayWidth(margin));
    const isForkHidden = node.callers.length > 0 && !node.callers.some(this.#isShown);
    const end = isForkHidden ? " ← …" : "";
    const place = { first, hanging, lineLimit: LINES_PER_CHAIN, reservedWidth: end.length };
    const chain = chainLines(this.#screen, this.#profile, frames, place);
    if (isForkHidden) {
      this.#screen.isShortened = true;
      return [...chain.slice(0, -1), chain.at(-1)! + end];
    }
    return [...chain, ...this.lines(node.callers, node.frame, node.value, margin)];
  }

  #percent(value: number): string {
    return formatPercent(value, this.#total);
  }
}

/** Layout of a chain. */
interface ChainPlace {
  /** Prefix of the first line; `hanging` is the prefix of the others. */
  first: string;
  hanging: string;
  lineLimit: number;
  /** Columns to leave free after the chain. */
  reservedWidth: number;
}

/** Describes frames. Runs of frames of one library become the library's name. */
function describedFrames(
  profile: HeapProfile,
  frames: readonly IndexIntoFrameTable[],
): (FrameDescription | string)[] {
  return foldLibraries(frames.map((frame) => describeFrame(profile, frame)));
}

/**
 * Formats `← a (a.c:1)` for each frame. A word that is wider than `width` loses its module and mark, then its location.
 * The function's own name is never cut.
 */
function wordsOf(
  screen: Screen,
  profile: HeapProfile,
  frames: readonly (FrameDescription | string)[],
  width: number,
): string[] {
  return frames.map((frame) => {
    if (typeof frame === "string") return `← [${frame}]`;
    const place = shortPlace(frame);
    const source = place === undefined ? "" : ` (${printable(place)})`;
    const after = printable(ofModule(profile, frame)) + source + markOf(frame);
    const most = Math.min(LONGEST_NAME, Math.max(8, width - 2 - displayWidth(after)));
    const name = screen.shorten(
      frame.function,
      (columns) =>
        shortenName(
          frame.file === undefined ? compactName(frame.function) : bareName(frame.function),
          columns,
        ),
      most,
    );
    const forms = [`← ${name}${after}`, `← ${name}${source}`, `← ${name}`];
    const fitting = screen.isWhole ? 0 : forms.findIndex((form) => displayWidth(form) <= width);
    if (fitting !== 0) screen.isShortened = true;
    return forms.at(fitting)!;
  });
}

/**
 * Formats `← a (a.c:1) ← b (b.c:2)` in at most `lineLimit` lines. Frames that do not fit are left out before
 * the outermost frame of the program's own code. Library frames between own frames become one word.
 */
function chainLines(
  screen: Screen,
  profile: HeapProfile,
  frames: readonly IndexIntoFrameTable[],
  { first, hanging, lineLimit, reservedWidth }: ChainPlace,
): string[] {
  if (screen.isWide)
    return frames.map((number, index) => {
      const frame = describeFrame(profile, number);
      const place = frame.file === undefined ? "" : ` (${placeInWords(profile, frame)})`;
      const name = screen.fit(frame.function, 0) + printable(ofModule(profile, frame));
      return `${index === 0 ? first : hanging}← ${name}${place}${markOf(frame)}`;
    });
  const room = screen.width - displayWidth(first) - reservedWidth;
  const described = describedFrames(profile, frames);
  const words = wordsOf(screen, profile, described, room);
  const wordOf = (frame: FrameDescription | string, width: number): string =>
    wordsOf(screen, profile, [frame], width)[0]!;
  // JavaScript's innermost caller carries most information; programs in other languages have a main function.
  const keepsInner = describeFrame(profile, frames[0]!).language === "JavaScript";
  for (let shownCount = words.length; ; shownCount--) {
    const hiddenCount = words.length - shownCount;
    const gap = `← … ${hiddenCount} more`;
    const isLeast = shownCount <= 1;
    const shown =
      hiddenCount === 0
        ? words
        : keepsInner
          ? [wordOf(described[0]!, room - displayWidth(gap) - 1), ...words.slice(1, shownCount), gap]
          : isLeast
            ? [gap, wordOf(described.at(-1)!, room - (lineLimit === 1 ? displayWidth(gap) + 1 : 0))]
            : [...words.slice(0, shownCount - 1), gap, words.at(-1)!];
    const lines = fillLines(shown, room);
    if (lines.length <= lineLimit || isLeast || screen.allFrames) {
      if (hiddenCount > 0) screen.isShortened = true;
      return lines.map((line, index) => (index === 0 ? first : hanging) + line);
    }
  }
}

function markOf({ inlined }: FrameDescription): string {
  return inlined === true ? " (inl)" : "";
}

/**
 * Returns the callers of a frame up to the outermost one of the program's own code. Start-up code that calls
 * no `main` may have it inlined.
 */
function withoutStartUp(
  profile: HeapProfile,
  inner: IndexIntoFrameTable | undefined,
  callers: readonly IndexIntoFrameTable[],
): readonly IndexIntoFrameTable[] {
  const { library } = profile.frames;
  const own = callers.slice(0, callers.findLastIndex((frame) => !isLibraryCaller(library?.[frame])) + 1);
  const last = own.at(-1) ?? inner;
  if (last === undefined || library === undefined || library[last] === START_UP) return own;
  const rest = callers.slice(own.length);
  const start =
    bareName(describeFrame(profile, last).function) === "main"
      ? -1
      : rest.findIndex((frame) => library[frame] === START_UP);
  return [...own, ...rest.slice(0, start + 1)];
}
