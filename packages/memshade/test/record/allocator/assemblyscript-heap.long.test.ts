import { describe, expect, it } from "vitest";
import { profile } from "../../../src/index.ts";
import { compileAssemblyScript } from "./find/compile-assemblyscript.ts";

// Keeps, drops, resizes and collects objects while it makes more than the heap can hold at once.
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
/** Each round makes at least a node, its array, the array's buffer, and the strings. */
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

// Grows arrays, and counts the moves of their elements and the bytes moved.
const GROWING = `
const kept = new Array<Array<i32>>(100);
let copies = 0;
let bytes = 0;
export function run(rounds: i32): i32 {
  for (let i = 0; i < 100; i++) {
    const numbers = new Array<i32>();
    kept[i] = numbers;
    for (let n = 0; n < rounds; n++) {
      const before = numbers.dataStart;
      const length = numbers.length;
      numbers.push(n);
      // With their headers: blocks of up to 128 bytes are not followed.
      if (before == numbers.dataStart || 2 * 4 * length + 16 <= 128) continue;
      copies++;
      bytes += 4 * length + 16;
    }
  }
  return copies;
}
export function copiedBytes(): i32 { return bytes; }`;

const MAP = `
export function run(entries: i32): i32 {
  const table = new Map<i32, i32>();
  for (let i = 0; i < entries; i++) table.set(i, i);
  return table.size;
}`;
const ENTRIES = 20_000;
/** Tables double from 4 entries on. A table of 128 bytes is the last that is too small to be followed. */
const TABLES = Math.ceil(Math.log2(ENTRIES / 16));

async function growthOf(...options: string[]) {
  const bytes = await compileAssemblyScript(GROWING, ...options);
  const { run, value } = await profile(bytes, async (instantiate) => {
    const { exports } = (await instantiate({ env: { abort: () => undefined } })) as unknown as {
      exports: { run(rounds: number): number; copiedBytes(): number };
    };
    return { copies: exports.run(2000), copiedBytes: exports.copiedBytes() };
  });
  const { growth } = run.heap!;
  const { notTracked } = run.modules[0];
  return { truth: value, told: { copies: growth!.copies, copiedBytes: growth!.copiedBytes }, notTracked };
}

const LEVELS = ["-O0", "-O1", "-O2", "-O3", "-O3z"];

describe.each(["incremental", "minimal"])("the heap of AssemblyScript's %s runtime", (runtime) => {
  it.each([
    ...LEVELS.map((level) => [level, "--debug", "--exportRuntime"]),
    ...LEVELS.slice(1).map((level) => [level, "--exportRuntime"]),
  ])("has each block once, and none after its collection, with %s %s %s", async (...options) => {
    const { heap, notTracked, allocator } = await heapOf("--runtime", runtime, ...options.filter(Boolean));
    expect(notTracked.filter((sentence) => /handed out over|releases? named/.test(sentence))).toEqual([]);
    expect(allocator.confirmed).toBe(true);
    expect(heap.allocations).toBeGreaterThan(LEAST_BLOCKS);
    // Everything is garbage at the end, except static strings and the objects that roots hold.
    expect(heap.liveBlocks).toBeLessThan(20);
  });
});

describe("copies of AssemblyScript's arrays as they grow", () => {
  it.each(["incremental", "minimal"])("are told in a build without optimisation, %s", async (runtime) => {
    const { truth, told, notTracked } = await growthOf("--runtime", runtime, "--debug");
    expect(told.copies).toBe(truth.copies);
    expect(notTracked).not.toContainEqual(expect.stringContaining("Not all copies"));
    // realloc of the minimal runtime copies the whole block, including the unused bytes at its end.
    expect(told.copiedBytes / truth.copiedBytes).toBeGreaterThanOrEqual(1);
    expect(told.copiedBytes / truth.copiedBytes).toBeLessThan(1.1);
  });

  it("are said to be incomplete where the runtime's function is inlined", async () => {
    const { truth, told, notTracked } = await growthOf("--runtime", "incremental", "--debug", "-O3");
    expect(told.copies).toBeLessThan(truth.copies);
    expect(notTracked).toContainEqual(
      expect.stringContaining(
        "Not all copies of growing arrays are counted, because the optimizer has inlined __renew",
      ),
    );
  });

  it.each(["map", "set"])("are said to be incomplete of a %s, and are so", async (kind) => {
    const source =
      kind === "map" ? MAP : MAP.replace("Map<i32, i32>", "Set<i32>").replace("set(i, i)", "add(i)");
    for (const options of [["--debug"], ["--debug", "-O3"]]) {
      const bytes = await compileAssemblyScript(source, "--runtime", "incremental", ...options);
      const { run } = await profile(bytes, async (instantiate) => {
        const { exports } = await instantiate({ env: { abort: () => undefined } });
        return (exports.run as (entries: number) => number)(ENTRIES);
      });
      expect(run.heap!.growth!.copies).toBeLessThan(TABLES);
      expect(run.modules[0]!.notTracked).toContainEqual(
        expect.stringContaining("Not all copies of growing maps and sets are counted"),
      );
    }
  });
});
