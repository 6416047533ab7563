import { ACCESS_BYTES, I32, opcodeId } from "../../wasm/index.ts";
import type { LinearForm } from "../insertions.ts";
import { keepAddress } from "../keep-address.ts";
import { LoopProgressions } from "../loop-progressions.ts";
import { NO_LOCAL } from "../operand-stack.ts";
import type { SnippetSink } from "../snippet-sink.ts";
import { extraLocal } from "../temporaries.ts";
import type { WalkState } from "../tool-pass.ts";
import { CONSTANT, ValueClass } from "../value-numbers.ts";
import { alignmentHint } from "./alignment-hint.ts";
import { BesideMarks, FIRST_BESIDE } from "./beside-marks.ts";
import type { IntervalPass } from "./interval-pass.ts";
import { LINE_SHIFT, writeLine } from "./line-of-address.ts";
import { BUFFER_BYTES } from "./locality-layout.ts";
import { writeForm } from "./mark-writer.ts";
import type { LoopSummary } from "./moved-marks.ts";
import { LINE_BYTES } from "./place-group.ts";
import { Touches } from "./touches.ts";

/** Indices and addresses in the instrumented module that the inserted code refers to. */
export interface SamplingTargets {
  memory: number;
  memory64: boolean;
  /** A line is sampled if `multiplier` × its number, 32 bits, is at most `limit`. */
  multiplier: number;
  limit: number;
  /** Shadow address of the limit where it falls as the run goes on, −1 where it does not. */
  limitAt: number;
  /** (address, bytes, site, clock) and (end, stride, trips, extra, site, clock, accesses), behind loops. */
  /** (line, site, clock): a sampled reference. */
  note: number;
  /** Where references wait that inserted code puts aside itself: the buffer, and where the bytes used of it are. */
  buffer: number;
  bufferedAt: number;
  sampleRange: number;
  sampleStrided: number;
}

/** What an insertion does: its operand `a`. */
const Op = {
  /** `b`: local with an address, `c`: constant to add, `d`: site. */
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
  touch: number;
  end: LinearForm;
  stride: number;
}

