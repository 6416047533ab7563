import { h, type TargetedKeyboardEvent, type TargetedMouseEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { entryOf } from "../../../../ground/bytes/entries.ts";
import { el } from "../app/parts/element.ts";
import { boxAtPoint, type DrawnBoxes, drawnBoxes, rowOf, type Zoom } from "./layout/drawn-boxes.ts";
import type { CallTree } from "./layout/tree.ts";
import { fontOf, type Painting, paint, ROW, rowAt, rowTop, TextWidths } from "./paint/paint.ts";
import { useSize } from "./paint/use-size.ts";

/** Description of a box. All members are safe to show. */
export interface BoxDescription {
  name: string;
  place: string;
  /** Amount and share first: `12 MiB, 31 % of 40 MiB`. */
  facts: readonly string[];
}

export interface PictureProps extends Omit<Painting, "drawn" | "widths">, Zoom {
  /** Description of the picture for screen readers. */
  label: string;
  /** @param rest number and sum of the boxes, if several are drawn as one */
  describe(box: number, rest?: { count: number; value: number }): BoxDescription;
  /** @param isRest true for the box and its smaller siblings, which are drawn as one */
  onPick(box: number, isRest: boolean): void;
  onRemove(box: number): void;
  /** Escape: zooms out to the whole. Absent if the whole is visible. */
  onLeave?: (() => void) | undefined;
}

const STEPS: Readonly<Record<string, [down: Step, up: Step]>> = {
  ArrowUp: ["above", "below"],
  ArrowDown: ["below", "above"],
  ArrowLeft: ["previous", "previous"],
  ArrowRight: ["next", "next"],
  Home: ["first", "first"],
  End: ["last", "last"],
};

/**
 * Boxes on a canvas. The arrow keys move the focus from box to box, and a live region announces the focused
 * box.
 */
export function Picture(props: PictureProps) {
  const { tree, zoomed, from, top = 0, isUp, describe } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height: seen } = useSize(scroller);
  const drawn = useMemo(
    () => drawnBoxes(tree, { zoomed, from, top }, width),
    [tree, zoomed, from, width, top],
  );
  const [focus, setFocus] = useState<FocusPlace | undefined>(undefined);
  const [pointer, setPointer] = useState<Point | undefined>(undefined);
  const [hasFocus, setHasFocus] = useState(false);
  const focused = focus === undefined ? -1 : drawnAt(tree, drawn, focus);
  const painted = { ...props, drawn };
  const hover = pointer === undefined ? -1 : boxUnder(painted, pointer, scroller.current?.scrollTop ?? 0);

  const paintedTop = useRef(0);
  const redraw = useRef(() => {});
  redraw.current = () => {
    const context = canvas.current?.getContext("2d");
    if (!context || width === 0) return;
    const ratio = devicePixelRatio;
    const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(seen * ratio)];
    if (context.canvas.width !== pixelWidth) context.canvas.width = pixelWidth;
    if (context.canvas.height !== pixelHeight) context.canvas.height = pixelHeight;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = fontOf(context.canvas);
    context.fontKerning = "none";
    const widths = widthsIn(context);
    paintedTop.current = scroller.current!.scrollTop;
    paint(context, { ...painted, widths }, { top: paintedTop.current, height: seen }, ratio);
  };
  // Scrolls to the zoomed box and the one above it.
  useLayoutEffect(() => {
    const edge = rowTop({ drawn, isUp }, Math.max(0, tree.depth[zoomed] - top - 1));
    scroller.current!.scrollTop = isUp ? edge + ROW - seen : edge;
  }, [tree, zoomed, isUp, seen]);

  const { names, colouring, palette, matched, merged, selected, side } = props;
  // Pointer and focus are drawn above the canvas and need no repaint.
  useLayoutEffect(
    () => redraw.current(),
    [drawn, isUp, names, colouring, palette, matched, merged, selected, side, width, seen],
  );

  useEffect(() => {
    if (focused >= 0) showRow(scroller.current!, rowTop({ drawn, isUp }, rowOf(drawn, focused)));
  }, [focused]);

  const descriptionOf = (index: number): BoxDescription =>
    drawn.rest[index] > 0
      ? describe(drawn.box[index], { count: drawn.rest[index], value: drawn.value[index] })
      : describe(drawn.box[index]);
  const act = (index: number, isRemoval: boolean) => {
    if (index < 0) return;
    const isRest = drawn.rest[index] > 0;
    if (!isRemoval) props.onPick(drawn.box[index], isRest);
    else if (drawn.box[index] > 0 && !isRest) props.onRemove(drawn.box[index]);
  };
  const pointOf = (event: TargetedMouseEvent<HTMLDivElement>): Point => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    if (event.ctrlKey || event.metaKey) return;
    const at = Math.max(0, focused);
    const step = STEPS[event.key]?.[isUp ? 1 : 0];
    if (step !== undefined) setFocus(placeOf(tree, drawn, focused < 0 ? 0 : stepFrom(drawn, at, step)));
    else if (event.key === "Enter" || event.key === " ") act(at, event.altKey);
    else if (event.key === "Delete") act(at, true);
    else if (event.key === "Escape" && props.onLeave) props.onLeave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const pointed = hover >= 0 ? hover : hasFocus ? focused : -1;

  return el(
    "div.graph-picture",
    h(
      "div",
      {
        ref: scroller,
        class: "graph-scroller",
        style: { maxHeight: `${drawn.rows * ROW + 2}px` },
        tabIndex: 0,
        role: "application",
        "aria-roledescription": "graph",
        "aria-label": `${props.label}. Arrows move from box to box, Enter zooms to a box, Delete removes it, Escape zooms out.`,
        onKeyDown,
        onFocus: () => {
          setHasFocus(true);
          if (focus === undefined) setFocus(placeOf(tree, drawn, tree.depth[zoomed] - top));
        },
        onBlur: () => setHasFocus(false),
        onMouseMove: (event: TargetedMouseEvent<HTMLDivElement>) => setPointer(pointOf(event)),
        onMouseLeave: () => setPointer(undefined),
        onScroll: () => {
          // Scrolling by script has been painted already.
          if (scroller.current!.scrollTop !== paintedTop.current) redraw.current();
        },
        onClick: (event: TargetedMouseEvent<HTMLDivElement>) => {
          const index = boxUnder(painted, pointOf(event), scroller.current!.scrollTop);
          if (index < 0) return;
          setFocus(placeOf(tree, drawn, index));
          act(index, event.altKey);
        },
      },
      h(
        "div",
        { class: "graph-whole", style: { height: `${drawn.rows * ROW}px` } },
        h("canvas", {
          ref: canvas,
          class: "graph-canvas",
          style: { width: `${width}px`, height: `${seen}px` },
          "aria-hidden": "true",
        }),
        h(Outline, { kind: "graph-hovered", painted, index: hover }),
        h(Outline, { kind: "graph-focused", painted, index: focused }),
      ),
    ),
    pointed >= 0 &&
      h(Tip, {
        description: descriptionOf(pointed),
        at:
          pointer !== undefined && hover >= 0
            ? pointer
            : middleOf(painted, pointed, scroller.current?.scrollTop ?? 0),
        width,
        height: seen,
      }),
    h(
      "div",
      { class: "graph-live", "aria-live": "polite" },
      focused >= 0 ? spoken(descriptionOf(focused)) : "",
    ),
  );
}

