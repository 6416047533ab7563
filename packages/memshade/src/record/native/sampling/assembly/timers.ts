// A timer per thread, by the CPU time that the thread takes: threads that run at once are all sampled, and idle ones are left alone.
import { Place, Thread, THREAD_BYTES } from "../../assembly/layout.generated";
import { monotonic, processAddress } from "../../assembly/lock";
import { syscall1, syscall3, syscall4 } from "../../assembly/machine";
import { Sampler, SAMPLER_BYTES, SamplePlace, Sampling } from "./layout.generated";

const TIMER_CREATE: u64 = 222;
const TIMER_SETTIME: u64 = 223;
const TIMER_DELETE: u64 = 226;
const SIGEV_THREAD_ID: u32 = 4;
/** In the number of a clock: it is that of a thread, and what is scheduled is counted. */
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

/** Has a thread, this one or another, interrupted by the signal from now on. */
export function startTimer(thread: u32): void {
  const sampler = samplerOf(thread);
  // It may be the place of a thread that has ended.
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
  // A thread that ends within a period is sampled as often as its share of the period says.
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
