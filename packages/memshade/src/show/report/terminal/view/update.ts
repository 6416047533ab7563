import type { CallNode } from "../../../../explain/call-tree/call-tree.ts";
import { type Finding, kindOf } from "../../../../explain/findings/index.ts";
import { bodyRows } from "./layout.ts";
import { findingText, frameText, type Key, keyLines } from "./texts.ts";
import { atPath, inwards, openedBelow, outwards, rowAtCursor, rowsOf, toggled } from "./tree-cursor.ts";
import type { TreeChoice, ViewModel } from "./view-model.ts";
import {
  allNodes,
  reveal,
  type Size,
  shownScreen,
  type TreeRow,
  type TreeScreen,
  treeScreen,
  type ViewScreen,
  type ViewState,
} from "./view-state.ts";

/** Returns the state after a key. */
export function update(model: ViewModel, state: ViewState, key: Key, size: Size): ViewState {
  const { message: _, ...quiet } = state;
  if (state.typed !== undefined) return typedKey(model, quiet, state.typed, key);
  const screen = shownScreen(state);
  const moved = movedCursor(model, screen, key, size);
  if (moved !== undefined) return shown(quiet, moved);
  switch (key) {
    case "q":
      return screen.kind === "help" ? back(quiet) : { ...quiet, isDone: true };
    case "escape":
    case "backspace":
      return back(quiet);
    case "?":
    case "h":
      return screen.kind === "help" ? quiet : pushed(quiet, { kind: "help", cursor: 0, top: 0 });
    case "/":
      return screen.kind === "help" ? quiet : { ...quiet, typed: "" };
    case "n":
    case "N":
      return searchAgain(model, quiet, key === "n" ? 1 : -1);
    case "f":
      return toFindings(model, quiet);
    case "t":
      return nextTool(model, quiet);
    case "enter":
      return entered(model, quiet);
    case "right":
      return screen.kind === "tree" ? shown(quiet, inwards(model, screen)) : entered(model, quiet);
    case "left":
      return screen.kind === "tree" ? shown(quiet, outwards(model, screen)) : back(quiet);
    default:
      return screen.kind === "tree" ? treeKey(model, quiet, screen, key) : quiet;
  }
}

function treeKey(model: ViewModel, state: ViewState, screen: TreeScreen, key: Key): ViewState {
  const { choice } = screen;
  switch (key) {
    case "e":
      return shown(state, openedBelow(model, screen));
    case "a":
      return toSource(model, state, screen);
    case "i":
      return otherTree(model, state, screen, { ...choice, isInverted: !choice.isInverted });
    case "s": {
      const { length } = model.stacks(choice).metrics;
      return otherTree(model, state, screen, { ...choice, metric: (choice.metric + 1) % length });
    }
    default:
      return state;
  }
}

/** Returns the screen with its cursor or text moved; undefined for keys that move nothing. */
function movedCursor(model: ViewModel, screen: ViewScreen, key: Key, size: Size): ViewScreen | undefined {
  const page = Math.max(1, bodyRows(size) - 1);
  const step = STEPS[key] ?? (key in PAGES ? PAGES[key]! * page : undefined);
  if (screen.kind === "source" && key in PAGES)
    return { ...screen, top: screen.top + PAGES[key]! * (page >> 1) };
  if (step === undefined) return undefined;
  const last = Math.max(0, rowCount(model, screen, size) - 1);
  const cursor = Math.max(0, Math.min(screen.cursor + step, last));
  // The text of another frame starts at its own line.
  const top = screen.kind === "source" && cursor !== screen.cursor ? 0 : screen.top;
  return { ...screen, cursor, top };
}

const STEPS: Readonly<Record<Key, number>> = {
  up: -1,
  k: -1,
  down: 1,
  j: 1,
  home: Number.NEGATIVE_INFINITY,
  g: Number.NEGATIVE_INFINITY,
  end: Number.POSITIVE_INFINITY,
  G: Number.POSITIVE_INFINITY,
};
const PAGES: Readonly<Record<Key, number>> = { pageup: -1, b: -1, pagedown: 1, " ": 1 };

