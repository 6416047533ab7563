import { MOST_FRAMES, ROOM_MAY_NOT_WAIT } from "../layout.ts";

// Addresses of samples in the runtime's memory, and of their settings. The fields follow those of the parent
// folder's `layout.ts` in the header.

const MIB = 2 ** 20;

export const Sampling = {
  /** u64: bytes of samples that threads have reserved in the ring, and that the parent has read. */
  head: 4096,
  tail: 4104,
  /** u64: periods without a sample because the thread could not be interrupted. */
  missed: 4112,
  /** u64: samples without room in the ring. */
  refused: 4120,
  /** u64: nanoseconds of a thread's CPU time between two samples; 0: no samples. */
  period: 4128,
  /** Signal of the timers; 0 if no signal is left. */
  signal: 4136,
  /** errno of a thread without a timer. */
  failure: 4140,
  /** Number of times that the program has taken the signal. */
  moves: 4144,
  /** Not 0 if the signal is ignored from the program's view. */
  isIgnored: 4148,
  /** Last signal that the program has taken. */
  taken: 4152,
} as const;

export const SamplePlace = { samplers: 1532 * MIB, ring: 1544 * MIB } as const;
/** Must be a power of two. The parent reads samples every few milliseconds. */
export const RING_BYTES = 32 * MIB;

/** State of a thread's sampler, by the thread's index. */
export const Sampler = {
  /** Timer id plus 1; 0: none. */
  timer: 0,
  /** Current sample: periods that were missed before it, and u64: time. */
  missed: 4,
  now: 8,
  /** 32 bytes for times, and a flag that is set if the thread may hold the lock. */
  room: 16,
  mayNotWait: 16 + ROOM_MAY_NOT_WAIT,
  /** Two frames of the walk. */
  frame: 64,
  /** Arguments of system calls and of the C library; the largest are two `struct sigaction`. */
  message: 128,
  sites: 448,
} as const;
export const SAMPLER_BYTES = Sampler.sites + 4 * MOST_FRAMES + 64;

/** Fields of a sample in the ring. Each word is stored at its distance modulo the ring's size. */
export const Sample = {
  /** Bytes of the sample, a multiple of 8, written last; 0 while it is incomplete. */
  bytes: 0,
  /** Index of the thread; end of the walk (`WalkEnd`) from bit 16 on. */
  thread: 4,
  /** Kernel's thread id. */
  id: 8,
  /** Number of sites, innermost first. */
  frames: 12,
  /** Nanoseconds since the start, low half first. */
  time: 16,
  timeHigh: 20,
  /** Samples of the thread that were missed before this one. */
  missed: 24,
  sites: 28,
} as const;

export const SampleText = {
  /** u64: initial `Sampling.period` of the process that was started. */
  period: 7936,
  /** Signed distances of two functions from the text. */
  handler: 7944,
  beginThread: 7948,
  /** u64: set with only the signal of the timers. */
  set: 7952,
} as const;

/**
 * First choice of a real-time signal; lower ones follow. Programs rarely use signals this high, and libraries
 * never do.
 */
export const FIRST_SIGNAL = 61;
export const LAST_SIGNAL = 40;
