import { readdirSync, readFileSync } from "node:fs";

/** Below the stack pointer, so much may be in use. */
const RED_ZONE_BYTES = 128;

/** A thread as it was at two moments. */
export interface SeenThread {
  id: number;
  /** Its stack pointer, less what is in use below; undefined: it has run meanwhile, or runs. */
  stack: number | undefined;
}

/** Looks at the threads of a process at two moments: those that slept from the one to the other have not moved anything. */
export class StandingThreads {
  readonly #pid: number;
  readonly #before: ReadonlyMap<number, string>;

  constructor(pid: number) {
    this.#pid = pid;
    this.#before = statesOf(pid);
  }

  /** The threads that there are now. */
  now(): SeenThread[] {
    return Array.from(statesOf(this.#pid), ([id, state]) => ({
      id,
      stack: state === this.#before.get(id) ? stackIn(state) : undefined,
    }));
  }
}

/** The stack pointer of a thread that waits in a system call; undefined: it does not, or nobody may look. */
export function stackOf(pid: number, id: number): number | undefined {
  return stackIn(stateOf(pid, id));
}

function stackIn(state: string): number | undefined {
  const [, pointer] = / (0x[0-9a-f]+) 0x[0-9a-f]+$/m.exec(state) ?? [];
  return pointer === undefined ? undefined : Number(pointer) - RED_ZONE_BYTES;
}

function statesOf(pid: number): Map<number, string> {
  try {
    const ids = readdirSync(`/proc/${pid}/task`).map(Number);
    return new Map(ids.filter((id) => !hasEnded(pid, id)).map((id) => [id, stateOf(pid, id)]));
  } catch {
    return new Map();
  }
}

/** What a thread waits in, and for how long it has run. */
function stateOf(pid: number, id: number): string {
  const task = `/proc/${pid}/task/${id}`;
  return `${fileOf(`${task}/syscall`)}\n${fileOf(`${task}/schedstat`)}`;
}

function hasEnded(pid: number, id: number): boolean {
  const state = fileOf(`/proc/${pid}/task/${id}/stat`).replace(/^.*\) /s, "")[0];
  return state === undefined || state === "Z" || state === "X";
}

function fileOf(path: string): string {
  try {
    return readFileSync(path, "latin1").trimEnd();
  } catch {
    return "";
  }
}