function rowCount(model: ViewModel, screen: ViewScreen, size: Size): number {
  switch (screen.kind) {
    case "findings":
      return model.contents.findings.length;
    case "source":
      return screen.path.length;
    case "tree":
      return rowsOf(model, screen).length;
    case "help":
      return keyLines(size).length;
  }
}

/** Handles a key while a pattern is typed. */
function typedKey(model: ViewModel, { typed: _, ...state }: ViewState, typed: string, key: Key): ViewState {
  switch (key) {
    case "escape":
      return state;
    case "backspace":
      return typed === "" ? state : { ...state, typed: [...typed].slice(0, -1).join("") };
    case "enter":
      // An empty pattern repeats the last search, as in less.
      return searchAgain(model, typed === "" ? state : { ...state, pattern: typed }, 1);
    default:
      return { ...state, typed: [...key].length === 1 ? typed + key : typed };
  }
}

function searchAgain(model: ViewModel, state: ViewState, direction: 1 | -1): ViewState {
  const { pattern } = state;
  if (pattern === undefined) return { ...state, message: "No previous search: / begins one" };
  const screen = searched(model, shownScreen(state), pattern, direction);
  return screen === undefined ? { ...state, message: `Not found: ${pattern}` } : shown(state, screen);
}

function entered(model: ViewModel, state: ViewState): ViewState {
  const screen = shownScreen(state);
  switch (screen.kind) {
    case "findings": {
      const finding = model.contents.findings[screen.cursor];
      if (finding === undefined) return state;
      const { path } = finding.place;
      return pushed(state, { kind: "source", path, finding: screen.cursor, cursor: 0, top: 0 });
    }
    case "source":
      return screen.finding === undefined
        ? back(state)
        : toTree(model, state, model.contents.findings[screen.finding]!);
    case "tree":
      return shown(state, toggled(model, screen));
    case "help":
      return back(state);
  }
}

/** Shows the location of a finding in the call tree of its tool. */
function toTree(model: ViewModel, state: ViewState, finding: Finding): ViewState {
  const { tool, place } = finding;
  const { treeWeights, isOfVariable } = kindOf(finding);
  const tools = model.contents.stacks.map((stacks) => stacks.tool);
  const candidates = treeWeights.flatMap((key) =>
    [tool, ...tools].flatMap((name): TreeChoice[] => {
      const index = tools.indexOf(name);
      const metric =
        model.contents.stacks[index]?.metrics.findIndex((candidate) => candidate.key === key) ?? -1;
      return metric < 0 ? [] : [{ tool: index, metric, isInverted: false }];
    }),
  );
  for (const choice of candidates) {
    const at = atPath(model, treeScreen(model, choice), place.path);
    if (at !== undefined) return pushed(state, at);
  }
  const reason = isOfVariable ? "Static data has no allocation site" : "No call path leads there";
  return { ...state, message: `${reason}: t shows the call tree` };
}

function toSource(model: ViewModel, state: ViewState, screen: TreeScreen): ViewState {
  const rows = rowsOf(model, screen);
  const row = rows[screen.cursor];
  if (row === undefined) return state;
  const path: TreeRow[] = [row];
  for (let at = rows.indexOf(row); at >= 0 && path.at(-1)!.parent !== undefined; at--)
    if (rows[at]!.node === path.at(-1)!.parent) path.push(rows[at]!);
  const frames = path.map(({ node }) => node.frame);
  // Rows above a row of an inverted tree are the functions it called.
  const innermostFirst = screen.choice.isInverted ? frames.toReversed() : frames;
  const cursor = screen.choice.isInverted ? frames.length - 1 : 0;
  return pushed(state, { kind: "source", path: innermostFirst, finding: undefined, cursor, top: 0 });
}

/** Replaces a tree by another. The cursor stays on the same function if the other tree has it. */
function otherTree(model: ViewModel, state: ViewState, screen: TreeScreen, choice: TreeChoice): ViewState {
  const nextScreen = treeScreen(model, choice);
  const row = rowAtCursor(model, screen);
  return shown(
    state,
    (row === undefined ? undefined : atPath(model, nextScreen, [row.node.frame])) ?? nextScreen,
  );
}

