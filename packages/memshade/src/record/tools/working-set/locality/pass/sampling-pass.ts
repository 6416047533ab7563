import { ACCESS_BYTES, I32 } from "../../../../../code/wasm/index.ts";
import type { WalkState } from "../../../../rewrite/tool.ts";
import { keepAddress } from "../../../../rewrite/walk/keep-address.ts";
import { CONSTANT, ValueClass } from "../../../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../../rewrite/write/temporaries.ts";
import type { IntervalPass } from "../../pass/interval-pass.ts";
import { alignmentHint } from "../../pass/marks/alignment-hint.ts";
import { BesideMarks } from "../../pass/marks/beside-marks.ts";
import { LINE_BYTES } from "../../pass/marks/place-group.ts";
import { type SampledPlace, type SampleTargets, SampleWriter } from "./sample-writer.ts";

/**
 * The working-set tool with a sample of its locality: everything that the marks' pass does, and beside it a comparison of
 * each line's hash. What follows another reference to its place in straight code is a hit in any cache of some size, and
 * goes without; so do the stack and constant addresses.
 */
export class SamplingPass extends BesideMarks {
  readonly #targets: SampleTargets;
  readonly #touches = new Touches();
  readonly #writer: SampleWriter;

  constructor(marks: IntervalPass, targets: SampleTargets) {
    super(marks);
    this.#targets = targets;
    this.#writer = new SampleWriter(targets, (sink) => marks.writeClock(sink));
  }

  override begin(state: WalkState, codeStart: number): void {
    super.begin(state, codeStart);
    this.#touches.reset();
  }

  override access(op: number, at: number, displacement: number, start: number, end: number): void {
    super.access(op, at, displacement, start, end);
    const { stack, values, module } = this.state;
    const base = stack.value[at];
    if (base === CONSTANT || values.classes[base] === ValueClass.Stack) return;
    const size = ACCESS_BYTES[op];
    const isWhole = 1 << alignmentHint(module.bytes, start) >= size;
    for (const within of isWhole ? [0] : [0, size - 1])
      this.#touch(op, at, displacement + within, start, end);
  }

  #touch(op: number, at: number, displacement: number, start: number, end: number): void {
    const { stack, insertions, module } = this.state;
    const touches = this.#touches;
    const base = stack.value[at];
    const offset = (stack.offset[at] + displacement) | 0;
    if (touches.covers(base, offset)) return;
    const site = start - module.codePayloadStart;
    const near = touches.near(base, offset);
    // Addresses of 64 bits are not looked at below what a local holds.
    const isBelow = near !== undefined && near.offset < stack.offset[at];
    const earlier = this.#targets.memory64 && isBelow ? undefined : near;
    const local = keepAddress(this.state, at, op, start);
    const touch = touches.add({ base, offset, site, position: start, local, held: stack.offset[at] });
    insertions.add(end, { write: (sink) => this.#sample(sink, touch) });
    if (earlier !== undefined) takeIn(touch, earlier);
  }

  override endBlock(): void {
    super.endBlock();
    this.#touches.endBlock();
  }

  override merge(position: number): void {
    super.merge(position);
    this.#touches.forgetSince(position);
  }

  override enterLoop(body: number): void {
    super.enterLoop(body);
    this.#touches.forgetAll();
  }

  override call(callee: number, tail: boolean, start: number, end: number): void {
    super.call(callee, tail, start, end);
    this.#touches.forgetAll();
  }

  override end(): void {
    super.end();
    if (this.#touches.all.length === 0) return;
    const { temporaries } = this.state;
    this.#writer.lower = extraLocal(temporaries, I32);
    this.#writer.upper = extraLocal(temporaries, I32);
    this.#writer.waits = extraLocal(temporaries, I32);
  }

  #sample(sink: SnippetSink, touch: Touch): void {
    if (!touch.isGone) this.#writer.sample(sink, placeOf(touch));
  }
}

function placeOf({ offset, held, extra, local, site, upperSite }: Touch): SampledPlace {
  return { local, displacement: (offset - held) | 0, site, extra, upperSite };
}

/** Earlier touches of one base that are compared with a new one; a bound for very long straight code. */
const MOST_COMPARED = 32;

/** A place whose line is looked at, or two of them. */
interface Touch {
  base: number;
  /** Distance of the (lower) place from the base, and of the upper one from that: 0 where there is only one. */
  offset: number;
  extra: number;
  /** Sites that access the lower place, and the upper one. */
  site: number;
  upperSite: number;
  /** The local that holds the address of the last access, symbolic or not, and the distance of that address from the base. */
  local: number;
  held: number;
  /** It turned out not to be needed. */
  isGone: boolean;
  /** It is known at the place of the walk. */
  isKnown: boolean;
  /** The basic block that it is in, by number, and its position. */
  block: number;
  position: number;
}

/**
 * The touches of one function: places (base value + offset) whose lines are looked at, one, or two at most 64 bytes apart. A
 * place between two touched ones at most 64 bytes apart needs no touch of its own. A touch is known wherever the walk can only
 * come through it; inside a basic block a later one can take an earlier one in.
 */
class Touches {
  all: Touch[] = [];
  /** Known ones in program order. */
  #order: Touch[] = [];
  readonly #byBase = new Map<number, Touch[]>();
  #block = 0;

