import { bareName, codeOffset, shortPlace } from "../../../explain/analyses/frames/place-names.ts";
import type { CallNode, CallTree } from "../../../explain/call-tree/call-tree.ts";
import type { StackGrouping, StackMetric } from "../../../explain/call-tree/weighted-stacks.ts";
import type { StackFrame } from "../../../explain/measures/measured-stacks.ts";
import { formatPercent, plural } from "../../../profile/model/format.ts";
import { amountFormat } from "../measure-format.ts";
import { printGaps } from "./common/header.ts";
import { Screen, type ScreenOptions, shortenName } from "./common/screen.ts";
import { cutEnd, cutMiddle, displayWidth, padLeft, printable } from "./common/text.ts";

/** Least columns of a name; with fewer, the location is left out. */
const LEAST_NAME = 8;

/** A frame as two texts that together take at most `width` columns: `parse`, ` (parse.c:88)`. */
interface FrameLabel {
  readonly name: string;
  readonly place: string;
}

/**
 * Formats a frame.
 * @param isFunction true if the frame represents its whole function, so that no line is shown
 */
export function frameLabel(frame: StackFrame, width: number, isFunction = false): FrameLabel {
  const full = frameName(frame);
  const place = isFunction ? "" : placeText(frame);
  const room = width - displayWidth(place);
  if (room < Math.min(LEAST_NAME, displayWidth(full)))
    return { name: cutEnd(shortenName(full, width), width), place: "" };
  return { name: shortenName(full, room), place };
}

/** Formats `parse`, `func[12] of draw.wasm`, `[the C library]`. */
function frameName({ function: name, module, isWord }: StackFrame): string {
  if (isWord === true) return `[${name}]`;
  const own = name === undefined || name === "" ? "unknown code" : bareName(name);
  return module === undefined ? own : `${own} of ${printable(module)}`;
}

function placeText(frame: StackFrame): string {
  const place = shortPlace(frame);
  if (place !== undefined) return ` (${printable(place)})`;
  return frame.address === undefined || frame.isWord ? "" : ` (${codeOffset(frame.address)})`;
}

interface CallTreeReportOptions extends ScreenOptions {
  readonly input: string;
  readonly metric: StackMetric;
  readonly group: StackGrouping;
  readonly isInverted: boolean;
  /** Levels below the roots; undefined for all. */
  readonly depth?: number | undefined;
  /** Nodes with a smaller part of the total (0…1) are added up in one line. */
  readonly least: number;
  readonly gaps: readonly string[];
}

const NUMBER = 10;
const SHARE = 8;
/** Least columns of a name at any depth. */
const LEAST_LABEL = 28;

/**
 * Formats a call tree, a line per node: total, share of the total, own amount, and location. If a node has
 * only one callee, which has all of its total, the callee is printed at the same indentation.
 */
export function callTreeReport(tree: CallTree, options: CallTreeReportOptions): string {
  const screen = new Screen(options);
  const { metric, isInverted, group } = options;
  const { faint, strong } = screen.paint;
  const format = amountFormat(metric.unit);
  screen.printEnds(
    `${isInverted ? "Callers by" : "Call tree of"} ${metric.title}`,
    `${format(tree.total)} in ${plural(tree.paths, "call path")}`,
    strong,
  );
  const input = printable(options.input);
  screen.print(faint(screen.shorten(input, (columns) => cutMiddle(input, columns), screen.width)));
  printGaps(screen, options.gaps);
  if (tree.roots.length === 0) {
    screen.print("", `Nothing was counted: no call path has ${metric.title}.`);
    return screen.text();
  }
  const heading = group === "function" ? "FUNCTION" : "PLACE";
  const own = isInverted ? "" : padLeft("OWN", NUMBER);
  const head = `${padLeft("TOTAL", NUMBER)}${padLeft("SHARE", SHARE)}${own}`;
  screen.print("", faint(`${head}  ${isInverted ? `${heading}, THEN WHO CALLED IT` : heading}`));
  new TreePrinter(screen, tree, options).print();
  screen.printShortened();
  return screen.text();
}

class TreePrinter {
  readonly #screen: Screen;
  readonly #tree: CallTree;
  readonly #options: CallTreeReportOptions;
  readonly #format: (value: number) => string;
  readonly #least: number;

