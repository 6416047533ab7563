import { ACCESS_BYTES, I32, type ValType } from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { mergeRuntime, type RuntimeFunctions } from "../../../rewrite/link.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { CONSTANT, NO_LOCAL, ValueClass } from "../../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import type { ToolSurroundings } from "../../tool.ts";
import { describeLayout } from "../described-layout.ts";
import { accessesAt, clockAt, type WorkingSetLayout } from "../memory-plan.ts";
import type { IntervalPass } from "../pass/interval-pass.ts";
import { alignmentHint } from "../pass/marks/alignment-hint.ts";
import { BesideMarks } from "../pass/marks/beside-marks.ts";
import { writeLine } from "../pass/marks/line-of-address.ts";
import { LINE_BYTES } from "../pass/marks/place-group.ts";
import { State, WAITING_BYTES } from "./layout.ts";
import { LOCALITY_RUNTIME_BASE64 } from "./locality.generated.ts";
import { BUFFER_BYTES, HASH_RANGE, localityConstants, PREFIX, planLocality } from "./memory-plan.ts";

/** Indices and addresses in the instrumented module that the code of sampling refers to. */
interface SampleTargets {
  memory: number;
  memory64: boolean;
  /** A line is sampled if `multiplier` × its number, 32 bits, is at most `limit`. */
  multiplier: number;
  limit: number;
  /** Where references wait that inserted code puts aside itself: the buffer, and where the bytes used of it are. */
  buffer: number;
  bufferedAt: number;
}

/** One place that is accessed, or two at most a line apart. */
interface SampledPlace {
  /** Local with an address, and the distance of the lower place from it. */
  local: number;
  displacement: number;
  site: number;
  /** The upper place: its distance from the lower one, 0 if there is none, and its site. */
  extra: number;
  upperSite: number;
}

const NO_RESULT = 0x40;
/** Size of a reference in the buffer, as a power of two. */
const WAITING_SHIFT = Math.log2(WAITING_BYTES);
/** A line that no memory has. */
const NO_LINE = -1;

/** Writes the code that compares hashes of lines, and puts references to sampled ones aside. */
class SampleWriter {
  readonly #targets: SampleTargets;
  readonly #writeClock: (sink: SnippetSink) => void;
  /** The sum of limit and multiplier, if that is below the range of hashes. */
  readonly #eitherLimit: number | undefined;
  /** Locals for a moment: lines of the lower and of the upper place, and where in the buffer they go. */
  lower = NO_LOCAL;
  upper = NO_LOCAL;
  waits = NO_LOCAL;

  constructor(targets: SampleTargets, writeClock: (sink: SnippetSink) => void) {
    this.#targets = targets;
    this.#writeClock = writeClock;
    const either = (targets.limit >>> 0) + (targets.multiplier >>> 0);
    if (either < HASH_RANGE) this.#eitherLimit = either;
  }

  /** Notes the references whose lines are sampled. The engine must know that to be rare, or it costs registers. */
  sample(sink: SnippetSink, place: SampledPlace): void {
    this.#line(sink, place, 0);
    sink.local(Op.LOCAL_TEE, this.lower);
    if (place.extra === 0) this.#compareHash(sink);
    else this.#eitherMayBe(sink);
    sink.rarely();
    sink.open(Op.IF, NO_RESULT);
    if (place.extra > 0) {
      this.#line(sink, place, place.extra);
      sink.local(Op.LOCAL_SET, this.upper);
    }
    if (place.extra === 0) this.#putAside(sink, place.site);
    else this.#putBothAside(sink, place);
    sink.end();
  }

  /** Pushes the line of a place. */
  #line(sink: SnippetSink, { local, displacement }: SampledPlace, more: number): void {
    // The runtime leaves out what is above 4 GiB: no memory it follows has such a line.
    writeLine(sink, this.#targets.memory64, local, displacement + more, NO_LINE);
  }

  /** Replaces the line on the stack by whether it is sampled. */
  #compareHash(sink: SnippetSink): void {
    sink.i32(this.#targets.multiplier);
    sink.plain(Op.I32_MUL);
    sink.i32(this.#targets.limit);
    sink.plain(Op.I32_LE_U);
  }

  /** Replaces the lower line on the stack by whether it or the line behind it may be sampled. */
  #eitherMayBe(sink: SnippetSink): void {
    const { multiplier, limit } = this.#targets;
    const hashBehind = (): void => {
      sink.i32(multiplier);
      sink.plain(Op.I32_MUL);
      sink.i32(multiplier);
      sink.plain(Op.I32_ADD);
    };
    if (this.#eitherLimit !== undefined) {
      hashBehind();
      sink.i32(this.#eitherLimit | 0);
      sink.plain(Op.I32_LE_U);
      return;
    }
    this.#compareHash(sink);
    sink.local(Op.LOCAL_GET, this.lower);
    hashBehind();
    sink.i32(limit);
    sink.plain(Op.I32_LE_U);
    sink.plain(Op.I32_OR);
  }

  #isTwo(sink: SnippetSink): void {
    sink.local(Op.LOCAL_GET, this.lower);
    sink.local(Op.LOCAL_GET, this.upper);
    sink.plain(Op.I32_NE);
  }

