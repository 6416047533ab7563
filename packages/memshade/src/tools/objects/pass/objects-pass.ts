import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";
import type { Insertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import { I32 } from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import type { CountedEvent } from "../event-table.ts";
import { allocates, fixedLength, hasLength } from "../instructions.ts";
import { COUNTER_BYTES } from "../layout.ts";
import type { SizeModel } from "../size-model.ts";

const NONE = -1;
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
  /** How objects are chosen; undefined: none are. */
  readonly sampling: SamplingTargets | undefined;
}

/** An instruction that makes an object. */
interface Allocation {
  /** Number of its event. */
  readonly number: number;
  readonly type: number;
  /** Elements, NONE where only the local knows. */
  readonly length: number;
  readonly start: number;
  readonly end: number;
}

export interface SamplingTargets {
  /** Global with the bytes that are left until the next sample. */
  readonly countdown: number;
  /** A function (object, site, size) → object for objects of a type, and the function type (object) → object. */
  readonly chosen: (type: number) => { readonly call: number; readonly pass: number };
}

/**
 * Counts how often stretches of code run in which objects are made or used: one counter for all instructions between two places where
 * control may come or go. What an instruction does is told by its immediates, so the reader knows the rest. Lengths are added up for each
 * instruction by itself.
 */
export class ObjectsPass implements ToolPass {
  readonly #targets: ObjectsTargets;
  readonly events: CountedEvent[] = [];
  #state!: WalkState;
  /** Counter of the stretch of code that is walked, NONE: it needs none so far. */
  #current = NONE;
  /** Those of the stretches in front of open blocks, by control index. */
  readonly #before: number[] = [];
  #length = NO_LOCAL;
  #left = NO_LOCAL;
  /** Counters so far; 0 is none. */
  counterCount = 1;

  constructor(targets: ObjectsTargets) {
    this.#targets = targets;
  }

  begin(state: WalkState): void {
    this.#state = state;
    this.#current = NONE;
    this.#length = NO_LOCAL;
    this.#left = NO_LOCAL;
  }

  enterBlock(): void {
    this.#before[this.#state.control.top + 1] = this.#current;
  }

  endBlock(): void {
    this.#current = NONE;
  }

  passBlock(): void {
    this.#current = this.#before[this.#state.control.top];
  }

  object(op: number, first: number, second: number, start: number, end: number): void {
    const isAllocation = allocates(op);
    if (op === Op.ARRAY_LEN || !(isAllocation || this.#targets.fields)) return;
    const { insertions, module, temporaries } = this.#state;
    if (this.#current === NONE) {
      const counter = this.#counter();
      this.#current = counter;
      insertions.add(
        start,
        this.#insertion((sink) => this.#add(sink, counter, () => sink.i64(1))),
      );
    }
    let elements = 0;
    if (hasLength(op)) {
      elements = this.#counter();
      if (this.#length === NO_LOCAL) this.#length = extraLocal(temporaries, I32);
      insertions.add(
        start,
        this.#insertion((sink) => sink.local(Op.LOCAL_TEE, this.#length)),
      );
      insertions.add(
        end,
        this.#insertion((sink) => this.#addLength(sink, elements)),
      );
    }
    const event = { offset: start - module.codePayloadStart, counter: this.#current, elements };
    const number = this.events.push(event) - 1;
    if (isAllocation && this.#targets.sampling !== undefined)
      this.#countDown(this.#targets.sampling, {
        ...{ number, type: first, start, end },
        length: hasLength(op) ? NONE : fixedLength(op, second),
      });
  }

  /** Where the code of calls comes to lie: they may be on the stack when an object is chosen. */
  call(_callee: number, tail: boolean, start: number): void {
    if (this.#targets.sampling !== undefined && !tail)
      this.#state.insertions.add(
        start,
        this.#insertion((sink) => sink.mark(start)),
      );
  }

  #counter(): number {
    return this.counterCount++;
  }

  #insertion(write: (sink: SnippetSink) => void): Insertion {
    return { write };
  }

  #add(sink: SnippetSink, counter: number, amount: () => void): void {
    const { memory, counters } = this.#targets;
    const at = counters + counter * COUNTER_BYTES;
    sink.i32(0);
    sink.i32(0);
    sink.access(Op.I64_LOAD, ALIGNED_U64, memory, at);
    amount();
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, ALIGNED_U64, memory, at);
  }

  #addLength(sink: SnippetSink, counter: number): void {
    const length = this.#length;
    this.#add(sink, counter, () => {
      sink.local(Op.LOCAL_GET, length);
      sink.plain(Op.I64_EXTEND_I32_U);
    });
  }

  /** Behind an allocation, whose object is on top of the stack. */
  #countDown(sampling: SamplingTargets, { number, type, length, start, end }: Allocation): void {
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
          if (length !== NONE) {
            sink.i32(fixed + each * length);
            return;
          }
          sink.local(Op.LOCAL_GET, this.#length);
          sink.i32(each);
          sink.plain(Op.I32_MUL);
          sink.i32(fixed);
          sink.plain(Op.I32_ADD);
        };
        sink.mark(start);
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
        sink.i32(number);
        pushSize();
        sink.indexed(Op.CALL, call);
        sink.end();
      }),
    );
  }
}
