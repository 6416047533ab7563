import { formatCount } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { FindingKind, FindingPlace, Found } from "./finding-kind.ts";
import { hostPlace } from "./places.ts";

/** Bytes of a module's stack that JavaScript takes call by call and never gives back. The amount is those bytes. */
export interface StackLeakFinding extends Found<"stack-leak", "heap"> {
  /** Function that took the bytes; absent if calls threw exceptions, whose frames stay on the stack. */
  readonly function?: string | undefined;
  /** Calls from the location whose bytes were not given back. */
  readonly calls: number;
  /** Size of the stack. */
  readonly stackBytes: number;
}

/**
 * Calls from one place that have lowered the stack pointer for good. A program keeps some parts of its stack on purpose, such as its
 * arguments, and a few calls may be under way when the profile is taken.
 */
const LEAST_CALLS = 32;

export const stackLeak: FindingKind<StackLeakFinding> = {
  kind: "stack-leak",
  also: ["stack pointer", "stackAlloc"],
  meaning:
    "Bytes of a module's own stack that JavaScript takes again and again (with Emscripten's stackAlloc) and never gives back, or that stay in use " +
    "when a JavaScript exception passes through the module's functions. The stack gets smaller each time; in the end the program overwrites " +
    "its data.",
  advice: "Call stackSave() before such calls, and stackRestore() after them in a finally block.",
  more: "guides/npm-package.md",
  sources: ["heap"],
  find: ({ heap }) => (heap === undefined ? [] : stackLeakFindings(heap)),
  // A short run takes little of the stack, and a long one all of it.
  leastPart: 0,
  sums: ["calls"],
  apart: "function",
  sentence: ({ calls, function: name }) => ({
    before: `of the stack in ${name === undefined ? throwing(calls) : `${formatCount(calls)} calls of ${name}`} by`,
    after: "are never given back",
    short: `in ${name === undefined ? throwing(calls) : `${formatCount(calls)} calls`} by`,
    shortAfter: "not given back",
  }),
  whole: { short: "of the stack", long: "of the module's stack" },
  weight: "peak",
  treeWeights: ["peak", "bytes"],
};

function throwing(calls: number): string {
  return `${formatCount(calls)} throwing calls`;
}

function stackLeakFindings({ modules }: HeapProfile): StackLeakFinding[] {
  return modules.flatMap(({ name: module, stackTakes = [] }) =>
    stackTakes
      .filter(({ calls }) => calls >= LEAST_CALLS)
      .map(({ function: name, frames, calls, bytes, stackBytes }) => {
        const ofFunction: FindingPlace = { path: [{ function: name ?? "the host", module }] };
        return {
          kind: "stack-leak",
          tool: "heap",
          place: hostPlace(frames) ?? ofFunction,
          amount: bytes,
          unit: "bytes",
          part: bytes / stackBytes,
          ...(name === undefined ? {} : { function: name }),
          calls,
          stackBytes,
        };
      }),
  );
}
