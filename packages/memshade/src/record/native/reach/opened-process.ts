import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import type { ReadableProcess } from "./process-memory.ts";

/** Bytes below the stack pointer that may be in use. */
const RED_ZONE_BYTES = 128;

/** State of a thread at two moments. */
export interface SeenThread {
  id: number;
  /** Lower end of its used stack; undefined if the thread runs or has run in between. */
  stack: number | undefined;
}

/** Compares the threads of a process at two moments. A thread that slept in between has changed nothing. */
export class StandingThreads {
  readonly #pid: number;
  readonly #before: ReadonlyMap<number, string>;

  constructor(pid: number) {
    this.#pid = pid;
    this.#before = statesOf(pid);
  }

  now(): SeenThread[] {
    return Array.from(statesOf(this.#pid), ([id, state]) => ({
      id,
      stack: state === this.#before.get(id) ? stackIn(state) : undefined,
    }));
  }
}

/**
 * Returns the lower end of the used stack of a thread in a system call; undefined if it is in none, or may
 * not be read.
 */
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

/** Returns the system call of a thread, and its run time. */
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

const ENTRY_BYTES = 8;
/** Bits in the highest byte of a page's entry: present, or swapped out. */
const TOUCHED = 0xc0;

/** Memory of a process, by /proc. It is opened early, because the process may forbid that later. */
export class OpenedProcess implements ReadableProcess {
  readonly #memory: number;
  readonly #pages: number;
  readonly #maps: number;

  private constructor([memory, pages, maps]: readonly [number, number, number]) {
    this.#memory = memory;
    this.#pages = pages;
    this.#maps = maps;
  }

  /** Returns undefined if the system refuses. */
  static open(pid: number): OpenedProcess | undefined {
    const opened: number[] = [];
    try {
      for (const name of ["mem", "pagemap", "maps"]) opened.push(openSync(`/proc/${pid}/${name}`, "r"));
      return new OpenedProcess(opened as [number, number, number] & number[]);
    } catch {
      for (const descriptor of opened) closeSync(descriptor);
      return undefined;
    }
  }

  close(): void {
    for (const descriptor of [this.#memory, this.#pages, this.#maps]) closeSync(descriptor);
  }

  read(address: number, into: Uint8Array): number {
    let count = 0;
    try {
      while (count < into.length) {
        const found = readSync(this.#memory, into, count, into.length - count, address + count);
        if (found === 0) break;
        count += found;
      }
    } catch {
      // The range is not mapped, or not readable.
    }
    return count;
  }

  touched(address: number, pages: Uint8Array): void {
    const entries = Buffer.alloc(pages.length * ENTRY_BYTES);
    const found = readSync(this.#pages, entries, 0, entries.length, (address / PAGE_BYTES) * ENTRY_BYTES);
    for (let page = 0; (page + 1) * ENTRY_BYTES <= found; page++)
      pages[page] = (entries[page * ENTRY_BYTES + ENTRY_BYTES - 1]! & TOUCHED) === 0 ? 0 : 1;
  }

  maps(): string {
    const pieces: Buffer[] = [];
    for (let at = 0; ; ) {
      const piece = Buffer.alloc(2 ** 16);
      const found = readSync(this.#maps, piece, 0, piece.length, at);
      if (found === 0) return Buffer.concat(pieces).toString("latin1");
      pieces.push(piece.subarray(0, found));
      at += found;
    }
  }
}
