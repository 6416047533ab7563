// Walks the stack of the thread that runs, from a hook outwards, until it meets what is left of the thread's last stack.
//
// A frame's state is its return address, the stack pointer and the frame pointer behind the return. All frames further out follow from
// it and from the words in memory that were read on the way: return addresses and saved frame pointers. So where a frame of this
// walk has the state of a frame of the last one, and all those words of the frames further out are what they were, these frames
// are what they were, and keep their nodes. The words are looked at outwards, frame by frame, so that only memory is read that
// is part of the stack of now. Frame pointers are part of this only where frames further out depend on them: in most code the
// register is one like others, and has a new value whenever a loop goes round.
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

/** Of the link of a frame, with `outer` that of its caller's: whether frames further out depend on its frame pointer. */
@inline
function needed(outer: u32): u32 {
  if ((outer & Link.byPointer) !== 0) return Link.needed;
  return (outer & (Link.wordsMask | Link.unchecked)) === 0 ? outer & Link.needed : 0;
}

/** Bits in which the states of two frames differ, one of them of the last stack; all at once, for a branch each would cost more. */
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

/** Of the frames further out than `index`, the first that the words it was found by have changed of; -1: there is none. */
function firstChanged(thread: u32, index: i32): i32 {
  const outermost = frameAt(thread, 0);
  let frame = frameAt(thread, index - 1);
  for (; frame >= outermost; frame -= STACK_FRAME_BYTES) {
    const how = load<u32>(frame, StackFrame.link);
    if ((how & Link.unchecked) !== 0) break;
    const place = load<u64>(frame, StackFrame.place);
    if (load64(place) !== load<u64>(frame, StackFrame.address)) break;
    if (!isNeeded(how)) continue;
    const words: u64 = how & Link.wordsMask;
    if (words === 0) continue;
    if (load64(place + 8 - 8 * words) !== load<u64>(frame, StackFrame.framePointer)) break;
  }
  return <i32>((frame + STACK_FRAME_BYTES - outermost) / STACK_FRAME_BYTES) - 1;
}

/** The innermost frame of the last stack that can be of use; -1: there is none. */
function lastFrame(thread: u32): i32 {
  const epoch = load<u32>(Header.epoch);
  const isOld = load<u32>(thread, Thread.epoch) !== epoch;
  store<u32>(thread, epoch, Thread.epoch);
  return isOld || load<u32>(thread, Thread.end) === WalkEnd.cut ? -1 : load<u32>(thread, Thread.frames) - 1;
}

/** Nothing led on from the outermost frame; it may by now. */
function isStillLost(thread: u32): bool {
  const tried = walkedAt(thread, MOST_FRAMES);
  copyFrame(tried, frameAt(thread, 0));
  return step(tried, tried + STACK_FRAME_BYTES, thread + Thread.room) === Step.lost;
}

/** Makes the stack that of a hook: `place` is where its return address lies, `address` what that is. */
export function walk(thread: u32, place: u64, address: u64, framePointer: u64): void {
  walkFrom(thread, place, address, framePointer, 0);
}

/** Makes the stack that of an instruction at `address` that is about to run: `place` is the word below its stack pointer. */
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

/** Walks on from the first frame. False: together with what is known there are too many frames. */
function walkOn(thread: u32, known: i32): bool {
  let count: i32 = 0;
  while (count < <i32>MOST_FRAMES) {
    const frame = walkedAt(thread, count);
    const place = load<u64>(frame, StackFrame.place);
    for (; known >= 0; known--) if (load<u64>(frameAt(thread, known), StackFrame.place) >= place) break;
    if (known >= 0)
      if (difference(frameAt(thread, known), frame) === 0) {
        const changed = firstChanged(thread, known);
        if (changed < 0 && (load<u32>(thread, Thread.end) === WalkEnd.whole || isStillLost(thread))) {
          // It is the same frame, but this walk may have found it by other words: by those of the function it calls now.
          const last = frameAt(thread, known);
          const link = load<u32>(last, StackFrame.link) & Link.needed;
          store<u32>(last, load<u32>(frame, StackFrame.link) | link, StackFrame.link);
          return join(thread, known + 1, count);
        }
        known = changed;
      }
    const result = step(frame, walkedAt(thread, ++count), thread + Thread.room);
    if (result === Step.made) continue;
    store<u32>(thread, result === Step.lost ? WalkEnd.lost : WalkEnd.whole, Thread.end);
    return join(thread, 0, count);
  }
  store<u32>(thread, WalkEnd.cut, Thread.end);
  return join(thread, 0, count);
}

/** Puts the frames that were walked behind the first `kept` of the last stack. */
function join(thread: u32, kept: u32, count: u32): bool {
  if (kept + count > MOST_FRAMES) return false;
  let to = frameAt(thread, kept);
  // What led on from the outermost frame, or did not, may have been its frame pointer.
  let outer: u32 = kept === 0 ? Link.byPointer : load<u32>(to - STACK_FRAME_BYTES, StackFrame.link);
  for (let from = walkedAt(thread, count - 1); from >= walkedAt(thread, 0); from -= STACK_FRAME_BYTES) {
    copyFrame(to, from);
    outer = load<u32>(from, StackFrame.link) | needed(outer);
    store<u32>(to, outer, StackFrame.link);
    to += STACK_FRAME_BYTES;
  }
  store<u32>(thread, kept + count, Thread.frames);
  store<u32>(thread, min(kept, load<u32>(thread, Thread.settled)), Thread.settled);
  return true;
}
