import type { CallNode } from "../../../../explain/call-tree/call-tree.ts";
import type { StackFrame } from "../../../../explain/measures/measured-stacks.ts";
import { expandedAtFirst } from "./tree-rows.ts";
import type { TreeChoice, ViewModel } from "./view-model.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Which row keys act on, and which row is the first that is shown. */
interface Scrolled {
  readonly cursor: number;
  readonly top: number;
}

export interface FindingsScreen extends Scrolled {
  readonly kind: "findings";
}

/** A path, innermost first, and the source text of the frame under the cursor. `top` moves the text. */
export interface SourceScreen extends Scrolled {
  readonly kind: "source";
  readonly path: readonly StackFrame[];
  /** The finding that the path is of; undefined for a path of a tree. */
  readonly finding: number | undefined;
}

export interface TreeScreen extends Scrolled {
  readonly kind: "tree";
  readonly choice: TreeChoice;
  readonly expanded: ReadonlySet<CallNode>;
}

export interface HelpScreen extends Scrolled {
  readonly kind: "help";
}

export type ViewScreen = FindingsScreen | SourceScreen | TreeScreen | HelpScreen;

export interface ViewState {
  /** The last one is shown; behind it are those that led there. At least one. */
  readonly screens: readonly ViewScreen[];
  /** A pattern that is being typed. */
  readonly typed?: string | undefined;
  /** What was last searched for. */
  readonly pattern?: string | undefined;
  /** What the last key led to, in words. */
  readonly message?: string | undefined;
  readonly isDone: boolean;
}

/** The findings first; the tree of the first tool where there are none. */
export function initialState(model: ViewModel): ViewState {
  const first: ViewScreen =
    model.contents.findings.length > 0
      ? { kind: "findings", cursor: 0, top: 0 }
      : treeScreen(model, { tool: 0, metric: 0, isInverted: false });
  return { screens: [first], isDone: false };
}

export function treeScreen(model: ViewModel, choice: TreeChoice): TreeScreen {
  return { kind: "tree", cursor: 0, top: 0, choice, expanded: expandedAtFirst(model.tree(choice)) };
}

export function shownScreen({ screens }: ViewState): ViewScreen {
  return screens.at(-1)!;
}
