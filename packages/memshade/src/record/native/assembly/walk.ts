// Walks the stack of the running thread from a hook outwards, until a frame matches the thread's previous
// stack.
//
// The state of a frame is its return address, and the stack pointer and the frame pointer after the return.
// Together with the words read on the way (return addresses, saved frame pointers), it determines all frames
// further out. If a frame has the state of a frame of the previous walk, the words of the outer frames are
// compared. If all of them are unchanged, the outer frames are unchanged and keep their nodes.
//
// The words are compared outwards, frame by frame, so that only memory of the current stack is read. A frame
// pointer is compared only if outer frames depend on it. In most code rbp is a general register, whose value
// changes with every iteration of a loop.
import {
  Header,
  MOST_FRAMES,
  STACK_FRAME_BYTES,
  StackFrame,
  Thread,
  WALKED,
  WalkEnd,
  Link,
} from "./layout.generated";
import { load64 } from "./machine";
import { step, Step } from "./step";

@inline
function frameAt(thread: u32, index: i32): usize {
  return thread + Thread.stack + index * STACK_FRAME_BYTES;
}
@inline
function walkedAt(thread: u32, index: i32): usize {
  return thread + WALKED + index * STACK_FRAME_BYTES;
}

@inline
function isNeeded(link: u32): bool {
  return (link & Link.needed) !== 0;
}

/**
 * Returns `Link.needed` if frames further out depend on this frame's frame pointer. `outer`: link of the
 * caller's frame.
 */
@inline
function needed(outer: u32): u32 {
  if ((outer & Link.byPointer) !== 0) return Link.needed;
  return (outer & (Link.wordsMask | Link.unchecked)) === 0 ? outer & Link.needed : 0;
}

/**
 * Returns the bits in which two frames differ; `b` is compared with a frame `a` of the previous stack. One
 * expression is cheaper than a branch per field.
 */
@inline
function difference(a: usize, b: usize): u64 {
  return (
    (load<u64>(a, StackFrame.place) ^ load<u64>(b, StackFrame.place)) |
    (load<u64>(a, StackFrame.address) ^ load<u64>(b, StackFrame.address)) |
    ((load<u64>(a, StackFrame.framePointer) ^ load<u64>(b, StackFrame.framePointer)) &
      -(<u64>isNeeded(load<u32>(a, StackFrame.link)))) |
    ((load<u32>(a, StackFrame.link) ^ load<u32>(b, StackFrame.link)) & Link.interrupted)
  );
}

@inline
function copyFrame(to: usize, from: usize): void {
  v128.store(to, v128.load(from));
  v128.store(to, v128.load(from, 16), 16);
}

/** Returns the index of the innermost frame further out than `index` whose words have changed, or -1. */
function firstChanged(thread: u32, index: i32): i32 {
  const outermost = frameAt(thread, 0);
  let frame = frameAt(thread, index - 1);
  for (; frame >= outermost; frame -= STACK_FRAME_BYTES) {
    const link = load<u32>(frame, StackFrame.link);
    if ((link & Link.unchecked) !== 0) break;
    const place = load<u64>(frame, StackFrame.place);
    if (load64(place) !== load<u64>(frame, StackFrame.address)) break;
    if (!isNeeded(link)) continue;
    const words: u64 = link & Link.wordsMask;
    if (words === 0) continue;
    if (load64(place + 8 - 8 * words) !== load<u64>(frame, StackFrame.framePointer)) break;
  }
  return <i32>((frame + STACK_FRAME_BYTES - outermost) / STACK_FRAME_BYTES) - 1;
}

/** Returns the index of the innermost frame of the previous stack that can be reused, or -1. */
function lastFrame(thread: u32): i32 {
  const epoch = load<u32>(Header.epoch);
  const isOld = load<u32>(thread, Thread.epoch) !== epoch;
  store<u32>(thread, epoch, Thread.epoch);
  return isOld || load<u32>(thread, Thread.end) === WalkEnd.cut ? -1 : load<u32>(thread, Thread.frames) - 1;
}

