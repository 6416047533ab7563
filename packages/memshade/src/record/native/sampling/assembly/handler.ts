// Handler of the timers' signal: walks the interrupted stack, and writes a sample. All other signals are
// blocked meanwhile. The tables, the C library and the program may be in any state.
import {
  Header,
  Link,
  MOST_FRAMES,
  Rule,
  RuleKind,
  STACK_FRAME_BYTES,
  StackFrame,
  Thread,
  Tls,
  WalkEnd,
} from "../../assembly/layout.generated";
import { monotonic, processAddress } from "../../assembly/lock";
import { load32, syscall2, syscall3, tlsLoad } from "../../assembly/machine";
import { isMapped } from "../../assembly/probe";
import { kindOf, ruleOf } from "../../assembly/rules";
import { step, Step, stepOverSignal } from "../../assembly/step";
import { PR_GET_NAME, PRCTL, TGKILL } from "../../assembly/system-calls";
import { Sampler, Sampling } from "./layout.generated";
import { handOut } from "./ring";
import { actByDefault, samplerOf } from "./timers";

/** Offsets in `siginfo_t`: source of the signal, and number of further expirations of the timer. */
const CODE_AT = 8;
const OVERRUN_AT = 20;
const SI_TIMER: u32 = <u32>-2;
const PAGE_BYTES: u64 = 4096;

export function sample_handler(signal: u32, info: u64, context: u64): void {
  const word = tlsLoad(Tls.thread);
  const process = load<u32>(Header.process);
  if (<u32>(word >>> 32) !== process) return;
  const thread = <u32>word;
  if (load32(info + CODE_AT) !== SI_TIMER) {
    // Another process has sent the signal. Without memshade, it would have had its default effect.
    if (load<u32>(Sampling.isIgnored) !== 0) return;
    actByDefault(samplerOf(thread), signal);
    syscall3(TGKILL, process, load<u32>(thread, Thread.id), signal);
    return;
  }
  const missed = load32(info + OVERRUN_AT);
  if (missed !== 0) atomic.add<u64>(Sampling.missed, missed);
  const sampler = samplerOf(thread);
  store<u32>(sampler, missed, Sampler.missed);
  store<u32>(sampler, tlsLoad(Tls.guard) !== 0 ? 1 : 0, Sampler.mayNotWait);
  store<u64>(sampler, monotonic(sampler + Sampler.room), Sampler.now);
  syscall2(PRCTL, PR_GET_NAME, processAddress(thread + Thread.name));
  walkInterrupted(thread, sampler, context);
}

function walkInterrupted(thread: u32, sampler: usize, context: u64): void {
  let from = sampler + Sampler.frame;
  let to = from + STACK_FRAME_BYTES;
  let frames: u32 = 0;
  let end: u32 = WalkEnd.lost;
  let found = stepOverSignal(context, from);
  if (found === Step.made && !isMapped(load<u64>(from, StackFrame.place) + 8)) found = Step.lost;
  while (found === Step.made) {
    if (frames === MOST_FRAMES) {
      end = WalkEnd.cut;
      break;
    }
    const rule = ruleOfFrame(from, sampler + Sampler.room);
    store<u32>(sampler + 4 * frames++, <u32>(rule >>> 32), Sampler.sites);
    found = isSafe(from, rule) ? step(from, to, sampler + Sampler.room) : Step.lost;
    if (found === Step.whole) end = WalkEnd.whole;
    const next = to;
    to = from;
    from = next;
  }
  handOut(thread, sampler, frames, end);
}

@inline
function ruleOfFrame(frame: usize, room: usize): u64 {
  const isInterrupted = (load<u32>(frame, StackFrame.link) & Link.interrupted) !== 0;
  return ruleOf(load<u64>(frame, StackFrame.address) - (isInterrupted ? 0 : 1), room);
}

/**
 * Returns true if a step by a rule reads only mapped pages. Rules of compilers hold at each instruction;
 * handwritten code may be interrupted where its rules do not hold.
 */
function isSafe(frame: usize, rule: u64): bool {
  const place = load<u64>(frame, StackFrame.place);
  const offset = 8 * (<u64>(<u32>rule >>> Rule.cfaShift) & Rule.cfaMask);
  const kind = kindOf(rule);
  if (kind === RuleKind.stackPointer) return isReadable(place, place + offset);
  if (kind === RuleKind.linkage) return isReadable(place, place + 16);
  const framePointer = load<u64>(frame, StackFrame.framePointer);
  if (kind === RuleKind.framePointer) return isReadable(place, framePointer + offset - 8);
  if (kind === RuleKind.saved) return isReadable(place, framePointer - offset);
  // All other steps check addresses themselves.
  return true;
}

/** Returns true if a word can be read. The word at `known` can be read. */
@inline
function isReadable(readable: u64, address: u64): bool {
  return (readable ^ address) < PAGE_BYTES || isMapped(address);
}