interface Point {
  x: number;
  y: number;
}

type Rows = Pick<Painting, "drawn" | "isUp">;

function boxUnder({ drawn, isUp }: Rows, { x, y }: Point, scrolled: number): number {
  return boxAtPoint(drawn, rowAt({ drawn, isUp }, y + scrolled), x);
}

function middleOf({ drawn, isUp }: Rows, index: number, scrolled: number): Point {
  return {
    x: drawn.x[index] + drawn.width[index] / 2,
    y: rowTop({ drawn, isUp }, rowOf(drawn, index)) + ROW / 2 - scrolled,
  };
}

function Outline({ kind, painted, index }: { kind: string; painted: Rows; index: number }) {
  const { drawn } = painted;
  if (index < 0 || index >= drawn.count) return null;
  const style = {
    left: `${drawn.x[index]}px`,
    top: `${rowTop(painted, rowOf(drawn, index))}px`,
    width: `${Math.max(2, drawn.width[index] - 1)}px`,
    height: `${ROW - 1}px`,
  };
  return h("div", { class: kind, style });
}

/** Distance between the pointer and the tooltip's corner, CSS pixels. */
const TIP_OFFSET = 14;

/** Tooltip beside a point, on the side with more space. */
function Tip(props: { description: BoxDescription; at: Point; width: number; height: number }) {
  const { description, at, width, height } = props;
  const style: Record<string, string> = {};
  if (at.x < width / 2) style.left = `${at.x + TIP_OFFSET}px`;
  else style.right = `${width - at.x + TIP_OFFSET}px`;
  if (at.y < height / 2) style.top = `${at.y + TIP_OFFSET}px`;
  else style.bottom = `${height - at.y + TIP_OFFSET}px`;
  return h(
    "div",
    { class: "graph-tip", style, "aria-hidden": "true" },
    el("strong", description.name),
    description.place !== "" && el("div", description.place),
    description.facts.map((fact) => h("div", { key: fact }, fact)),
  );
}

