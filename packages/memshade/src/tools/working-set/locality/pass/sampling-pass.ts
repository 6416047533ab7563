import { LoopProgressions } from "../../../../rewrite/facts/loop-progressions.ts";
import type { WalkState } from "../../../../rewrite/tool.ts";
import { keepAddress } from "../../../../rewrite/walk/keep-address.ts";
import { CONSTANT, ValueClass } from "../../../../rewrite/walk/value-numbers.ts";
import type { LinearForm } from "../../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../../rewrite/write/temporaries.ts";
import { ACCESS_BYTES, I32 } from "../../../../wasm/index.ts";
import * as Op from "../../../../wasm/op.generated.ts";
import type { IntervalPass } from "../../pass/interval-pass.ts";
import { alignmentHint } from "../../pass/marks/alignment-hint.ts";
import { BesideMarks, FIRST_BESIDE } from "../../pass/marks/beside-marks.ts";
import { writeForm } from "../../pass/marks/mark-writer.ts";
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

/** What an insertion does: its operand `a`. */
const Insert = {
  /** `b`: touch. */
  Sample: FIRST_BESIDE,
  /** Behind a loop. `b`: form of the address, `c`: bytes behind it that are touched too, `d`: site. */
  SampleFixed: FIRST_BESIDE + 1,
  /** Behind a loop. `b`: index into `walks`. */
  SampleWalk: FIRST_BESIDE + 2,
  /** As `Sample`, in a loop that does not poll: more may come together there than can wait. */
  SampleOften: FIRST_BESIDE + 3,
} as const;

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
  #walks: Walk[] = [];
  /** Per open loop: number of touches before it. */
  #loops: number[] = [];
  readonly #writer: SampleWriter;

  constructor(marks: IntervalPass, targets: SamplingTargets) {
    super(marks);
    this.#targets = targets;
    this.#writer = new SampleWriter(targets, (sink) => marks.writeClock(sink));
  }

  override begin(state: WalkState, kind: number, codeStart: number): void {
    super.begin(state, kind, codeStart);
    this.#touches.reset();
    this.#progressions ??= new LoopProgressions(state.insertions, state.values);
    this.#progressions.locals = state.locals;
    this.#walks = [];
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
    const { stack, values, insertions, temporaries, module } = this.state;
    const touches = this.#touches;
    const base = stack.value[at];
    const offset = (stack.offset[at] + displacement) | 0;
    if (touches.covers(base, offset)) return;
    const site = start - module.codePayloadStart;
    const near = touches.near(base, offset);
    // Addresses of 64 bits are not looked at below what a local holds.
    const isBelow = near !== undefined && near.offset < stack.offset[at];
    const earlier = this.#targets.memory64 && isBelow ? undefined : near;
    const local = keepAddress(stack, values, insertions, temporaries, at, op, start);
    const insertion = insertions.add(end, this.kind, Insert.Sample, touches.all.length);
    const held = stack.offset[at];
    const touch = touches.add({ base, offset, site, position: start, local, held, insertion });
    if (earlier === undefined) return;
    insertions.remove(earlier.insertion);
    takeIn(touch, earlier);
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
    const { insertions } = this.state;
    const moved: Moved[] = [];
    for (const touch of this.#touches.all.slice(first)) {
      if (touch.isGone) continue;
      insertions.a[touch.insertion] = Insert.SampleOften;
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
        insertions.remove(touch.insertion);
      }
      this.#addMoved(group, farthest, end, summary);
    }
  }

  #addMoved({ touch, end, stride }: Moved, extra: number, position: number, summary: LoopSummary): void {
    const { insertions } = this.state;
    const { site } = touch;
    if (stride === 0) {
      const form = insertions.forms.push(end) - 1;
      insertions.add(position, this.kind, Insert.SampleFixed, form, extra, site);
    } else {
      const walk = this.#walks.push({ end, stride, extra, site, ...summary }) - 1;
      insertions.add(position, this.kind, Insert.SampleWalk, walk);
    }
  }

  protected override writeOwn(sink: SnippetSink, entry: number): void {
    const { a, b, c, d, forms } = this.state.insertions;
    const { sampleRange, sampleStrided } = this.#targets;
    if (a[entry] === Insert.Sample || a[entry] === Insert.SampleOften)
      this.#writer.sample(sink, this.#placeOf(b[entry]), a[entry] === Insert.SampleOften);
    else if (a[entry] === Insert.SampleFixed) {
      this.#writer.isSampled(sink, () => writeForm(sink, forms[b[entry]], 0));
      if (c[entry] > 0) {
        this.#writer.isSampled(sink, () => writeForm(sink, forms[b[entry]], c[entry]));
        sink.plain(Op.I32_OR);
      }
      sink.rarely();
      sink.open(Op.IF, NO_RESULT);
      writeForm(sink, forms[b[entry]], 0);
      sink.i32(c[entry] + 1);
      sink.i32(d[entry]);
      this.marks.writeClock(sink);
      sink.indexed(Op.CALL, sampleRange);
      sink.end();
    } else {
      const walk = this.#walks[b[entry]];
      const { end, stride, trips, extra, site, accesses } = walk;
      this.#mayBeSampled(sink, walk);
      sink.rarely();
      sink.open(Op.IF, NO_RESULT);
      writeForm(sink, end, 0);
      sink.i32(stride);
      sink.local(Op.LOCAL_GET, trips);
      sink.i32(extra);
      sink.i32(site);
      this.marks.writeClock(sink);
      sink.i32(accesses);
      sink.indexed(Op.CALL, sampleStrided);
      sink.end();
    }
  }

  /** On the stack: whether a walk may have come to a sampled line. */
  #mayBeSampled(sink: SnippetSink, { end, stride, trips, extra }: Walk): void {
    const step = Math.abs(stride);
    const farthest = (more: number): void => {
      writeForm(sink, end, more);
      sink.local(Op.LOCAL_GET, trips);
      sink.i32(step);
      sink.plain(Op.I32_MUL);
      sink.plain(stride > 0 ? Op.I32_SUB : Op.I32_ADD);
    };
    const lowest = (): void => (stride > 0 ? farthest(0) : writeForm(sink, end, step));
    const highest = (): void => (stride > 0 ? writeForm(sink, end, extra - stride) : farthest(extra));
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

  #placeOf(touch: number): SampledPlace {
    const { offset, held, extra, local, site, upperSite } = this.#touches.all[touch];
    return { local, displacement: (offset - held) | 0, site, extra, upperSite };
  }
}
