import { describe, expect, it } from "vitest";
import { profile } from "../../src/index.ts";
import { compileAssemblyScript } from "./find/compile-assemblyscript.ts";

// Objects that are kept, dropped, resized and collected while others are made, more than the heap holds at once.
const PROGRAM = `
class Node { next: Node | null = null; values: Array<i32> = []; constructor(public value: i32) {} }
let kept: Node | null = null;
export function run(rounds: i32): i32 {
  let text = "";
  let sum = 0;
  for (let i = 0; i < rounds; i++) {
    const node = new Node(i);
    node.values.push(i);
    node.values.push(i * 2);
    if (i % 10 == 0) { node.next = kept; kept = node; }
    if (i % 1000 == 0) kept = null;
    text = (text + i.toString()).substring(0, 20);
    sum += text.length + node.values[1];
  }
  kept = null;
  return sum;
}`;
const ROUNDS = 3000;
/** A node, its array and that one's buffer at least, and the strings. */
const LEAST_BLOCKS = 5 * ROUNDS;

interface Runtime {
  readonly exports: { run(rounds: number): number; __collect?(): void };
}

async function heapOf(...options: string[]) {
  const bytes = await compileAssemblyScript(PROGRAM, ...options);
  const { run, value } = await profile(bytes, async (instantiate) => {
    const { exports } = (await instantiate({
      env: {
        abort: () => {
          throw new Error("abort");
        },
      },
    })) as unknown as Runtime;
    const sum = exports.run(ROUNDS);
    exports.__collect?.();
    exports.__collect?.();
    return sum;
  });
  const plain = (await WebAssembly.instantiate(bytes as BufferSource, { env: { abort: () => undefined } }))
    .instance as unknown as Runtime;
  expect(value).toBe(plain.exports.run(ROUNDS));
  return { heap: run.heap!, notTracked: run.heap!.notTracked!, allocator: run.modules[0].allocator };
}

const LEVELS = ["-O0", "-O1", "-O2", "-O3", "-O3z"];

describe.each(["incremental", "minimal"])(
  "the heap of AssemblyScript's %s runtime",
  { timeout: 300_000 },
  (runtime) => {
    it.each([
      ...LEVELS.map((level) => [level, "--debug", "--exportRuntime"]),
      ...LEVELS.slice(1).map((level) => [level, "--exportRuntime"]),
    ])("has each block once, and none after its collection, with %s %s %s", async (...options) => {
      const { heap, notTracked, allocator } = await heapOf("--runtime", runtime, ...options.filter(Boolean));
      expect(notTracked.filter((sentence) => /handed out over|releases? named/.test(sentence))).toEqual([]);
      expect(allocator.confirmed).toBe(true);
      expect(heap.allocations).toBeGreaterThan(LEAST_BLOCKS);
      // Static strings and what the roots hold aside, everything is garbage at the end.
      expect(heap.liveBlocks).toBeLessThan(20);
    });
  },
);
