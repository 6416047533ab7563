import { CodeMarks } from "../code-marks.ts";

/** Frames of a noted stack; deeper ones are cut off at the outer end. */
const MOST_FRAMES = 48;
/** A wasm frame as V8, SpiderMonkey and JavaScriptCore print it. */
const WASM_FRAME = /(?:(wasm:\/\/[^:\s]+):)?wasm-function\[(\d+)\](?::0x([0-9a-f]+))?/;
/** Words of a frame in the table: function, offset plus one. */
const FRAME_WORDS = 2;

/** A frame of a noted stack. */
export interface NotedFrame {
  /** Index of the function in the instrumented module; `HOST_FRAMES`: frames of the host are here. */
  function: number;
  /** Offset of the call in the original code section, −1 if it is not known; the number of the host's stack. */
  offset: number;
}
/** Stands where the host has entered the module, which has no function of that index. */
export const HOST_FRAMES = 0xffffffff;

/**
 * The number of the host's stack that has entered the module; undefined where nobody knows. `above`: so many entries are younger. `below`:
 * the function that the module has called.
 */
export type HostStackOf = (above: number, below: unknown) => number | undefined;

/** Where stacks are noted, and what the places of calls are known by. Addresses are bytes of the tool's memory. */
export interface NotedStacks {
  /** u32: the place of the stack noted last, plus one; 0: it is not known. */
  readonly stack: number;
  /** u32: bytes used in the table. */
  readonly used: number;
  readonly stacks: number;
  readonly stacksEnd: number;
  /** Marks of calls, as `encodeCodeMarks` writes them. */
  readonly calls: string;
}

/**
 * A function for the instance's thread that notes which wasm functions are on the stack: in the table of stacks, each
 * stack once, and its place plus one in the control block. A stack that finds no room is left out.
 */
export function stackNoter(
  memory: WebAssembly.Memory,
  { stack: noted, used: usedAt, stacks, stacksEnd, calls }: NotedStacks,
  hostStackOf?: HostStackOf,
): () => void {
  const known = new Map<string, number>();
  let marks: CodeMarks | undefined;
  const view = new DataView(memory.buffer);
  const note = (): void => {
    marks ??= new CodeMarks(calls);
    let entries = 0;
    const frames = framesOf(currentStack(), marks).flatMap((frame) => {
      if (frame.function !== HOST_FRAMES) return frame;
      const number = hostStackOf?.(entries++, note);
      return number === undefined ? [] : { ...frame, offset: number };
    });
    const key = frames.map((frame) => `${frame.function}:${frame.offset}`).join();
    let place = known.get(key);
    if (place === undefined) {
      const used = view.getUint32(usedAt, true);
      const end = used + 4 + frames.length * FRAME_WORDS * 4;
      if (frames.length === 0 || stacks + end > stacksEnd) place = 0;
      else {
        view.setUint32(stacks + used, frames.length, true);
        frames.forEach((frame, i) => {
          const at = stacks + used + 4 + i * FRAME_WORDS * 4;
          view.setUint32(at, frame.function, true);
          view.setUint32(at + 4, frame.offset + 1, true);
        });
        view.setUint32(usedAt, end, true);
        place = used + 1;
      }
      known.set(key, place);
    }
    view.setUint32(noted, place, true);
  };
  return note;
}

/** The functions of the module that is running, innermost first, from the text of an error's stack, and where the host comes in. */
export function framesOf(stack: string, marks: CodeMarks): NotedFrame[] {
  const frames: NotedFrame[] = [];
  let module: string | undefined;
  for (const line of stack.split("\n")) {
    const frame = WASM_FRAME.exec(line);
    module ??= frame?.[1];
    const index = Number(frame?.[2]);
    if (frame === null || frame[1] !== module) {
      // What stands before the first frame has been called by the module, or is the trace's own.
      if (frames.length > 0 && frames.at(-1)?.function !== HOST_FRAMES)
        frames.push({ function: HOST_FRAMES, offset: -1 });
      continue;
    }
    // Recursion of any depth is one frame.
    if (index === frames.at(-1)?.function) continue;
    const offset = frame[3] === undefined ? -1 : marks.originalOf(Number.parseInt(frame[3], 16));
    frames.push({ function: index, offset });
  }
  // Where the trace ends, the host has come in too.
  if (frames.length > 0 && frames.at(-1)?.function !== HOST_FRAMES)
    frames.push({ function: HOST_FRAMES, offset: -1 });
  return frames;
}

function currentStack(): string {
  const { stackTraceLimit, prepareStackTrace } = Error;
  // The program may have set its own.
  Error.stackTraceLimit = MOST_FRAMES;
  (Error as { prepareStackTrace?: unknown }).prepareStackTrace = undefined;
  try {
    return new Error().stack ?? "";
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    Error.prepareStackTrace = prepareStackTrace;
  }
}

/** The frames of a stack by the number that it was noted under. */
export function notedFrames(view: DataView, stacks: number, number: number): NotedFrame[] {
  if (number === 0) return [];
  const at = stacks + number - 1;
  return Array.from({ length: view.getUint32(at, true) }, (_, i) => ({
    function: view.getUint32(at + 4 + i * FRAME_WORDS * 4, true),
    offset: view.getUint32(at + 8 + i * FRAME_WORDS * 4, true) - 1,
  }));
}
