import { LoopProgressions } from "../../../../rewrite/facts/loop-progressions.ts";
import type { WalkState } from "../../../../rewrite/tool.ts";
import { keepAddress } from "../../../../rewrite/walk/keep-address.ts";
import { CONSTANT, ValueClass } from "../../../../rewrite/walk/value-numbers.ts";
import { type LinearForm, pushForm } from "../../../../rewrite/write/linear-form.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../../rewrite/write/temporaries.ts";
import { ACCESS_BYTES, I32 } from "../../../../wasm/index.ts";
import * as Op from "../../../../wasm/op.generated.ts";
import type { IntervalPass } from "../../pass/interval-pass.ts";
import { alignmentHint } from "../../pass/marks/alignment-hint.ts";
import { BesideMarks } from "../../pass/marks/beside-marks.ts";
import type { LoopSummary } from "../../pass/marks/moved-marks.ts";
import { LINE_BYTES } from "../../pass/marks/place-group.ts";
import { type SampledPlace, type SampleTargets, SampleWriter } from "./sample-writer.ts";
import { type Touch, Touches, takeIn } from "./touches.ts";

/** Indices and addresses in the instrumented module that the inserted code refers to. */
export interface SamplingTargets extends SampleTargets {
  /** Behind loops: (address, bytes, site, clock), and (end, stride, trips, extra, site, clock, accesses). */
  sampleRange: number;
  sampleStrided: number;
}

/** Places that a loop came to in equal steps. */
interface Walk extends LoopSummary {
  end: LinearForm;
  stride: number;
  extra: number;
  site: number;
}

interface Moved {
  touch: Touch;
  end: LinearForm;
  stride: number;
}

const LONGEST_EXTRA = 64;
/** Places that move further per trip are sampled where they are accessed. */
const LONGEST_MOVED_STRIDE = 32;
const NO_RESULT = 0x40;

/**
 * The working-set tool with a sample of its locality: everything that the marks' pass does, and beside it a comparison of
 * each line's hash. What follows another reference to its place in straight code is a hit in any cache of some size, and
 * goes without; so do the stack and constant addresses, and walks of loops are looked through behind the loop.
 */
export class SamplingPass extends BesideMarks {
  readonly #targets: SamplingTargets;
  readonly #touches = new Touches();
  #progressions: LoopProgressions | undefined;
  /** Per open loop: number of touches before it. */
  #loops: number[] = [];
  readonly #writer: SampleWriter;

  constructor(marks: IntervalPass, targets: SamplingTargets) {
    super(marks);
    this.#targets = targets;
    this.#writer = new SampleWriter(targets, (sink) => marks.writeClock(sink));
  }

  override begin(state: WalkState, codeStart: number): void {
    super.begin(state, codeStart);
    this.#touches.reset();
    this.#progressions ??= new LoopProgressions(state.insertions, state.values);
    this.#progressions.locals = state.locals;
    this.#loops = [];
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
    this.#loops.push(this.#touches.all.length);
  }

  override leaveLoop(start: number, end: number, oneBlock: boolean): void {
    super.leaveLoop(start, end, oneBlock);
    const first = this.#loops.pop() ?? 0;
    const { summary } = this.marks;
    if (summary === undefined) return;
    this.#moveBehind(first, end, summary);
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

  /** The touches of a loop of one basic block that move little per trip, or not at all. */
  #moveBehind(first: number, end: number, summary: LoopSummary): void {
    const progressions = this.#progressions as LoopProgressions;
    progressions.begin(this.state.control);
    const moved: Moved[] = [];
    for (const touch of this.#touches.all.slice(first)) {
      if (touch.isGone) continue;
      touch.isOften = true;
      const progression = progressions.of(touch.base, touch.offset, touch.local);
      if (progression === undefined || progression.stride.terms.length > 0) continue;
      const stride = progression.stride.constant;
      if (Math.abs(stride) <= LONGEST_MOVED_STRIDE) moved.push({ touch, end: progression.end, stride });
    }
    moved.sort((a, b) => a.touch.base - b.touch.base || a.touch.offset - b.touch.offset);
    for (let i = 0; i < moved.length; ) {
      const group = moved[i];
      let farthest = 0;
      for (; i < moved.length && moved[i].touch.base === group.touch.base; i++) {
        const { touch } = moved[i];
        const distance = touch.offset + touch.extra - group.touch.offset;
        if (distance > LONGEST_EXTRA) break;
        farthest = Math.max(farthest, distance);
        touch.isGone = true;
      }
      this.#addMoved(group, farthest, end, summary);
    }
  }