  reset(): void {
    this.all = [];
    this.forgetAll();
  }

  /** A basic block ends: earlier touches are not replaced any more. */
  endBlock(): void {
    this.#block++;
  }

  /** What was touched may have been long ago. */
  forgetAll(): void {
    this.#block++;
    this.#order = [];
    this.#byBase.clear();
  }

  /** The walk may have come past everything since `position`. */
  forgetSince(position: number): void {
    this.#block++;
    for (let last = this.#order.at(-1); last !== undefined; last = this.#order.at(-1)) {
      if (last.position < position) return;
      last.isKnown = false;
      this.#order.pop();
    }
  }

  /** Whether the place is sure to have been looked at. */
  covers(base: number, offset: number): boolean {
    let below = Number.NEGATIVE_INFINITY;
    let above = Number.POSITIVE_INFINITY;
    for (const touch of this.#newest(base)) {
      if (!touch.isKnown || touch.isGone) continue;
      for (const place of [touch.offset, touch.offset + touch.extra]) {
        if (place <= offset) below = Math.max(below, place);
        if (place >= offset) above = Math.min(above, place);
      }
    }
    return above - below <= LINE_BYTES;
  }

  /** A touch of this block that can take the place in. */
  near(base: number, offset: number): Touch | undefined {
    for (const touch of this.#newest(base)) {
      if (touch.isGone) continue;
      if (!touch.isKnown || touch.block !== this.#block) return undefined;
      const lower = Math.min(offset, touch.offset);
      const upper = Math.max(offset, touch.offset + touch.extra);
      if (upper - lower <= LINE_BYTES) return touch;
    }
    return undefined;
  }

  /** Adds a touch of one place. */
  add(touch: Pick<Touch, "base" | "offset" | "site" | "position" | "local" | "held">): Touch {
    const added = {
      ...touch,
      extra: 0,
      upperSite: touch.site,
      isGone: false,
      isKnown: true,
      block: this.#block,
    };
    this.all.push(added);
    this.#order.push(added);
    const ofBase = this.#byBase.get(touch.base);
    if (ofBase === undefined) this.#byBase.set(touch.base, [added]);
    else ofBase.push(added);
    return added;
  }

  /** The newest touches of a base, the last one first. */
  #newest(base: number): readonly Touch[] {
    return this.#byBase.get(base)?.slice(-MOST_COMPARED).reverse() ?? [];
  }
}

/** A touch takes the place of an earlier one, which `Touches.near` has found, along. */
function takeIn(touch: Touch, earlier: Touch): void {
  earlier.isGone = true;
  const { offset } = touch;
  const upper = earlier.offset + earlier.extra;
  if (earlier.offset < offset) touch.site = earlier.site;
  if (upper > offset) touch.upperSite = earlier.upperSite;
  touch.offset = Math.min(offset, earlier.offset);
  touch.extra = Math.max(offset, upper) - touch.offset;
}
