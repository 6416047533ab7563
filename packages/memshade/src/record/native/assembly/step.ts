import { Link, Rule, RuleKind, StackFrame } from "./layout.generated";
import { load64, load8 } from "./machine";
import { isMapped } from "./probe";
import { kindOf, ruleOf } from "./rules";

export enum Step {
  made,
  whole,
  /** No rule leads to a caller. */
  lost,
}

/** A frame pointer that leads farther than this is followed only if the word there is mapped. */
const FAR: u64 = 1 << 14;
const ADDRESS_END: u64 = (<u64>1) << 47;
const PAGE_BYTES: u64 = 4096;
/** Offsets of the saved rbp, rsp and rip in a signal's frame, from the stack pointer in its trampoline. */
const SIGNAL_RBP: u64 = 120;
const SIGNAL_RSP: u64 = 160;
const SIGNAL_RIP: u64 = 168;
/** Opcodes of calls: `call rel32`, and group 5 with the call's extension of the opcode. */
const CALL: u32 = 0xe8;
const GROUP_5: u32 = 0xff;
const GROUP_5_CALL: u32 = 2;
/** Offset of the end of the push instruction in a PLT entry. */
const PUSHED_AT: u64 = 11;

/**
 * Finds the caller of the frame at `from`, stores that frame's site, and writes the caller to `to`. `room`:
 * 32 bytes of the thread's own.
 * Most frames have a CFA relative to the stack pointer. All other rules are in a function of their own, which
 * keeps this one small enough to inline.
 */
@inline
export function step(from: usize, to: usize, room: usize): Step {
  const address = load<u64>(from, StackFrame.address);
  const isInterrupted = load<u32>(from, StackFrame.link) >>> 31;
  const rule = ruleOf(address + isInterrupted - 1, room);
  store<u32>(from, <u32>(rule >>> 32), StackFrame.site);
  if (kindOf(rule) !== RuleKind.stackPointer) return stepOtherwise(from, to, <u32>rule);
  const cfa = load<u64>(from, StackFrame.place) + 8 + offsetOf(<u32>rule);
  const words = wordsOf(<u32>rule);
  let framePointer = load<u64>(from, StackFrame.framePointer);
  if (words !== 0) framePointer = load64(cfa - 8 * words);
  return stepTo(to, cfa, framePointer, <u32>words);
}

@inline
function offsetOf(rule: u32): u64 {
  return 8 * (<u64>(rule >>> Rule.cfaShift) & Rule.cfaMask);
}
@inline
function wordsOf(rule: u32): u64 {
  return (rule >>> Rule.savedShift) & Rule.savedMask;
}

@inline
function stepTo(to: usize, cfa: u64, framePointer: u64, link: u32): Step {
  const caller = load64(cfa - 8);
  if (caller - 1 >= ADDRESS_END - 1) return caller === 0 ? Step.whole : Step.lost;
  store<u64>(to, cfa - 8, StackFrame.place);
  store<u64>(to, caller, StackFrame.address);
  store<u64>(to, framePointer, StackFrame.framePointer);
  store<u32>(to, link, StackFrame.link);
  return Step.made;
}

function stepOtherwise(from: usize, to: usize, rule: u32): Step {
  const place = load<u64>(from, StackFrame.place);
  const address = load<u64>(from, StackFrame.address);
  const framePointer = load<u64>(from, StackFrame.framePointer);
  const offset = offsetOf(rule);
  const words = wordsOf(rule);
  let link: u32 = <u32>words;
  let cfa: u64 = 0;
  let savedAt: u64 = 0;
  const kind = rule & Rule.kindMask;
  if (kind === RuleKind.framePointer) {
    cfa = framePointer + offset;
    if (!leadsOn(place, cfa)) return Step.lost;
    savedAt = cfa - 8 * words;
    link |= Link.byPointer;
  } else if (kind === RuleKind.saved) {
    if (!leadsOn(place, framePointer - offset + 8)) return Step.lost;
    cfa = load64(framePointer - offset);
    if (!leadsOn(place, cfa)) return Step.lost;
    savedAt = framePointer + 8 * (words - 1);
    link = Link.unchecked | Link.byPointer;
  } else if (kind === RuleKind.linkage) {
    cfa = place + 16 + ((address & 15) >= PUSHED_AT ? 8 : 0);
  } else if (kind === RuleKind.end) return Step.whole;
  else if (kind === RuleKind.signal) return stepOverSignal(place + 8, to);
  // A frame pointer of 0 marks the outermost frame by the ABI. It is trusted where the tables have no
  // function.
  else if (kind === RuleKind.none && framePointer === 0) return Step.whole;
  else return stepByFramePointer(place, framePointer, to);
  return stepTo(to, cfa, words === 0 ? framePointer : load64(savedAt), link);
}

/** Returns true if a CFA that a frame pointer gave can be in the stack. */
@inline
function leadsOn(place: u64, cfa: u64): bool {
  if (cfa - 8 <= place || (cfa & 7) !== 0 || cfa >= ADDRESS_END) return false;
  return cfa - place <= FAR || isMapped(cfa - 8);
}

/** Steps to the frame that a signal has interrupted, by the registers that the kernel saved. */
export function stepOverSignal(stackPointer: u64, to: usize): Step {
  const address = load64(stackPointer + SIGNAL_RIP);
  if (address === 0) return Step.whole;
  store<u64>(to, load64(stackPointer + SIGNAL_RSP) - 8, StackFrame.place);
  store<u64>(to, address, StackFrame.address);
  store<u64>(to, load64(stackPointer + SIGNAL_RBP), StackFrame.framePointer);
  store<u32>(to, Link.unchecked | Link.interrupted, StackFrame.link);
  return Step.made;
}

/** Steps by the frame pointer through code without rules, such as code that was compiled at run time. */
function stepByFramePointer(place: u64, framePointer: u64, to: usize): Step {
  if (framePointer <= place || (framePointer & 7) !== 0 || framePointer >= ADDRESS_END) return Step.lost;
  if (!isMapped(framePointer)) return Step.lost;
  if ((framePointer & (PAGE_BYTES - 1)) === PAGE_BYTES - 8 && !isMapped(framePointer + 8)) return Step.lost;
  const next = load64(framePointer);
  const caller = load64(framePointer + 8);
  if (caller === 0) return Step.whole;
  if (caller >= ADDRESS_END || !isMapped(caller)) return Step.lost;
  // The outermost frame of a chain saves 0 as its frame pointer. Without a chain, the value is arbitrary.
  const isChain = next === 0 || (next > framePointer && (next & 7) === 0);
  if (!isChain && !isBehindCall(caller)) return Step.lost;
  store<u64>(to, framePointer + 8, StackFrame.place);
  store<u64>(to, caller, StackFrame.address);
  store<u64>(to, next, StackFrame.framePointer);
  store<u32>(to, 2 | Link.byPointer, StackFrame.link);
  return Step.made;
}

/**
 * Returns true if a call ends at an address: `call rel32`, or a call through a register or memory of 2 to 7
 * bytes.
 */
function isBehindCall(address: u64): bool {
  if (!isMapped(address - 8)) return false;
  if (load8(address - 5) === CALL) return true;
  for (let bytes: u64 = 2; bytes <= 7; bytes++)
    if (load8(address - bytes) === GROUP_5 && ((load8(address - bytes + 1) >>> 3) & 7) === GROUP_5_CALL)
      return true;
  return false;
}
