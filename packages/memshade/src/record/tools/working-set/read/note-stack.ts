import { CodeMarks } from "../code-marks.ts";

/** Most frames of a recorded stack. The outermost ones are cut off. */
const MOST_FRAMES = 48;
/** Matches a wasm frame as V8, SpiderMonkey and JavaScriptCore print it. */
const WASM_FRAME = /(?:(wasm:\/\/[^:\s]+):)?wasm-function\[(\d+)\](?::0x([0-9a-f]+))?/;
/** Words of a frame in the table: function, offset plus one. */
const FRAME_WORDS = 2;

export interface NotedFrame {
  /** Index of the function in the instrumented module; `HOST_FRAMES`: frames of the host are here. */
  function: number;
  /**
   * Offset of the call in the original code section, −1 if unknown. With `HOST_FRAMES`: the number of the host's stack.
   */
  offset: number;
}
/** Function index that marks an entry of the host. No function has it. */
export const HOST_FRAMES = 0xffffffff;

/**
 * Returns the number of the host's stack at an entry of the module; undefined if unknown. `above`: number of younger
 * entries. `below`: the function that the module has called.
 */
export type HostStackOf = (above: number, below: unknown) => number | undefined;

/** Addresses of the table of stacks, bytes of the tool's memory, and the marks of calls. */
export interface NotedStacks {
  /** u32: position of the stack recorded last, plus one; 0: unknown. */
  readonly stack: number;
  readonly used: number;
  readonly stacks: number;
  readonly stacksEnd: number;
  readonly calls: string;
}

/**
 * Returns a function for the instance's thread that records the wasm functions on the call stack. Each stack is stored
 * once; its position plus one goes to the control block. A stack without room is left out.
 */
export function stackNoter(
  memory: WebAssembly.Memory,
  { stack: noted, used: usedAt, stacks, stacksEnd, calls }: NotedStacks,
  hostStackOf?: HostStackOf,
): () => void {
  const placeOf = new Map<string, number>();
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
    let place = placeOf.get(key);
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
      placeOf.set(key, place);
    }
    view.setUint32(noted, place, true);
  };
  return note;
}

/**
 * Returns the running module's functions from the text of an error's stack, innermost first, with marks where the host
 * entered.
 */
export function framesOf(stack: string, marks: CodeMarks): NotedFrame[] {
  const frames: NotedFrame[] = [];
  let module: string | undefined;
  for (const line of stack.split("\n")) {
    const frame = WASM_FRAME.exec(line);
    module ??= frame?.[1];
    const index = Number(frame?.[2]);
    if (frame === null || frame[1] !== module) {
      // Lines before the first frame belong to functions that the module called, or to this code.
      if (frames.length > 0 && frames.at(-1)?.function !== HOST_FRAMES)
        frames.push({ function: HOST_FRAMES, offset: -1 });
      continue;
    }
    // Recursion of any depth becomes one frame.
    if (index === frames.at(-1)?.function) continue;
    const offset = frame[3] === undefined ? -1 : marks.originalOf(Number.parseInt(frame[3], 16));
    frames.push({ function: index, offset });
  }
  // The host entered where the trace ends.
  if (frames.length > 0 && frames.at(-1)?.function !== HOST_FRAMES)
    frames.push({ function: HOST_FRAMES, offset: -1 });
  return frames;
}

function currentStack(): string {
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = MOST_FRAMES;
  (Error as { prepareStackTrace?: unknown }).prepareStackTrace = undefined;
  try {
    return new Error().stack ?? "";
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    Error.prepareStackTrace = prepareStackTrace;
  }
}

export function notedFrames(view: DataView, stacks: number, number: number): NotedFrame[] {
  if (number === 0) return [];
  const at = stacks + number - 1;
  return Array.from({ length: view.getUint32(at, true) }, (_, i) => ({
    function: view.getUint32(at + 4 + i * FRAME_WORDS * 4, true),
    offset: view.getUint32(at + 8 + i * FRAME_WORDS * 4, true) - 1,
  }));
}
