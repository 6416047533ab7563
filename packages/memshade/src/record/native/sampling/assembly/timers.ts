// A timer per thread, on the CPU time of the thread: all busy threads are sampled, and idle ones are not
// interrupted.
import { Place, Thread, THREAD_BYTES } from "../../assembly/layout.generated";
import { monotonic, processAddress } from "../../assembly/lock";
import { syscall1, syscall3, syscall4 } from "../../assembly/machine";
import { Sampler, SAMPLER_BYTES, SamplePlace, Sampling } from "./layout.generated";

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
