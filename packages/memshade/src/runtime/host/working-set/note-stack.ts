import type { WorkingSetLayout } from "../../../instrument/index.ts";
import { Control } from "./offsets.ts";

/** Frames of a noted stack; deeper ones are cut off at the outer end. */
const MOST_FRAMES = 48;
/** A wasm frame as V8, SpiderMonkey and JavaScriptCore print it. */
const WASM_FRAME = /(?:(wasm:\/\/[^:\s]+):)?wasm-function\[(\d+)\]/;

/**
 * A function for the instance's thread that notes which wasm functions are on the stack: in the table of stacks, each
 * stack once, and its place plus one in the control block. A stack that finds no room is left out.
 */
export function stackNoter(memory: WebAssembly.Memory, layout: WorkingSetLayout): () => void {
  const known = new Map<string, number>();
  const view = new DataView(memory.buffer);
  const { control, stacks, stacksEnd } = layout;
  return () => {
    const frames = framesOf(currentStack());
    const key = frames.join();
    let place = known.get(key);
    if (place === undefined) {
      const used = view.getUint32(control + Control.STACK_NEXT, true);
      const end = used + 4 + frames.length * 4;
      if (frames.length === 0 || stacks + end > stacksEnd) place = 0;
      else {
        view.setUint32(stacks + used, frames.length, true);
        frames.forEach((frame, i) => {
          view.setUint32(stacks + used + 4 + i * 4, frame, true);
        });
        view.setUint32(control + Control.STACK_NEXT, end, true);
        place = used + 1;
      }
      known.set(key, place);
    }
    view.setUint32(control + Control.STACK, place, true);
  };
}

/** Indices of the functions of the module that is running, innermost first, from the text of an error's stack. */
export function framesOf(stack: string): number[] {
  const frames: number[] = [];
  let module: string | undefined;
  for (const line of stack.split("\n")) {
    const frame = WASM_FRAME.exec(line);
    if (frame === null) continue;
    module ??= frame[1];
    const index = Number(frame[2]);
    // Recursion of any depth is one frame.
    if (frame[1] === module && index !== frames.at(-1)) frames.push(index);
  }
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