const LONGEST_EXTRA = 64;
/** Places that move further per trip are sampled where they are accessed. */
const LONGEST_MOVED_STRIDE = 32;
const LOCAL_GET = opcodeId("local.get");
const LOCAL_TEE = opcodeId("local.tee");
const CALL = opcodeId("call");
const I32_LOAD = opcodeId("i32.load");
const I32_STORE = opcodeId("i32.store");
const I32_AND = opcodeId("i32.and");
const I32_ADD = opcodeId("i32.add");
const I32_SUB = opcodeId("i32.sub");
const I32_OR = opcodeId("i32.or");
const I32_SHR_U = opcodeId("i32.shr_u");
const I32_MUL = opcodeId("i32.mul");
const I32_LE_U = opcodeId("i32.le_u");
const I32_GT_U = opcodeId("i32.gt_u");
const IF = opcodeId("if");
const NO_RESULT = 0x40;
/** Size of a reference in the buffer. */
const WAITING_BYTES = 16;
/** A line that no memory has. */
const NO_LINE = -1;

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
  #hash = NO_LOCAL;
  #waits = NO_LOCAL;

  constructor(marks: IntervalPass, targets: SamplingTargets) {
    super(marks);
    this.#targets = targets;
  }

  override begin(state: WalkState, kind: number, codeStart: number): void {
    super.begin(state, kind, codeStart);
    this.#touches.reset();
    this.#progressions ??= new LoopProgressions(state.insertions, state.values);
    this.#progressions.locals = state.locals;
    this.#walks = [];
    this.#loops = [];
    this.#hash = NO_LOCAL;
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
    const local = keepAddress(stack, values, insertions, temporaries, at, op, start);
    const site = start - module.codePayloadStart;
    const insertion = insertions.add(end, this.kind, Op.Sample, local, displacement | 0, site);
    touches.add(base, offset, local, insertion, start);
    for (let old = touches.superfluous(base); old >= 0; old = touches.superfluous(base)) {
      touches.gone[old] = 1;
      insertions.remove(touches.insertion[old]);
    }
  }

  override endBlock(position: number): void {
    super.endBlock(position);
    this.#touches.endBlock();
  }

  override merge(position: number): void {
    super.merge(position);
    this.#touches.forgetSince(position);
  }

  override enterLoop(body: number): void {
    super.enterLoop(body);
    this.#touches.forgetAll();
    this.#loops.push(this.#touches.length);
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
    if (this.#touches.length === 0) return;
    this.#hash = extraLocal(this.state.temporaries, I32);
    this.#waits = extraLocal(this.state.temporaries, I32);
  }

  /** The touches of a loop of one basic block that move little per trip, or not at all. */
  #moveBehind(first: number, end: number, summary: LoopSummary): void {
    const progressions = this.#progressions as LoopProgressions;
    progressions.begin(this.state.control);
    const { insertions } = this.state;
    const { base, offset, local, insertion, gone } = this.#touches;
    const moved: Moved[] = [];
    for (let touch = first; touch < this.#touches.length; touch++) {
      if (gone[touch] === 1) continue;
      insertions.a[insertion[touch]] = Op.SampleOften;
      const progression = progressions.of(base[touch], offset[touch], local[touch]);
      if (progression === undefined || progression.stride.terms.length > 0) continue;
      const stride = progression.stride.constant;
      if (Math.abs(stride) <= LONGEST_MOVED_STRIDE) moved.push({ touch, end: progression.end, stride });
    }
    moved.sort((a, b) => base[a.touch] - base[b.touch] || offset[a.touch] - offset[b.touch]);
    for (let i = 0; i < moved.length; ) {
      const group = moved[i];
      let extra = 0;
      for (; i < moved.length && base[moved[i].touch] === base[group.touch]; i++) {
        const distance = offset[moved[i].touch] - offset[group.touch];
        if (distance > LONGEST_EXTRA) break;
        extra = distance;
        this.state.insertions.remove(this.#touches.insertion[moved[i].touch]);
      }
      this.#addMoved(group, extra, end, summary);
    }
  }

  #addMoved({ touch, end, stride }: Moved, extra: number, position: number, summary: LoopSummary): void {
    const { insertions } = this.state;
    const site = insertions.d[this.#touches.insertion[touch]];
    if (stride === 0) {
      const form = insertions.forms.push(end) - 1;
      insertions.add(position, this.kind, Op.SampleFixed, form, extra, site);
    } else {
      const walk = this.#walks.push({ end, stride, extra, site, ...summary }) - 1;
      insertions.add(position, this.kind, Op.SampleWalk, walk);
    }
  }

  protected override writeOwn(sink: SnippetSink, entry: number): void {
    const { a, b, c, d, forms } = this.state.insertions;
    const { sampleRange, sampleStrided } = this.#targets;
    if (a[entry] === Op.Sample) this.#sample(sink, b[entry], c[entry], d[entry], false);
    else if (a[entry] === Op.SampleOften) this.#sample(sink, b[entry], c[entry], d[entry], true);
    else if (a[entry] === Op.SampleFixed) {
      this.#isSampled(sink, () => writeForm(sink, forms[b[entry]], 0));
      if (c[entry] > 0) {
        this.#isSampled(sink, () => writeForm(sink, forms[b[entry]], c[entry]));
        sink.plain(I32_OR);
      }
      sink.rarely();
      sink.open(IF, NO_RESULT);
      writeForm(sink, forms[b[entry]], 0);
      sink.i32(c[entry] + 1);
      sink.i32(d[entry]);
      this.marks.writeClock(sink);
      sink.indexed(CALL, sampleRange);
      sink.end();
    } else {
      const walk = this.#walks[b[entry]];
      const { end, stride, trips, extra, site, accesses } = walk;
      this.#mayBeSampled(sink, walk);
      sink.rarely();
      sink.open(IF, NO_RESULT);
      writeForm(sink, end, 0);
      sink.i32(stride);
      sink.local(LOCAL_GET, trips);
      sink.i32(extra);
      sink.i32(site);
      this.marks.writeClock(sink);
      sink.i32(accesses);
      sink.indexed(CALL, sampleStrided);
      sink.end();
    }
  }

  /** On the stack: whether a walk is a long one, whose lines are not only those of its ends, or one of these is sampled. */
  #mayBeSampled(sink: SnippetSink, { end, stride, trips, extra }: Walk): void {
    const step = Math.abs(stride);
    const farthest = (more: number): void => {
      writeForm(sink, end, more);
      sink.local(LOCAL_GET, trips);
      sink.i32(step);
      sink.plain(I32_MUL);
      sink.plain(stride > 0 ? I32_SUB : I32_ADD);
    };
    sink.local(LOCAL_GET, trips);
    sink.i32(Math.floor((LINE_BYTES - extra) / step) + 1);
    sink.plain(I32_GT_U);
    this.#isSampled(sink, () => farthest(stride > 0 ? 0 : extra));
    sink.plain(I32_OR);
    this.#isSampled(sink, () => writeForm(sink, end, -stride + (stride > 0 ? extra : 0)));
    sink.plain(I32_OR);
  }

  /** On the stack: whether the line of the address that `address` pushes is sampled. */
  #isSampled(sink: SnippetSink, address: () => void): void {
    address();
    sink.i32(LINE_SHIFT);
    sink.plain(I32_SHR_U);
    this.#compareHash(sink);
  }

  /** Of a line: whether it is sampled. */
  #compareHash(sink: SnippetSink): void {
    const { memory, multiplier, limit, limitAt } = this.#targets;
    sink.i32(multiplier);
    sink.plain(I32_MUL);
    if (limitAt < 0) sink.i32(limit);
    else {
      sink.i32(0);
      sink.access(I32_LOAD, 2, memory, limitAt);
    }
    sink.plain(I32_LE_U);
  }

  /** Notes the reference if its line is sampled. The engine must know that to be rare, or it costs registers. */
  #sample(sink: SnippetSink, local: number, displacement: number, site: number, often: boolean): void {
    // The runtime leaves out what is above 4 GiB: no memory it follows has such a line.
    writeLine(sink, this.#targets.memory64, local, displacement, NO_LINE);
    sink.local(LOCAL_TEE, this.#hash);
    this.#compareHash(sink);
    sink.rarely();
    sink.open(IF, NO_RESULT);
    if (often) {
      sink.local(LOCAL_GET, this.#hash);
      sink.i32(site);
      this.marks.writeClock(sink);
      sink.indexed(CALL, this.#targets.note);
    } else this.#putAside(sink, site);
    sink.end();
  }

  /**
   * What `note` does, without a call: behind one, engines take it that memory has moved. Should code without a poll make
   * more references than the buffer has room for, the last ones stay.
   */
  #putAside(sink: SnippetSink, site: number): void {
    const { memory, buffer, bufferedAt } = this.#targets;
    const store = (at: number, value: () => void): void => {
      sink.local(LOCAL_GET, this.#waits);
      value();
      sink.access(I32_STORE, 2, memory, buffer + at);
    };
    sink.i32(0);
    sink.i32(0);
    sink.access(I32_LOAD, 2, memory, bufferedAt);
    sink.local(LOCAL_TEE, this.#waits);
    sink.i32(WAITING_BYTES);
    sink.plain(I32_ADD);
    sink.i32(BUFFER_BYTES - 1);
    sink.plain(I32_AND);
    sink.access(I32_STORE, 2, memory, bufferedAt);
    store(0, () => sink.local(LOCAL_GET, this.#hash));
    store(4, () => sink.i32(site));
    store(8, () => this.marks.writeClock(sink));
  }
}