/** Returns true if the outermost frame, where the previous walk was lost, still has no caller. */
function isStillLost(thread: u32): bool {
  const tried = walkedAt(thread, MOST_FRAMES);
  copyFrame(tried, frameAt(thread, 0));
  return step(tried, tried + STACK_FRAME_BYTES, thread + Thread.room) === Step.lost;
}

/** Walks the stack of a hook. `place`: address of the return address; `address`: its value. */
export function walk(thread: u32, place: u64, address: u64, framePointer: u64): void {
  walkFrom(thread, place, address, framePointer, 0);
}

/**
 * Walks the stack of an instruction at `address` that has not run yet. `place`: the word below its stack
 * pointer.
 */
export function walkInterrupted(thread: u32, place: u64, address: u64, framePointer: u64): void {
  walkFrom(thread, place, address, framePointer, Link.unchecked | Link.interrupted);
}

@inline
function walkFrom(thread: u32, place: u64, address: u64, framePointer: u64, link: u32): void {
  const frame = walkedAt(thread, 0);
  store<u64>(frame, place, StackFrame.place);
  store<u64>(frame, address, StackFrame.address);
  store<u64>(frame, framePointer, StackFrame.framePointer);
  store<u32>(frame, 0, StackFrame.site);
  store<u32>(frame, link, StackFrame.link);
  if (!walkOn(thread, lastFrame(thread))) walkOn(thread, -1);
}

/**
 * Walks on from the first frame. Returns false if the new frames and the reused ones are too many. `candidate`:
 * index of the innermost frame that can be reused.
 */
function walkOn(thread: u32, candidate: i32): bool {
  let count: i32 = 0;
  while (count < <i32>MOST_FRAMES) {
    const frame = walkedAt(thread, count);
    const place = load<u64>(frame, StackFrame.place);
    for (; candidate >= 0; candidate--)
      if (load<u64>(frameAt(thread, candidate), StackFrame.place) >= place) break;
    if (candidate >= 0)
      if (difference(frameAt(thread, candidate), frame) === 0) {
        const changed = firstChanged(thread, candidate);
        if (changed < 0 && (load<u32>(thread, Thread.end) === WalkEnd.whole || isStillLost(thread))) {
          // The frame is the same, but its words may differ: they depend on the function that it calls now.
          const last = frameAt(thread, candidate);
          const link = load<u32>(last, StackFrame.link) & Link.needed;
          store<u32>(last, load<u32>(frame, StackFrame.link) | link, StackFrame.link);
          return join(thread, candidate + 1, count);
        }
        candidate = changed;
      }
    const result = step(frame, walkedAt(thread, ++count), thread + Thread.room);
    if (result === Step.made) continue;
    store<u32>(thread, result === Step.lost ? WalkEnd.lost : WalkEnd.whole, Thread.end);
    return join(thread, 0, count);
  }
  store<u32>(thread, WalkEnd.cut, Thread.end);
  return join(thread, 0, count);
}

/** Puts the walked frames behind the first `reused` frames of the previous stack. */
function join(thread: u32, reused: u32, count: u32): bool {
  if (reused + count > MOST_FRAMES) return false;
  let to = frameAt(thread, reused);
  // The outermost frame's pointer may have decided whether the walk went on, so it counts as needed.
  let outer: u32 = reused === 0 ? Link.byPointer : load<u32>(to - STACK_FRAME_BYTES, StackFrame.link);
  for (let from = walkedAt(thread, count - 1); from >= walkedAt(thread, 0); from -= STACK_FRAME_BYTES) {
    copyFrame(to, from);
    outer = load<u32>(from, StackFrame.link) | needed(outer);
    store<u32>(to, outer, StackFrame.link);
    to += STACK_FRAME_BYTES;
  }
  store<u32>(thread, reused + count, Thread.frames);
  store<u32>(thread, min(reused, load<u32>(thread, Thread.settled)), Thread.settled);
  return true;
}
