import type { RunHostFrame } from "../../../profile/model/run.ts";
import type { HostFrame } from "../../tools/heap/read/host-callers.ts";
import { STACK_BEYOND, UNKNOWN_STACK } from "../../tools/host-interface.ts";
import { isWasm, type Trace, type TraceFrame, traceBelow } from "./host-trace.ts";

/** Frames and stacks that one thread has found since its last report. */
export interface HostStackNews {
  frames: HostFrame[];
  /** Two numbers per stack: its calling stack (0: none), and its innermost frame, counted from 0. */
  stacks: number[];
}

/** Returns the position in the author's source of a position in a script, if the host has it. */
export type SourceOf = (script: string, line: number, column: number) => RunHostFrame["source"] | undefined;

export interface HostStackOptions {
  send: (news: HostStackNews) => void;
  sourceOf?: SourceOf | undefined;
  /** True for the profiler's own scripts: their frames are left out. */
  isOurs: (script: string) => boolean;
}

const FRAMES_READ = 200;
const FRAMES_READ_AT_MOST = 2000;
/** Limit for one stack, without repetitions. The innermost frames are kept. */
const MOST_FRAMES_OF_STACK = 100;
const MOST_FRAMES = 2 ** 16;
const MOST_STACKS = 2 ** 20;

const CUT: RunHostFrame = { name: "[frames further out]", is: "unknown" };
const OTHER_MODULE: RunHostFrame = { name: "[another module]", is: "unknown" };

/** The stacks by which the code of one thread enters modules, each with a number. */
export class HostStacks {
  readonly #options: HostStackOptions;
  readonly #frames = new Map<string, number>();
  /** Stacks by calling stack and innermost frame. */
  readonly #stacks = new Map<number, number>();
  #news: HostStackNews = { frames: [], stacks: [] };

  constructor(options: HostStackOptions) {
    this.#options = options;
  }

  /**
   * Returns the number of the stack that has entered the running instance, or `UNKNOWN_STACK` or `STACK_BEYOND`.
   * `above`: number of younger entries. `below`: the function that the module has called.
   */
  numberOf(above: number, below: unknown): number {
    try {
      const trace = traceBelow(below, FRAMES_READ);
      const { isOurs } = this.#options;
      const found =
        stretch(trace, above, isOurs) ??
        (trace?.isCut === true ? stretch(traceBelow(below, FRAMES_READ_AT_MOST), above, isOurs) : undefined);
      return found === undefined ? UNKNOWN_STACK : this.#number(found);
    } catch {
      // The engine's stack may be full.
      return UNKNOWN_STACK;
    } finally {
      this.#sendNews();
    }
  }

  /** Returns the number of the program's stack below a function that the program has called. */
  numberBelow(below: unknown): number {
    try {
      const trace = traceBelow(below, FRAMES_READ);
      const frames = trace?.frames.filter((frame) => this.#isOfProgram(frame)) ?? [];
      return frames.length === 0 ? UNKNOWN_STACK : this.#number({ frames, isCut: trace?.isCut === true });
    } catch {
      return UNKNOWN_STACK;
    } finally {
      this.#sendNews();
    }
  }

  /** True if code of the program is on the stack. */
  isInProgram(): boolean {
    const trace = traceBelow(this.isInProgram, FRAMES_READ);
    return trace === undefined || trace.frames.some((frame) => this.#isOfProgram(frame));
  }

  #isOfProgram({ script }: TraceFrame): boolean {
    if (script === undefined || script.startsWith("node:") || isWasm(script)) return false;
    return !this.#options.isOurs(script);
  }

  #number({ frames: stack, isCut }: Trace): number {
    const frames: number[] = [];
    // Frames are added from the outermost inwards. A frame that is already on the path cuts the path back to itself.
    for (let i = stack.length - 1; i >= 0; i--) {
      const frame = this.#frameOf(stack[i]);
      if (frame < 0) return STACK_BEYOND;
      const known = frames.indexOf(frame);
      if (known < 0) frames.push(frame);
      else frames.length = known + 1;
    }
    if (frames.length === 0) frames.push(this.#intern("other", () => OTHER_MODULE));
    if (isCut) frames.unshift(this.#intern("cut", () => CUT));
    if (frames.length > MOST_FRAMES_OF_STACK)
      frames.splice(
        0,
        frames.length - MOST_FRAMES_OF_STACK,
        this.#intern("cut", () => CUT),
      );
    let number = 0;
    for (const frame of frames) {
      const key = number * MOST_FRAMES + frame;
      let next = this.#stacks.get(key);
      if (next === undefined) {
        next = this.#stacks.size + 1;
        if (next > MOST_STACKS) return STACK_BEYOND;
        this.#stacks.set(key, next);
        this.#news.stacks.push(number, frame);
      }
      number = next;
    }
    return number;
  }

  #frameOf(frame: TraceFrame): number {
    const { script, isAsync, position } = frame;
    if (script === undefined)
      return this.#intern(`${frame.describe().name}`, () => ({
        name: frame.describe().name ?? "native code",
      }));
    return this.#intern(`${position} ${isAsync} ${script}`, () => this.#describe(frame, script));
  }

  #describe(frame: TraceFrame, script: string): HostFrame {
    const { name, line, column, start } = frame.describe();
    // A function that begins at the script's start is the script itself.
    const isScript = start?.line === 1 && start.column === 1;
    const source = this.#options.sourceOf?.(script, line, column);
    return {
      name: name ?? (isScript ? "top level" : "anonymous"),
      file: pathOf(script),
      line,
      column,
      ...(frame.isAsync ? { async: true } : {}),
      ...(start === undefined || name === undefined ? {} : { start }),
      ...(source === undefined ? {} : { source }),
    };
  }

  /** Returns the number of a frame; −1 beyond the limit. */
  #intern(key: string, describe: () => HostFrame): number {
    const known = this.#frames.get(key);
    if (known !== undefined) return known;
    const number = this.#frames.size;
    if (number >= MOST_FRAMES) return -1;
    this.#frames.set(key, number);
    this.#news.frames.push(describe());
    return number;
  }

  #sendNews(): void {
    const news = this.#news;
    if (news.frames.length === 0 && news.stacks.length === 0) return;
    this.#news = { frames: [], stacks: [] };
    this.#options.send(news);
  }
}

/**
 * Returns the host's frames between two calls of the instance, or between its outermost call and the end of the stack.
 * Undefined if the trace does not reach that far.
 */
function stretch(
  trace: Trace | undefined,
  above: number,
  isOurs: HostStackOptions["isOurs"],
): Trace | undefined {
  if (trace === undefined) return undefined;
  const { frames } = trace;
  // The innermost module frame belongs to the instance that asks.
  let at = frames.findIndex(({ script }) => isWasm(script));
  if (at < 0) return undefined;
  const { instance } = frames[at];
  for (let left = above; at < frames.length; left--) {
    while (at < frames.length && frames[at].instance === instance) at++;
    const start = at;
    while (at < frames.length && frames[at].instance !== instance) at++;
    if (left > 0) continue;
    const isCut = trace.isCut && at === frames.length;
    if (isCut && start === at) return undefined;
    return {
      isCut,
      frames: frames
        .slice(start, at)
        .filter(({ script }) => !isWasm(script) && !(script !== undefined && isOurs(script))),
    };
  }
  return undefined;
}

/** Returns the path of a `file:` address, and other addresses unchanged. */
function pathOf(script: string): string {
  if (!script.startsWith("file://")) return script;
  try {
    return decodeURIComponent(new URL(script).pathname).replace(/^\/(?=[A-Za-z]:)/, "");
  } catch {
    return script;
  }
}
