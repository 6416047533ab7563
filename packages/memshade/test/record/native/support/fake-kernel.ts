import type { FakeMemory } from "./fake-memory.ts";

const ENOENT = -2;
const ESRCH = -3;
const EEXIST = -17;
const EFAULT = -14;
const EINVAL = -22;
const MAPPINGS = 0x7d00_0000_0000;
const FIRST_FILE = 3;

/** Settings of a timer; times in ns. */
export interface FakeTimer {
  clock: number;
  signal: number;
  how: number;
  thread: number;
  first: number;
  period: number;
}

export class FakeKernel {
  process = 42;
  readonly files = new Map<string, Uint8Array>();
  /** Nanoseconds of the monotonic clock. */
  clock = 10_000_000_000;
  readonly ended = new Set<number>();
  unblocked: (set: number) => void = () => undefined;
  /** Existing timers by number. */
  readonly timers = new Map<number, FakeTimer>();
  /** errno that the creation of a timer fails with; 0: it succeeds. */
  timerFailure = 0;
  #nextTimer = 0;
  readonly calls: string[] = [];
  threadOf: () => number = () => 1;
  /** Called when a thread waits for a word in memory, for at most `nanoseconds`. */
  onWait: (address: number, nanoseconds: number) => void = (_, nanoseconds) => {
    this.clock += nanoseconds;
  };
  onSleep: (nanoseconds: number) => void = (nanoseconds) => {
    this.clock += nanoseconds;
  };
  /** Largest size of a file, bytes. */
  fileLimit = 2 ** 62;
  refuses: (path: string) => boolean = () => false;
  readonly #memory: FakeMemory;
  readonly #open: Uint8Array[] = [];
  #top = MAPPINGS;

  constructor(memory: FakeMemory) {
    this.#memory = memory;
  }

  call(number: number, operands: number[]): number {
    const handler = HANDLERS[number];
    if (handler === undefined) throw new Error(`system call ${number}`);
    this.calls.push(handler);
    return this[handler](operands);
  }

  openat([, name, flags]: number[]): number {
    const path = this.#memory.text(name);
    if ((flags & 0x40) !== 0) {
      if (this.refuses(path)) return ENOENT;
      if ((flags & 0x80) !== 0 && this.files.has(path)) return EEXIST;
      this.files.set(path, new Uint8Array(0));
    }
    const file = this.files.get(path);
    return file === undefined ? ENOENT : FIRST_FILE + this.#open.push(file) - 1;
  }

  read([file, at, length]: number[]): number {
    const bytes = this.#open[file - FIRST_FILE].subarray(0, length);
    this.#memory.write(at, bytes);
    return bytes.length;
  }

  readlink([name, at, length]: number[]): number {
    const target = this.files.get(this.#memory.text(name))?.subarray(0, length);
    if (target === undefined) return ENOENT;
    this.#memory.write(at, target);
    return target.length;
  }

  getrlimit([, at]: number[]): number {
    this.#memory.store64(at, BigInt(this.fileLimit));
    return 0;
  }

  lseek([file]: number[]): number {
    return this.#open[file - FIRST_FILE].length;
  }

  mmap([at, length, , , file]: number[]): number {
    const start = at === 0 ? this.#top : at;
    if (at === 0) this.#top += Math.ceil(length / 4096) * 4096 + 4096;
    if (file >= FIRST_FILE && this.#open[file - FIRST_FILE].length > 0)
      this.#memory.map(start, this.#open[file - FIRST_FILE]);
    return start;
  }

  munmap(_: number[]): number {
    return 0;
  }
  madvise(_: number[]): number {
    return 0;
  }
  close(_: number[]): number {
    return 0;
  }
  ftruncate(_: number[]): number {
    return 0;
  }

  getpid(_: number[]): number {
    return this.process;
  }

  gettid(_: number[]): number {
    return this.threadOf();
  }

  prctl([, at]: number[]): number {
    this.#memory.write(at, new TextEncoder().encode(`thread-${this.threadOf()}`));
    return 0;
  }

  tgkill([, thread]: number[]): number {
    return this.ended.has(thread) ? ESRCH : 0;
  }

  clock_gettime([, at]: number[]): number {
    this.clock += 1000;
    this.#memory.store64(at, BigInt(Math.floor(this.clock / 1e9)));
    this.#memory.store64(at + 8, BigInt(this.clock % 1e9));
    return 0;
  }

  futex([address, operation, , timeout]: number[]): number {
    if (operation === 128) this.onWait(address, this.#time(timeout));
    return 0;
  }

  nanosleep([at]: number[]): number {
    this.onSleep(this.#time(at));
    return 0;
  }

  rt_sigprocmask([how, at]: number[]): number {
    if (how === 1) {
      this.unblocked(at);
      return 0;
    }
    return this.#memory.isMapped(at) ? EINVAL : EFAULT;
  }

  timer_create([clock, event, number]: number[]): number {
    if (this.timerFailure !== 0) return -this.timerFailure;
    const [signal, how, thread] = [8, 12, 16].map((field) => this.#memory.load32(event + field));
    this.timers.set(this.#nextTimer, { clock, signal, how, thread, first: 0, period: 0 });
    this.#memory.store32(number, this.#nextTimer++);
    return 0;
  }

  timer_settime([number, , times]: number[]): number {
    const timer = this.timers.get(number)!;
    this.timers.set(number, { ...timer, period: this.#time(times), first: this.#time(times + 16) });
    return 0;
  }

  timer_delete([number]: number[]): number {
    this.timers.delete(number);
    return 0;
  }

  #time(at: number): number {
    return Number(this.#memory.load64(at)) * 1e9 + Number(this.#memory.load64(at + 8));
  }
}

const HANDLERS: Readonly<Record<number, keyof typeof FakeKernel.prototype & SystemCall>> = {
  0: "read",
  3: "close",
  8: "lseek",
  9: "mmap",
  11: "munmap",
  14: "rt_sigprocmask",
  28: "madvise",
  35: "nanosleep",
  39: "getpid",
  77: "ftruncate",
  89: "readlink",
  97: "getrlimit",
  157: "prctl",
  186: "gettid",
  202: "futex",
  222: "timer_create",
  223: "timer_settime",
  226: "timer_delete",
  228: "clock_gettime",
  234: "tgkill",
  257: "openat",
};

type SystemCall =
  | ("read" | "readlink" | "getrlimit")
  | ("timer_create" | "timer_settime" | "timer_delete")
  | ("close" | "lseek" | "mmap" | "munmap" | "rt_sigprocmask" | "madvise" | "nanosleep" | "getpid")
  | ("ftruncate" | "prctl" | "gettid" | "futex" | "clock_gettime" | "tgkill" | "openat");
