import { I32 } from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { CallFrames, type Frames } from "../../../contexts/frames/call-frames.ts";
import { FRAME_HEADER_BYTES } from "../../../contexts/layout.ts";
import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";
import type { Insertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import {
  type CountedEvent,
  type CounterPlace,
  FIRST_COUNTER,
  placeInFrame,
  placeInTable,
} from "../event-table.ts";
import { allocates, fixedLength, hasLength } from "../instructions.ts";
import { COUNTER_BYTES } from "../layout.ts";
import type { SizeModel } from "../size-model.ts";

const NO_LENGTH = -1;
const NO_LOCAL = -1;
/** Alignment of a u64, as a power of two. */
const ALIGNED_U64 = 3;

/** What a pass of the tool refers to in the instrumented module. */
export interface ObjectsTargets {
  /** Index of the tool's memory, and where its counters begin. */
  readonly memory: number;
  readonly counters: number;
  readonly model: SizeModel;
  /** Reads and writes of fields and elements are counted too. */
  readonly fields: boolean;
  /** Frames in which allocations are counted by calling context; undefined: they are counted in the table. */
  readonly frames: Frames | undefined;
  /** How objects are chosen; undefined: none are. */
  readonly sampling: SamplingTargets | undefined;
}

/** An instruction that makes an object. */
interface Allocation {
  /** Number of its event. */
  readonly number: number;
  readonly type: number;
  /** Elements, NO_LENGTH where only the local knows. */
  readonly length: number;
  readonly end: number;
}

export interface SamplingTargets {
  /** Global with the bytes that are left until the next sample. */
  readonly countdown: number;
  /** A function (object, frame, site, size) → object for objects of a type, and the function type (object) → object. */
  readonly chosen: (type: number) => { readonly call: number; readonly pass: number };
}

/** A counter of the function that is walked. Where it is is decided when the walk has ended. */
interface Counter {
  /** It counts allocations. */
  ofAllocations: boolean;
  place: CounterPlace;
}

interface PendingEvent extends Omit<CountedEvent, "counter" | "elements"> {
  readonly counter: Counter;
  readonly elements: Counter | undefined;
}

/**
 * Counts how often stretches of code run in which objects are made or used: one counter for all instructions between two places where
 * control may come or go. What an instruction does is told by its immediates, so the reader knows the rest. Lengths are added up for each
 * instruction by itself.
 */
export class ObjectsPass implements ToolPass {
  readonly everywhere = true;
  readonly #targets: ObjectsTargets;
  readonly #frames: CallFrames | undefined;
  readonly #events: PendingEvent[] = [];
  #state!: WalkState;
  /** Counter of the stretch of code that is walked; undefined: it needs none so far. */
  #current: Counter | undefined;
  /** Those of the stretches in front of open blocks, by control index. */
  readonly #before: (Counter | undefined)[] = [];
  /** Those of the function. */
  #counters: Counter[] = [];
  #length = NO_LOCAL;
  #left = NO_LOCAL;
  /** Numbers of counters in the table so far. */
  counterCount: number;

  /** `taken`: counters in the table that are somebody else's. */
  constructor(targets: ObjectsTargets, taken: number) {
    this.counterCount = FIRST_COUNTER + taken;
    this.#targets = targets;
    if (targets.frames !== undefined) this.#frames = new CallFrames(targets.frames);
  }

  /** What is counted, and where. */
  get events(): CountedEvent[] {
    return this.#events.map(({ offset, counter, elements }) => ({
      offset,
      counter: counter.place,
      elements: elements?.place ?? 0,
    }));
  }

  begin(state: WalkState, codeStart: number): void {
    this.#state = state;
    this.#current = undefined;
    this.#counters = [];
    this.#length = NO_LOCAL;
    this.#left = NO_LOCAL;
    this.#frames?.begin(state, codeStart, true);
  }

  enterBlock(): void {
    this.#before[this.#state.control.top + 1] = this.#current;
  }

  endBlock(): void {
    this.#current = undefined;
  }

  passBlock(): void {
    this.#current = this.#before[this.#state.control.top];
  }

  object(op: number, first: number, second: number, start: number, end: number): void {
    const isAllocation = allocates(op);
    if (op === Op.ARRAY_LEN || !(isAllocation || this.#targets.fields)) return;
    const { insertions, module, temporaries } = this.#state;
    if (this.#current === undefined) {
      const counter = this.#counter(false);
      this.#current = counter;
      insertions.add(
        start,
        this.#insertion((sink) => this.#add(sink, counter, () => sink.i64(1))),
      );
    }
    this.#current.ofAllocations ||= isAllocation;
    let elements: Counter | undefined;
    if (hasLength(op)) {
      const counter = this.#counter(isAllocation);
      elements = counter;
      if (this.#length === NO_LOCAL) this.#length = extraLocal(temporaries, I32);
      insertions.add(
        start,
        this.#insertion((sink) => sink.local(Op.LOCAL_TEE, this.#length)),
      );
      insertions.add(
        end,
        this.#insertion((sink) => this.#addLength(sink, counter)),
      );
    }
    const event = { offset: start - module.codePayloadStart, counter: this.#current, elements };
    const number = this.#events.push(event) - 1;
    if (isAllocation && this.#targets.sampling !== undefined)
      this.#countDown(this.#targets.sampling, {
        number,
        type: first,
        end,
        length: hasLength(op) ? NO_LENGTH : fixedLength(op, second),
      });
  }

  call(callee: number, isTail: boolean, start: number, end: number): void {
    this.#frames?.call(callee, isTail, start, end);
  }

  /** Decides where the function's counters are. */
  end(): void {
    let inFrame = 0;
    for (const counter of this.#counters)
      counter.place =
        counter.ofAllocations && this.#frames !== undefined
          ? placeInFrame(inFrame++)
          : placeInTable(this.counterCount++);
  }

  #counter(ofAllocations: boolean): Counter {
    const counter = { ofAllocations, place: 0 };
    this.#counters.push(counter);
    return counter;
  }

  #insertion(write: (sink: SnippetSink) => void): Insertion {
    return { write };
  }

  #add(sink: SnippetSink, { place }: Counter, amount: () => void): void {
    const { memory, counters } = this.#targets;
    const isInFrame = (place & 1) === 1;
    const number = place >>> 1;
    const at = (isInFrame ? FRAME_HEADER_BYTES : counters) + number * COUNTER_BYTES;
    for (let twice = 0; twice < 2; twice++)
      if (isInFrame) sink.local(Op.LOCAL_GET, this.#frames!.local);
      else sink.i32(0);
    sink.access(Op.I64_LOAD, ALIGNED_U64, memory, at);
    amount();
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, ALIGNED_U64, memory, at);
  }

  #addLength(sink: SnippetSink, counter: Counter): void {
    const length = this.#length;
    this.#add(sink, counter, () => {
      sink.local(Op.LOCAL_GET, length);
      sink.plain(Op.I64_EXTEND_I32_U);
    });
  }

  /** Behind an allocation, whose object is on top of the stack. */
  #countDown(sampling: SamplingTargets, { number, type, length, end }: Allocation): void {
    const { countdown } = sampling;
    const { insertions, module, temporaries } = this.#state;
    if (this.#left === NO_LOCAL) this.#left = extraLocal(temporaries, I32);
    const definition = module.types[type];
    const { model } = this.#targets;
    const fixed = model.fixedBytes(definition);
    const each = model.elementBytes(definition);
    const { call, pass } = sampling.chosen(type);
    insertions.add(
      end,
      this.#insertion((sink) => {
        const pushSize = (): void => {
          if (length !== NO_LENGTH) {
            sink.i32(fixed + each * length);
            return;
          }
          sink.local(Op.LOCAL_GET, this.#length);
          sink.i32(each);
          sink.plain(Op.I32_MUL);
          sink.i32(fixed);
          sink.plain(Op.I32_ADD);
        };
        sink.indexed(Op.GLOBAL_GET, countdown);
        pushSize();
        sink.plain(Op.I32_SUB);
        sink.local(Op.LOCAL_TEE, this.#left);
        sink.indexed(Op.GLOBAL_SET, countdown);
        sink.local(Op.LOCAL_GET, this.#left);
        sink.i32(0);
        sink.plain(Op.I32_LT_S);
        sink.rarely();
        sink.openTyped(Op.IF, pass);
        if (this.#frames === undefined) sink.i32(0);
        else sink.local(Op.LOCAL_GET, this.#frames.local);
        sink.i32(number);
        pushSize();
        sink.indexed(Op.CALL, call);
        sink.end();
      }),
    );
  }
}