  /**
   * Puts a reference aside as `note` does, without a call: behind a call, engines assume that memory has moved. Should code without a poll make
   * more references than the buffer has room for, the last ones stay.
   */
  #putAside(sink: SnippetSink, site: number): void {
    const { memory, bufferedAt } = this.#targets;
    sink.i32(0);
    this.#used(sink);
    sink.local(Op.LOCAL_TEE, this.waits);
    sink.i32(WAITING_BYTES);
    sink.plain(Op.I32_ADD);
    sink.i32(BUFFER_BYTES - 1);
    sink.plain(Op.I32_AND);
    sink.access(Op.I32_STORE, 2, memory, bufferedAt);
    this.#store(sink, this.lower, site);
  }

  /** Puts both lines of a place aside. Both are written, and those that are sampled are kept, so that there is no branch to predict. */
  #putBothAside(sink: SnippetSink, { site, upperSite }: SampledPlace): void {
    const { memory, bufferedAt } = this.#targets;
    this.#used(sink);
    sink.local(Op.LOCAL_SET, this.waits);
    this.#store(sink, this.lower, site);
    sink.local(Op.LOCAL_GET, this.waits);
    sink.local(Op.LOCAL_GET, this.lower);
    this.#compareHash(sink);
    this.#addEntries(sink);
    sink.local(Op.LOCAL_SET, this.waits);
    this.#store(sink, this.upper, upperSite);
    sink.i32(0);
    sink.local(Op.LOCAL_GET, this.waits);
    sink.local(Op.LOCAL_GET, this.upper);
    this.#compareHash(sink);
    this.#isTwo(sink);
    sink.plain(Op.I32_AND);
    this.#addEntries(sink);
    sink.i32(BUFFER_BYTES - 1);
    sink.plain(Op.I32_AND);
    sink.access(Op.I32_STORE, 2, memory, bufferedAt);
  }

  /** Replaces a place in the buffer and a number of entries by the place behind these. */
  #addEntries(sink: SnippetSink): void {
    sink.i32(WAITING_SHIFT);
    sink.plain(Op.I32_SHL);
    sink.plain(Op.I32_ADD);
  }

  #used(sink: SnippetSink): void {
    sink.i32(0);
    sink.access(Op.I32_LOAD, 2, this.#targets.memory, this.#targets.bufferedAt);
  }

  /** Writes an entry at `waits`. */
  #store(sink: SnippetSink, line: number, site: number): void {
    const { memory, buffer } = this.#targets;
    const store = (at: number, value: () => void): void => {
      sink.local(Op.LOCAL_GET, this.waits);
      value();
      sink.access(Op.I32_STORE, 2, memory, buffer + at);
    };
    store(0, () => sink.local(Op.LOCAL_GET, line));
    store(4, () => sink.i32(site));
    store(8, () => this.#writeClock(sink));
  }
}

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

/** Accesses take at least so many bytes of code: a bound for the number of sites. */
const LEAST_ACCESS_BYTES = 4;
const MOST_SITES = 1 << 21;
const PAGE_BYTES = 65536;

export interface WovenLocality {
  /** Size of the tool's memory with the tables. */
  endBytes: number;
  globals: readonly { type: ValType; initial: Uint8Array }[];
  /** Functions that take part in bulk instructions, by the names of the working set's. */
  listeners: RuntimeFunctions;
  /** What the inserted code of touches refers to. */
  sampling: SampleTargets;
  /** Function without parameters to call before each poll. */
  beforePoll: number;
  /** For the host that reads the tables: the layout's fields, prefixed. */
  description: Readonly<Record<string, number | boolean>>;
}

/** Adds reuse distances to the working-set tool, where they are asked for. */
export function weaveLocality(
  around: ToolSurroundings,
  workingSet: WorkingSetLayout,
  clock: number,
): WovenLocality | undefined {
  const options = around.options.workingset?.locality;
  if (options === undefined) return undefined;
  const codeBytes = around.module.bodies.reduce((sum, { start, end }) => sum + end - start, 0);
  const sites = Math.min(MOST_SITES, Math.ceil(codeBytes / LEAST_ACCESS_BYTES));
  const layout = planLocality(options, workingSet.locality, workingSet.lines, sites, clockAt(workingSet));
  const { functions, globals: own } = mergeRuntime(bytesOfBase64(LOCALITY_RUNTIME_BASE64), {
    appended: around.appended,
    shadowMemory: around.shadowMemory,
    firstGlobal: around.firstGlobal,
    constants: localityConstants(layout, workingSet.control, accessesAt(workingSet)),
    hosts: { clock },
  });
  return {
    endBytes: Math.ceil(layout.endBytes / PAGE_BYTES) * PAGE_BYTES,
    globals: own,
    listeners: functions,
    sampling: {
      memory: around.shadowMemory,
      memory64: around.memory64,
      multiplier: layout.multiplier | 0,
      limit: layout.limit | 0,
      buffer: layout.buffer,
      bufferedAt: layout.state + State.buffered,
    },
    beforePoll: functions.get("drain") as number,
    description: describeLayout(PREFIX, layout),
  };
}
