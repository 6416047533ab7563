import { Control } from "../layout.ts";
import type { WorkingSetLayout } from "../memory-plan.ts";

/** Processor time is looked at this often, so that an interval ends soon after it is due. */
const CPU_LOOKS_PER_INTERVAL = 4;
const SHORTEST_LOOK_MS = 1;

/**
 * Real time for an instance that another thread runs: writes the time into its memory and sets the flag that the
 * program polls. In the program's own thread it can only do so while the program returns to its host.
 */
export class IntervalTimer {
  readonly #view: DataView;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #begin: number;
  readonly #now: () => number;
  #due: number;

  constructor(memory: WebAssembly.Memory, layout: WorkingSetLayout) {
    this.#view = new DataView(memory.buffer, layout.control);
    this.#now = layout.unit === "cpu" ? cpuNanoseconds : () => Math.round(performance.now() * 1e6);
    this.#begin = this.#now();
    this.#due = layout.interval;
    const looks = layout.unit === "cpu" ? CPU_LOOKS_PER_INTERVAL : 1;
    const pause = Math.max(SHORTEST_LOOK_MS, layout.interval / 1e6 / looks);
    this.#timer = setInterval(() => this.#look(layout.interval), pause);
    (this.#timer as { unref?(): void }).unref?.();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(interval: number): void {
    const now = this.#now() - this.#begin;
    this.#view.setBigUint64(Control.now, BigInt(now), true);
    if (now < this.#due) return;
    this.#due = (Math.floor(now / interval) + 1) * interval;
    this.#view.setUint32(Control.flag, 1, true);
  }
}

/** Processor time of this process: the thread that only watches uses next to none. */
function cpuNanoseconds(): number {
  const { user, system } = (globalThis as { process?: NodeJS.Process }).process?.cpuUsage() ?? {
    user: 0,
    system: 0,
  };
  return (user + system) * 1000;
}