function spoken({ name, place, facts }: BoxDescription): string {
  return [name, place, ...facts].filter((part) => part !== "").join(", ");
}

/** Scrolls as little as needed to show a row. */
function showRow(scroller: HTMLElement, top: number): void {
  const end = scroller.scrollTop + scroller.clientHeight;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + ROW > end) scroller.scrollTop = top + ROW - scroller.clientHeight;
}

const measured = new Map<string, TextWidths>();

/** Returns the text widths in the font of a context; they are shared by the page. */
function widthsIn(context: CanvasRenderingContext2D): TextWidths {
  return entryOf(
    measured,
    context.font,
    () => new TextWidths((character) => context.measureText(character).width),
  );
}

/** Direction of the keyboard focus. */
type Step = "above" | "below" | "next" | "previous" | "first" | "last";

/** Returns the drawn box that a step leads to; the same box if there is none in that direction. */
export function stepFrom(drawn: DrawnBoxes, from: number, step: Step): number {
  const parent = drawn.parent[from];
  const siblings = parent < 0 ? [from, from + 1] : [drawn.childStart[parent], drawn.childEnd[parent]];
  switch (step) {
    case "above":
      return parent < 0 ? from : parent;
    case "below":
      return drawn.childStart[from] < drawn.childEnd[from] ? drawn.childStart[from] : from;
    case "next":
      return Math.min(from + 1, siblings[1] - 1);
    case "previous":
      return Math.max(from - 1, siblings[0]);
    case "first":
      return 0;
    case "last":
      return siblings[1] - 1;
  }
}

/** Location of the focus that stays valid when boxes move. */
interface FocusPlace {
  /** Frames from the root. */
  path: readonly number[];
  /** True if the focus is on the combined box below the path. */
  isRest: boolean;
}

export function placeOf(tree: CallTree, drawn: DrawnBoxes, index: number): FocusPlace {
  const isRest = drawn.rest[index] > 0;
  const path: number[] = [];
  for (let at = isRest ? drawn.parent[index] : index; at >= 0; at = drawn.parent[at])
    if (drawn.box[at] !== 0) path.unshift(tree.frame[drawn.box[at]]);
  return { path, isRest };
}

/** Returns the drawn box of a focus location, or the last drawn one on its path. */
export function drawnAt(tree: CallTree, drawn: DrawnBoxes, { path, isRest }: FocusPlace): number {
  let at = 0;
  // The first box may be the root, which has no frame.
  for (const frame of drawn.box[0] === 0 ? path : path.slice(1)) {
    const child = findChild(
      drawn,
      at,
      (index) => drawn.rest[index] === 0 && tree.frame[drawn.box[index]] === frame,
    );
    if (child === undefined) return at;
    at = child;
  }
  return isRest ? (findChild(drawn, at, (index) => drawn.rest[index] > 0) ?? at) : at;
}

function findChild(
  drawn: DrawnBoxes,
  parent: number,
  isWanted: (index: number) => boolean,
): number | undefined {
  for (let index = drawn.childStart[parent]; index < drawn.childEnd[parent]; index++)
    if (isWanted(index)) return index;
  return undefined;
}
