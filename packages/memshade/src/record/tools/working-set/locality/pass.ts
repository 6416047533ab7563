import { ACCESS_BYTES, I32, type ValType } from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { LINE_BYTES, WASM_PAGE_BYTES } from "../../../../ground/bytes/sizes.ts";
import { mergeRuntime, type RuntimeFunctions } from "../../../rewrite/link.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { CONSTANT, NO_LOCAL, ValueClass } from "../../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import { describeLayout } from "../../table-layout.ts";
import type { ToolSurroundings } from "../../tool.ts";
import { accessesAt, clockAt, type WorkingSetLayout } from "../memory-plan.ts";
import type { IntervalPass } from "../pass/interval-pass.ts";
import { alignmentHint } from "../pass/marks/alignment-hint.ts";
import { BesideMarks } from "../pass/marks/beside-marks.ts";
import { writeLine } from "../pass/marks/line-of-address.ts";
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
  /** Buffer of the references that inserted code records, and the address of the number of its used bytes. */
  buffer: number;
  bufferedAt: number;
}

/** An accessed place, or two such places at most a line apart. */
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

/** Writes code that compares hashes of lines and buffers references to sampled lines. */
class SampleWriter {
  readonly #targets: SampleTargets;
  readonly #writeClock: (sink: SnippetSink) => void;
  /** The sum of limit and multiplier, if that is below the range of hashes. */
  readonly #eitherLimit: number | undefined;
  /** Temporary locals: lines of the lower and the upper place, and their position in the buffer. */
  lower = NO_LOCAL;
  upper = NO_LOCAL;
  waits = NO_LOCAL;

  constructor(targets: SampleTargets, writeClock: (sink: SnippetSink) => void) {
    this.#targets = targets;
    this.#writeClock = writeClock;
    const either = (targets.limit >>> 0) + (targets.multiplier >>> 0);
    if (either < HASH_RANGE) this.#eitherLimit = either;
  }

  /** Records the references whose lines are sampled. The engine must treat that as rare, or it spends registers on it. */
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
    // Addresses above 4 GiB become `NO_LINE`, which the runtime leaves out.
    writeLine(sink, this.#targets.memory64, local, displacement + more, NO_LINE);
  }

  /** Replaces the line on the stack by 1 if it is sampled, else by 0. */
  #compareHash(sink: SnippetSink): void {
    sink.i32(this.#targets.multiplier);
    sink.plain(Op.I32_MUL);
    sink.i32(this.#targets.limit);
    sink.plain(Op.I32_LE_U);
  }

  /** Replaces the lower line on the stack by 1 if it or the next line may be sampled, else by 0. */
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
   * Buffers a reference without a call: after a call, engines assume that memory has moved. If code without a poll makes
   * more references than the buffer holds, the last ones stay.
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

  /** Buffers both lines of a place. Both are written, and sampled lines are kept, so that there is no branch to predict. */
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

  /** Replaces a buffer position and a number of entries by the position after these entries. */
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
 * The working-set tool with a sample of its locality: the marks' pass, with a comparison of each line's hash added. A
 * reference that follows another one to its place in straight code hits any cache of some size, so it is left out. The stack
 * and constant addresses are left out too.
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
    // Places below the address in the local are not combined in 64-bit memories.
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

/** Limit of the earlier touches of one base that are compared with a new one, for very long straight code. */
const MOST_COMPARED = 32;

/** A place whose line is checked, or two such places. */
interface Touch {
  base: number;
  /** Distance of the lower place from the base, and of the upper place from the lower one: 0 if there is only one. */
  offset: number;
  extra: number;
  /** Sites that access the lower place, and the upper one. */
  site: number;
  upperSite: number;
  /** Local with the address of the last access, symbolic or not, and the distance of that address from the base. */
  local: number;
  held: number;
  /** True once a later touch has taken the place in. */
  isGone: boolean;
  /** True while every path to the position of the walk passes the touch. */
  isKnown: boolean;
  /** Number of the basic block of the touch, and its position in the code. */
  block: number;
  position: number;
}

/**
 * Touches of one function: places (base value + offset) whose lines are checked, a single one, or two at most 64 bytes
 * apart. A place between two touched ones at most 64 bytes apart needs no touch of its own. A touch is known while every
 * path to the walk passes it. Inside a basic block, a later touch can take in an earlier one.
 */
class Touches {
  all: Touch[] = [];
  /** Known touches in program order. */
  #order: Touch[] = [];
  readonly #byBase = new Map<number, Touch[]>();
  #block = 0;

  reset(): void {
    this.all = [];
    this.forgetAll();
  }

  /** Ends a basic block: earlier touches can no longer be replaced. */
  endBlock(): void {
    this.#block++;
  }

  /** Forgets all touches: they may have happened long ago. */
  forgetAll(): void {
    this.#block++;
    this.#order = [];
    this.#byBase.clear();
  }

  /** Forgets the touches since `position`: a path may go past them. */
  forgetSince(position: number): void {
    this.#block++;
    for (let last = this.#order.at(-1); last !== undefined; last = this.#order.at(-1)) {
      if (last.position < position) return;
      last.isKnown = false;
      this.#order.pop();
    }
  }

  /** True if the line of the place is certainly checked already. */
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

  /** Returns a touch of this block that can take the place in. */
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

  /** Returns the newest touches of a base, the last one first. */
  #newest(base: number): readonly Touch[] {
    return this.#byBase.get(base)?.slice(-MOST_COMPARED).reverse() ?? [];
  }
}

/** Adds the place of an earlier touch, found by `Touches.near`, to a touch. */
function takeIn(touch: Touch, earlier: Touch): void {
  earlier.isGone = true;
  const { offset } = touch;
  const upper = earlier.offset + earlier.extra;
  if (earlier.offset < offset) touch.site = earlier.site;
  if (upper > offset) touch.upperSite = earlier.upperSite;
  touch.offset = Math.min(offset, earlier.offset);
  touch.extra = Math.max(offset, upper) - touch.offset;
}

/** Least number of code bytes of an access: bounds the number of sites. */
const LEAST_ACCESS_BYTES = 4;
const MOST_SITES = 1 << 21;

export interface WovenLocality {
  /** Size of the tool's memory with the tables. */
  endBytes: number;
  globals: readonly { type: ValType; initial: Uint8Array }[];
  /** Functions called at bulk instructions, by the names of the working set's. */
  listeners: RuntimeFunctions;
  /** Indices and addresses for the inserted code of touches. */
  sampling: SampleTargets;
  /** Function without parameters to call before each poll. */
  beforePoll: number;
  /** Fields of the layout, prefixed, for the host that reads the tables. */
  description: Readonly<Record<string, number | boolean>>;
}

/** Adds reuse distances to the working-set tool, if the options request them. */
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
    endBytes: Math.ceil(layout.endBytes / WASM_PAGE_BYTES) * WASM_PAGE_BYTES,
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