  constructor(screen: Screen, tree: CallTree, options: CallTreeReportOptions) {
    this.#screen = screen;
    this.#tree = tree;
    this.#options = options;
    this.#format = amountFormat(options.metric.unit);
    this.#least = options.least * tree.total;
  }

  print(): void {
    this.#nodes(this.#tree.roots, "", 0, true);
  }

  /** Prints nodes; `margin` stands before their branches. */
  #nodes(nodes: readonly CallNode[], margin: string, level: number, areRoots = false): void {
    const shown = nodes.filter(({ total }) => total >= this.#least);
    const isLast = (index: number) => index === nodes.length - 1;
    for (const [index, node] of shown.entries()) {
      const [branch, below] = areRoots
        ? ["", nodes.length === 1 ? "" : "  "]
        : isLast(index)
          ? ["└ ", "  "]
          : ["├ ", "│ "];
      this.#line(node, margin + branch);
      this.#inside(node, margin + below, level);
    }
    const rest = nodes.slice(shown.length);
    if (rest.length === 0) return;
    const total = rest.reduce((sum, node) => sum + node.total, 0);
    const branch = areRoots ? "" : "└ ";
    const text = `${plural(rest.length, "smaller one")}: --min 0 shows ${rest.length === 1 ? "it" : "them"}`;
    this.#screen.print(
      this.#cells(total, undefined) + this.#screen.paint.faint(`${margin}${branch}… ${text}`),
    );
  }

  /**
   * Prints the callees of a node. A single callee with the whole total is printed at the same indentation.
   */
  #inside(parent: CallNode, margin: string, startLevel: number): void {
    const { depth = Number.POSITIVE_INFINITY } = this.#options;
    let node = parent;
    let level = startLevel + 1;
    for (;;) {
      if (level > depth) {
        this.#cut(node, margin);
        return;
      }
      const [only, ...siblings] = node.children;
      if (only === undefined) return;
      if (siblings.length > 0 || only.total < node.total) break;
      this.#line(only, margin);
      node = only;
      level++;
    }
    this.#nodes(node.children, margin, level);
  }

  #cut(node: CallNode, margin: string): void {
    const { isInverted } = this.#options;
    const count = node.children.length;
    if (count === 0) return;
    const below = isInverted ? plural(count, "caller") : plural(count, "call");
    this.#screen.print(
      this.#cells(node.total - node.own, undefined) + this.#screen.paint.faint(`${margin}└ … ${below} below`),
    );
  }

  #line(node: CallNode, lead: string): void {
    const screen = this.#screen;
    const options = this.#options;
    const { faint, strong } = screen.paint;
    const cells = this.#cells(node.total, node.own);
    const room = screen.width - displayWidth(this.#cells(node.total, node.own, false));
    const margin = screen.isWide ? lead : cutLead(lead, room - LEAST_LABEL);
    const width = screen.isWide ? Number.POSITIVE_INFINITY : room - displayWidth(margin);
    const isFunction = options.group === "function";
    const label = frameLabel(node.frame, width, isFunction);
    if (!screen.isWide && label.name !== printable(frameName(node.frame))) screen.isShortened = true;
    const isOwn = node.frame.library === undefined && node.frame.isWord !== true;
    screen.print(`${cells}${faint(margin)}${isOwn ? strong(label.name) : label.name}${faint(label.place)}`);
  }

  #cells(total: number, own: number | undefined, isPainted = true): string {
    const amount = isPainted ? this.#screen.paint.amount : (text: string) => text;
    const ownText = own === undefined ? "" : own === 0 ? "·" : this.#format(own);
    return (
      amount(padLeft(this.#format(total), NUMBER)) +
      padLeft(formatPercent(total, this.#tree.total), SHARE) +
      (this.#options.isInverted ? "" : padLeft(ownText, NUMBER)) +
      "  "
    );
  }
}

/** Shortens branches that are too wide to the number of levels they replace. */
function cutLead(lead: string, width: number): string {
  if (displayWidth(lead) <= width) return lead;
  const levels = displayWidth(lead) / 2;
  const branch = lead.slice(-2);
  const mark = `…${levels} `;
  return lead.slice(0, Math.max(0, width - mark.length - 2)) + mark + branch;
}
