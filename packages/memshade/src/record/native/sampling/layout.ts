import { MOST_FRAMES, ROOM_MAY_NOT_WAIT } from "../layout.ts";

// Where samples of call paths are in the memory that the runtime has in a native program, and where it is told of them. The header's
// page has room behind the fields of the parent's `layout.ts`.

const MIB = 2 ** 20;

/** Linear addresses. */
export const Sampling = {
  /** u64: bytes of samples that threads have taken of the ring so far, and that the parent has read. */
  head: 4096,
  tail: 4104,
  /** u64: periods that passed while a thread was kept from its sample. */
  missed: 4112,
  /** u64: samples that found no room in the ring. */
  refused: 4120,
  /** u64: CPU time of a thread from one sample to the next, ns; 0: no samples are taken. */
  period: 4128,
  /** The signal of the timers; 0: there is none any more. */
  signal: 4136,
  /** An errno: why a thread has no timer. */
  failure: 4140,
  /** How often the program has taken the signal for itself. */
  moves: 4144,
  /** The program believes that it ignores the signal. */
  isIgnored: 4148,
  /** The last signal that the program has taken. */
  taken: 4152,
} as const;

export const SamplePlace = { samplers: 1532 * MIB, ring: 1544 * MIB } as const;
/** A power of two. Samples are read every few milliseconds. */
export const RING_BYTES = 32 * MIB;

/** What takes the samples of a thread: one per thread, by the thread's index. */
export const Sampler = {
  /** The kernel's number of the timer, and 1; 0: there is none. */
  timer: 0,
  /** Of the sample that is taken: what was lost before it, and u64: the time. */
  missed: 4,
  now: 8,
  /** For times, and whether the thread may have locked the tables itself. */
  room: 16,
  mayNotWait: 16 + ROOM_MAY_NOT_WAIT,
  /** Two frames of the walk. */
  frame: 64,
  /** What the kernel and the C library are told by: the longest is what they know of a signal, twice. */
  message: 128,
  sites: 448,
} as const;
export const SAMPLER_BYTES = Sampler.sites + 4 * MOST_FRAMES + 64;

/** A sample in the ring, where each word has the place of its own that its distance says, modulo the size of the ring. */
export const Sample = {
  /** Bytes of it, a multiple of 8, written last; 0: it is not whole yet. */
  bytes: 0,
  /** Index of the thread, and how the walk ended: `WalkEnd`, from bit 16 on. */
  thread: 4,
  /** As the kernel counts threads. */
  id: 8,
  /** How many sites there are, innermost first. */
  frames: 12,
  /** Nanoseconds since the start, low half first. */
  time: 16,
  timeHigh: 20,
  /** Samples of the thread that were due before this one, and lost. */
  missed: 24,
  sites: 28,
} as const;

/** Words of the image's text. */
export const SampleText = {
  /** u64: what `Sampling.period` begins with in the process that was started. */
  period: 7936,
  /** How far two functions of the code are from here, signed. */
  handler: 7944,
  beginThread: 7948,
  /** u64: the set that has the signal of the timers alone. */
  set: 7952,
} as const;

/** The one of the real-time signals that is asked for first; those below it follow. They are hardly ever used that high, and never by libraries. */
export const FIRST_SIGNAL = 61;
export const LAST_SIGNAL = 40;
