import { encodeConstantExpression, I32, type ValType } from "../../../../code/wasm/index.ts";
import { type FrameBase, placeCode } from "../../../contexts/frame-base.ts";
import { ENTRY_WORD, HOST_WORD, STACK_FRAME_BYTES, StackFrame } from "../../../contexts/layout.ts";
import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import { Waiting } from "../../host-interface.ts";
import type { ShadowLayout } from "../../options.ts";
import { Control } from "../layout.ts";

const HAS_MEMORY_INDEX = 0x40;
const WORD = 2 | HAS_MEMORY_INDEX;
const { instances: INSTANCES, lock: LOCK, lockTurn: LOCK_TURN } = Control;
const SPINS = 100;
/** Spins from one call of the host to the next, where nothing but spinning is allowed: a power of two. */
const SPINS_TO_HOST = 65_536;
const WAIT_NANOSECONDS = 100_000;
/** Waits in which the lock stays in one hand until its holder is taken for dead: some seconds. */
const PATIENCE = 20_000;

/** What an instance needs to use the tables together with others. */
export interface ThreadSharing {
  frames: FrameBase;
  /** The instance's own globals, behind that of the newest frame. */
  globals: { type: ValType; initial: Uint8Array }[];
  /** Code for what is not the same in all instances. */
  constants: Record<string, Uint8Array>;
  /** () → (): take the lock of the tables, and give it back. One instance may take it several times. */
  lock: number;
  unlock: number;
  /** () → (): finds the instance its place. To run before anything else. */
  start: number;
  /** Globals for the host. */
  exports: { name: string; index: number }[];
}

/**
 * Adds what instances of a module need that share the shadow memory.
 *
 * @param newest global with the newest frame
 * @param spun function () → i32 that tells the host of spins, and says whether there is one
 */
export function shareTables(
  appended: AppendedFunctions,
  layout: ShadowLayout,
  shadowMemory: number,
  newest: number,
  spun: number,
): ThreadSharing {
  const [base, instance, depth, waiting] = [newest + 1, newest + 2, newest + 3, newest + 4];
  const nothing = appended.typeIndex([], []);
  const baseBytes = layout.stack - layout.hostWord;
  const emptyStack = baseBytes - STACK_FRAME_BYTES;
  const control = (body: BodyBuilder): BodyBuilder => body.i32(layout.control);

  const start = appended.add(nothing, () => {
    const body = new BodyBuilder([I32]);
    control(body).i32(1).op("i32.atomic.rmw.add", WORD, shadowMemory, INSTANCES).op("local.tee", 0);
    body.i32(1).op("i32.add").op("global.set", instance);
    // The first instance, as a rule that of the main thread, keeps its stack for itself; later ones take turns.
    body.op("local.get", 0).open("if", I32);
    body
      .op("local.get", 0)
      .i32(1)
      .op("i32.sub")
      .i32(layout.stackCount - 1)
      .op("i32.rem_u")
      .i32(1)
      .op("i32.add");
    body.op("else").i32(0).end();
    body.i32(layout.stackDistance).op("i32.mul").i32(layout.hostWord).op("i32.add").op("global.set", base);
    body.op("global.get", base).i32(emptyStack).op("i32.add").op("global.set", newest);
    // The root's frame, and a zero where there would be a call site before any call.
    for (const frame of [emptyStack, emptyStack - STACK_FRAME_BYTES])
      body
        .op("global.get", base)
        .i32(layout.nodes)
        .op("i32.store", WORD, shadowMemory, frame + StackFrame.node);
    for (const word of [HOST_WORD, ENTRY_WORD])
      body.op("global.get", base).i32(0).op("i32.store", WORD, shadowMemory, word);
    return body.finish();
  });

  const lock = appended.add(nothing, () => {
    const [holder, spins, turn, waits] = [0, 1, 2, 3];
    const body = new BodyBuilder([I32, I32, I32, I32]);
    const take = (expected: () => void): void => {
      control(body);
      expected();
      body.op("global.get", instance).op("i32.atomic.rmw.cmpxchg", WORD, shadowMemory, LOCK);
    };
    control(body).op("i32.atomic.load", WORD, shadowMemory, LOCK);
    body.op("global.get", instance).op("i32.eq").open("if");
    body.op("global.get", depth).i32(1).op("i32.add").op("global.set", depth).op("return").end();
    body.open("block").open("loop");
    take(() => body.i32(0));
    body.op("local.tee", holder).op("i32.eqz").op("br_if", 1);
    body.op("local.get", spins).i32(1).op("i32.add").op("local.tee", spins);
    body.i32(SPINS).op("i32.lt_u").op("br_if", 0);
    // Where a thread must not stand still, as that of a page.
    body.op("global.get", waiting).i32(Waiting.stands).op("i32.ne").open("if");
    body
      .op("local.get", spins)
      .i32(SPINS_TO_HOST - 1)
      .op("i32.and")
      .op("br_if", 1);
    body.op("call", spun).op("drop");
    body.op("global.get", waiting).i32(Waiting.lost).op("i32.ne").op("br_if", 1);
    body.i32(Waiting.spins).op("global.set", waiting);
    take(() => body.op("local.get", holder));
    body.op("local.get", holder).op("i32.ne").op("br_if", 1).op("br", 2).end();
    control(body).op("i32.atomic.load", WORD, shadowMemory, LOCK_TURN).op("local.get", turn).op("i32.ne");
    body.open("if");
    control(body).op("i32.atomic.load", WORD, shadowMemory, LOCK_TURN).op("local.set", turn);
    body.i32(0).op("local.set", waits).end();
    control(body).op("local.get", holder).i64(WAIT_NANOSECONDS);
    body.op("memory.atomic.wait32", WORD, shadowMemory, LOCK).op("drop");
    body.op("local.get", waits).i32(1).op("i32.add").op("local.tee", waits);
    body.i32(PATIENCE).op("i32.lt_u").op("br_if", 0);
    // A thread that was ended while it had the lock never gives it back.
    take(() => body.op("local.get", holder));
    body.op("local.get", holder).op("i32.ne").op("br_if", 0);
    body.end().end();
    control(body).i32(1).op("i32.atomic.rmw.add", WORD, shadowMemory, LOCK_TURN).op("drop");
    return body.finish();
  });

  const unlock = appended.add(nothing, () => {
    const body = new BodyBuilder();
    body.op("global.get", depth).open("if");
    body.op("global.get", depth).i32(1).op("i32.sub").op("global.set", depth).op("return").end();
    // Not if it was taken away.
    control(body).op("global.get", instance).i32(0);
    body.op("i32.atomic.rmw.cmpxchg", WORD, shadowMemory, LOCK).op("drop");
    return body.finish();
  });

  const zero = { type: I32, initial: encodeConstantExpression(I32, 0) };
  return {
    frames: { hostWord: { global: base, offset: 0 }, emptyStack: { global: base, offset: emptyStack } },
    globals: [zero, zero, zero, zero],
    constants: {
      STACK: placeCode({ global: base, offset: baseBytes }),
      INSTANCE: placeCode({ global: instance, offset: 0 }),
    },
    lock,
    unlock,
    start,
    exports: [
      { name: "base", index: base },
      { name: "instance", index: instance },
      { name: "waiting", index: waiting },
    ],
  };
}