function nextTool(model: ViewModel, state: ViewState): ViewState {
  const screen = shownScreen(state);
  const { stacks } = model.contents;
  if (screen.kind !== "tree")
    return pushed(state, treeScreen(model, { tool: 0, metric: 0, isInverted: false }));
  if (stacks.length === 1) return { ...state, message: `Only ${stacks[0]!.tool} has call paths` };
  const tool = (screen.choice.tool + 1) % stacks.length;
  return shown(state, treeScreen(model, { tool, metric: 0, isInverted: screen.choice.isInverted }));
}

function toFindings(model: ViewModel, state: ViewState): ViewState {
  const at = state.screens.findIndex(({ kind }) => kind === "findings");
  if (at >= 0) return { ...state, screens: state.screens.slice(0, at + 1) };
  if (model.contents.findings.length === 0) return { ...state, message: "No findings" };
  return { ...state, screens: [{ kind: "findings", cursor: 0, top: 0 }] };
}

function shown(state: ViewState, screen: ViewScreen): ViewState {
  return { ...state, screens: [...state.screens.slice(0, -1), screen] };
}

function pushed(state: ViewState, screen: ViewScreen): ViewState {
  return { ...state, screens: [...state.screens, screen] };
}

function back(state: ViewState): ViewState {
  return state.screens.length === 1 ? state : { ...state, screens: state.screens.slice(0, -1) };
}

type Direction = 1 | -1;

/**
 * Moves the cursor to the next row that matches the pattern, wrapping around the end; undefined if no row
 * matches.
 */
function searched<Screen extends ViewScreen>(
  model: ViewModel,
  screen: Screen,
  pattern: string,
  direction: Direction,
): ViewScreen | undefined {
  const matches = matcherOf(pattern);
  switch (screen.kind) {
    case "findings": {
      const texts = model.contents.findings.map(findingText);
      return withCursor(screen, nextOf(texts.map(matches), screen.cursor, direction));
    }
    case "source":
      return withCursor(
        screen,
        nextOf(
          screen.path.map((frame) => matches(frameText(frame))),
          screen.cursor,
          direction,
        ),
      );
    case "tree":
      return searchedTree(model, screen, matches, direction);
    case "help":
      return undefined;
  }
}

/** Matches like less -i: a pattern with a capital letter is case-sensitive. */
function matcherOf(pattern: string): (text: string) => boolean {
  if (pattern !== pattern.toLowerCase()) return (text) => text.includes(pattern);
  return (text) => text.toLowerCase().includes(pattern);
}

function withCursor(screen: ViewScreen, cursor: number | undefined): ViewScreen | undefined {
  return cursor === undefined ? undefined : { ...screen, cursor };
}

function nextOf(matches: readonly boolean[], from: number, direction: Direction): number | undefined {
  const { length } = matches;
  for (let step = 1; step <= length; step++) {
    const at = (from + direction * step + length * step) % length;
    if (matches[at]) return at;
  }
  return undefined;
}

/** Searches nodes in closed parts of the tree too. */
function searchedTree(
  model: ViewModel,
  screen: TreeScreen,
  matches: (text: string) => boolean,
  direction: Direction,
): TreeScreen | undefined {
  const tree = model.tree(screen.choice);
  const current = rowAtCursor(model, screen)?.node;
  let first: readonly CallNode[] | undefined;
  let before: readonly CallNode[] | undefined;
  let after: readonly CallNode[] | undefined;
  let last: readonly CallNode[] | undefined;
  let isBehind = false;
  for (const path of allNodes(tree)) {
    const node = path.at(-1)!;
    if (node === current) {
      isBehind = true;
      if (direction === -1 && before !== undefined) break;
    }
    if (!matches(frameText(node.frame))) continue;
    first ??= path;
    last = path;
    if (!isBehind) before = path;
    else if (node !== current) {
      after = path;
      if (direction === 1) break;
    }
  }
  const found = direction === 1 ? (after ?? first) : (before ?? last);
  return found === undefined ? undefined : { ...screen, ...reveal(tree, screen.expanded, found) };
}
