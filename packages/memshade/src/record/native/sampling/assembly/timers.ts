// A timer per thread, on the CPU time of the thread: all busy threads are sampled, and idle ones are not
// interrupted. All timers send one signal, which the program does not use.
import { Place, Text, Thread, THREAD_BYTES } from "../../assembly/layout.generated";
import { monotonic, processAddress } from "../../assembly/lock";
import {
  libcSigaction,
  load32,
  load64,
  store64,
  syscall1,
  syscall3,
  syscall4,
  text,
} from "../../assembly/machine";
import { ruleOf } from "../../assembly/rules";
import {
  FIRST_SIGNAL,
  LAST_SIGNAL,
  Sampler,
  SAMPLER_BYTES,
  SamplePlace,
  SampleText,
  Sampling,
} from "./layout.generated";

const TIMER_CREATE: u64 = 222;
const TIMER_SETTIME: u64 = 223;
const TIMER_DELETE: u64 = 226;
const SIGEV_THREAD_ID: u32 = 4;
/** Bits of a clock's number: clock of a thread, scheduled time. */
const THREAD_CLOCK: u32 = 6;
const SECOND: u64 = 1_000_000_000;

@inline
export function samplerOf(thread: u32): usize {
  return SamplePlace.samplers + ((thread - Place.threads) / THREAD_BYTES) * SAMPLER_BYTES;
}

@inline
export function isSampling(): bool {
  return load<u64>(Sampling.period) !== 0;
}

/** Starts the timer of a thread, which may be another than the running one. */
export function startTimer(thread: u32): void {
  const sampler = samplerOf(thread);
  // A thread that has ended may have used the same entry.
  stopTimer(thread);
  const signal = load<u32>(Sampling.signal);
  if (signal === 0) return;
  const id = load<u32>(thread, Thread.id);
  const event = sampler + Sampler.message;
  memory.fill(event, 0, 64);
  store<u32>(event, signal, 8);
  store<u32>(event, SIGEV_THREAD_ID, 12);
  store<u32>(event, id, 16);
  const clock = <u64>(<i64>(<i32>((~id << 3) | THREAD_CLOCK)));
  const number = event + 64;
  const failure = syscall3(TIMER_CREATE, clock, processAddress(event), processAddress(number));
  if (failure < 0) {
    store<u32>(Sampling.failure, <u32>-failure);
    return;
  }
  const timer = load<u32>(number);
  store<u32>(sampler, timer + 1, Sampler.timer);
  const period = load<u64>(Sampling.period);
  // The first period is random, so that threads shorter than a period are sampled in proportion to their
  // time.
  const first = 1 + ((((monotonic(sampler + Sampler.room) ^ id) * 0x9e37_79b9_7f4a_7c15) >>> 16) % period);
  const times = event;
  store<u64>(times, period / SECOND);
  store<u64>(times, period % SECOND, 8);
  store<u64>(times, first / SECOND, 16);
  store<u64>(times, first % SECOND, 24);
  syscall4(TIMER_SETTIME, timer, 0, processAddress(times), 0);
}

export function stopTimer(thread: u32): void {
  const sampler = samplerOf(thread);
  const timer = load<u32>(sampler, Sampler.timer);
  if (timer === 0) return;
  store<u32>(sampler, 0, Sampler.timer);
  syscall1(TIMER_DELETE, timer - 1);
}

// `struct sigaction` of the GNU C library: handler, 128 bytes of blocked signals, flags.
const MASK_AT: u32 = 8;
const FLAGS_AT: u32 = 136;
export const ACTION_BYTES: u32 = 152;
const SA_SIGINFO: u32 = 4;
const SA_ONSTACK: u32 = 0x0800_0000;
const SA_RESTART: u32 = 0x1000_0000;
export const SIG_DFL: u64 = 0;
export const SIG_IGN: u64 = 1;

/** Returns the address of a function from its distance in the text. */
@inline
export function functionAt(field: u64): u64 {
  return text() + <u64>(<i64>(<i32>load32(text() + field)));
}

@inline
export function bitOf(signal: u32): u64 {
  return (<u64>1) << (signal - 1);
}

export function setAction(sampler: usize, signal: u32, handler: u64, flags: u32): bool {
  const action = sampler + Sampler.message;
  memory.fill(action, 0, ACTION_BYTES);
  store<u64>(action, handler);
  // A handler that interrupted it might leave it by a jump, so all signals are blocked.
  memory.fill(action + MASK_AT, 0xff, FLAGS_AT - MASK_AT);
  store<u32>(action, flags, FLAGS_AT);
  return libcSigaction(signal, processAddress(action), 0) === 0;
}

export function actByDefault(sampler: usize, signal: u32): void {
  setAction(sampler, signal, SIG_DFL, 0);
}

/** True if a signal has no handler, or memshade's own one from before a fork. */
function isFree(handler: u64): bool {
  return handler === SIG_DFL || handler === functionAt(SampleText.handler);
}

/** Takes the first signal from `from` downwards that the program does not use. */
export function takeSignal(sampler: usize, from: u32): void {
  const action = sampler + Sampler.message;
  store<u32>(Sampling.isIgnored, 0);
  for (let signal = from; signal >= LAST_SIGNAL; signal--) {
    if (libcSigaction(signal, 0, processAddress(action)) !== 0 || !isFree(load<u64>(action))) continue;
    if (!setAction(sampler, signal, functionAt(SampleText.handler), SA_SIGINFO | SA_ONSTACK | SA_RESTART))
      continue;
    store64(text() + SampleText.set, bitOf(signal));
    store<u32>(Sampling.signal, signal);
    return;
  }
  store<u32>(Sampling.signal, 0);
}

/** Begins sampling if samples are wanted. A forked process begins in the thread that allocates first. */
export function beginIn(thread: u32): void {
  const period = load64(text() + SampleText.period);
  if (period === 0 || thread === 0) return;
  // Samples of children would not be read if children are not recorded.
  if (load32(text() + Text.children) === 0) store64(text() + SampleText.period, 0);
  takeSignal(samplerOf(thread), FIRST_SIGNAL);
  // The module of memshade's own code must exist before a signal interrupts it.
  ruleOf(functionAt(SampleText.handler), thread + Thread.room);
  store<u64>(Sampling.period, period);
  startTimer(thread);
}
