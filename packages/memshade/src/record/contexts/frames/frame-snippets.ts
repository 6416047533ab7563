import * as Op from "../../../code/wasm/op.generated.ts";
import { NO_LOCAL } from "../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../rewrite/write/snippet-sink.ts";
import type { FollowedCalls } from "../entry-wrappers.ts";
import { ENTRY_WORD, HOST_WORD, Slot } from "../layout.ts";

const NOTHING = 0x40;

export interface FrameTargets {
  /** Memory with the frames. */
  memory: number;
  /** Global in which a caller leaves the address of the slot. */
  slotGlobal: number;
  /** (slot, tag, bytes, first slot, pushes, slots) → frame: the slot has another function's, or none. */
  enterFrame: number;
  /** Addresses of the host word, and of the slot of whoever calls from outside. */
  hostWord: number;
  rootSlot: number;
}

/** What a function says of itself when it asks for a frame. */
export interface FrameRequest {
  tag: number;
  bytes: number;
  firstSlot: number;
  pushes: number;
  slots: number;
}

/** Writes what functions and calls do to have a frame for the context they run in. */
export class FrameSnippets {
  readonly #targets: FrameTargets;

  constructor(targets: FrameTargets) {
    this.#targets = targets;
  }

  /** First thing in a body: puts the frame into a local. */
  enter(sink: SnippetSink, frame: number, request: FrameRequest): void {
    const { memory, slotGlobal } = this.#targets;
    sink.indexed(Op.GLOBAL_GET, slotGlobal);
    sink.local(Op.LOCAL_TEE, frame);
    sink.access(Op.I32_LOAD, 2, memory, Slot.tag);
    sink.i32(request.tag);
    sink.plain(Op.I32_NE);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    this.pushNew(sink, request);
    sink.local(Op.LOCAL_SET, frame);
    sink.plain(Op.ELSE);
    sink.local(Op.LOCAL_GET, frame);
    sink.access(Op.I32_LOAD, 2, memory, Slot.frame);
    sink.local(Op.LOCAL_SET, frame);
    sink.end();
  }

  /** Pushes the frame of a function that may not have been called at this slot before. */
  pushNew(sink: SnippetSink, { tag, bytes, firstSlot, pushes, slots }: FrameRequest): void {
    sink.indexed(Op.GLOBAL_GET, this.#targets.slotGlobal);
    for (const value of [tag, bytes, firstSlot, pushes, slots]) sink.i32(value);
    sink.indexed(Op.CALL, this.#targets.enterFrame);
  }

  /** First thing in a body without a frame of its own: keeps the slot of its caller for the calls it makes. */
  keepSlot(sink: SnippetSink, local: number): void {
    sink.indexed(Op.GLOBAL_GET, this.#targets.slotGlobal);
    sink.local(Op.LOCAL_SET, local);
  }

  /** Before a call: its slot is at `offset` from what the local has. */
  call(sink: SnippetSink, local: number, offset: number): void {
    sink.local(Op.LOCAL_GET, local);
    if (offset !== 0) {
      sink.i32(offset);
      sink.plain(Op.I32_ADD);
    }
    sink.indexed(Op.GLOBAL_SET, this.#targets.slotGlobal);
  }

  /**
   * Behind `call`, where the host may get control: it continues there, or at the slot in a local. `leaves`: it certainly
   * gets control.
   */
  callHost(sink: SnippetSink, leaves: boolean, slot = NO_LOCAL): void {
    const { memory, slotGlobal, hostWord, rootSlot } = this.#targets;
    for (const word of leaves ? [HOST_WORD, ENTRY_WORD] : [HOST_WORD]) {
      sink.i32(hostWord);
      if (slot === NO_LOCAL) sink.indexed(Op.GLOBAL_GET, slotGlobal);
      else sink.local(Op.LOCAL_GET, slot);
      sink.i32(rootSlot);
      sink.plain(Op.I32_SUB);
      sink.access(Op.I32_STORE, 2, memory, word);
    }
  }

  /** Before a call behind which the host may stand elsewhere: keeps in a local where it was. */
  keepHost(sink: SnippetSink, local: number): void {
    const { memory, hostWord } = this.#targets;
    sink.i32(hostWord);
    sink.access(Op.I32_LOAD, 2, memory, HOST_WORD);
    sink.local(Op.LOCAL_SET, local);
  }

  /** Behind such a call: the host is where it was. */
  returned(sink: SnippetSink, local: number, leaves: boolean): void {
    const { memory, hostWord } = this.#targets;
    for (const word of leaves ? [HOST_WORD, ENTRY_WORD] : [HOST_WORD]) {
      sink.i32(hostWord);
      sink.local(Op.LOCAL_GET, local);
      sink.access(Op.I32_STORE, 2, memory, word);
    }
  }
}

/** The words that wrappers around entered functions keep: where the host stands, counted from the root's slot. */
export function entryStack({
  slotGlobal,
  hostWord,
  rootSlot,
}: FrameTargets): Omit<FollowedCalls, "shadowMemory"> {
  return {
    stackGlobal: slotGlobal,
    frames: {
      hostWord: { global: -1, offset: hostWord },
      emptyStack: { global: -1, offset: rootSlot },
    },
  };
}