  #addMoved({ touch, end, stride }: Moved, extra: number, position: number, summary: LoopSummary): void {
    const { insertions } = this.state;
    const { site } = touch;
    if (stride === 0)
      insertions.add(position, { write: (sink) => this.#sampleFixed(sink, end, extra, site) });
    else {
      const walk = { end, stride, extra, site, ...summary };
      insertions.add(position, { write: (sink) => this.#sampleWalk(sink, walk) });
    }
  }

  #sample(sink: SnippetSink, touch: Touch): void {
    if (!touch.isGone) this.#writer.sample(sink, placeOf(touch), touch.isOften);
  }

  /** Behind a loop: samples an address that it did not change, and the place `extra` bytes behind it. */
  #sampleFixed(sink: SnippetSink, address: LinearForm, extra: number, site: number): void {
    this.#writer.isSampled(sink, () => pushForm(sink, address));
    if (extra > 0) {
      this.#writer.isSampled(sink, () => pushForm(sink, address, extra));
      sink.plain(Op.I32_OR);
    }
    sink.rarely();
    sink.open(Op.IF, NO_RESULT);
    pushForm(sink, address);
    sink.i32(extra + 1);
    sink.i32(site);
    this.marks.writeClock(sink);
    sink.indexed(Op.CALL, this.#targets.sampleRange);
    sink.end();
  }

  /** Behind a loop: samples what it came to in equal steps. */
  #sampleWalk(sink: SnippetSink, walk: Walk): void {
    const { end, stride, trips, extra, site, accesses } = walk;
    this.#mayBeSampled(sink, walk);
    sink.rarely();
    sink.open(Op.IF, NO_RESULT);
    pushForm(sink, end);
    sink.i32(stride);
    sink.local(Op.LOCAL_GET, trips);
    sink.i32(extra);
    sink.i32(site);
    this.marks.writeClock(sink);
    sink.i32(accesses);
    sink.indexed(Op.CALL, this.#targets.sampleStrided);
    sink.end();
  }

  /** On the stack: whether a walk may have come to a sampled line. */
  #mayBeSampled(sink: SnippetSink, { end, stride, trips, extra }: Walk): void {
    const step = Math.abs(stride);
    const farthest = (more: number): void => {
      pushForm(sink, end, more);
      sink.local(Op.LOCAL_GET, trips);
      sink.i32(step);
      sink.plain(Op.I32_MUL);
      sink.plain(stride > 0 ? Op.I32_SUB : Op.I32_ADD);
    };
    const lowest = (): void => (stride > 0 ? farthest(0) : pushForm(sink, end, step));
    const highest = (): void => (stride > 0 ? pushForm(sink, end, extra - stride) : farthest(extra));
    if (this.#writer.walkMayBeSampled(sink, highest, { trips, step, extra })) return;
    // A long one, whose lines are not only those of its ends, or one of these is sampled.
    sink.local(Op.LOCAL_GET, trips);
    sink.i32(Math.floor((LINE_BYTES - extra) / step) + 1);
    sink.plain(Op.I32_GT_U);
    this.#writer.isSampled(sink, lowest);
    sink.plain(Op.I32_OR);
    this.#writer.isSampled(sink, highest);
    sink.plain(Op.I32_OR);
  }
}

function placeOf({ offset, held, extra, local, site, upperSite }: Touch): SampledPlace {
  return { local, displacement: (offset - held) | 0, site, extra, upperSite };
}
