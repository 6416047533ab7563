import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BlockList } from "../../../../../../src/record/tools/heap/read/reach/block-list.ts";
import {
  classifyBlocks as classify,
  type PointerSpace,
} from "../../../../../../src/record/tools/heap/read/reach/classify-blocks.ts";
import { isInitialValue } from "../../../../../../src/record/tools/heap/read/reach/look-through.ts";
import { flatMemory } from "../../../../../../src/record/tools/heap/read/reach/program-memory.ts";
import { Reach } from "../../../../../../src/record/tools/heap/read/reach/reach-sums.ts";

const NAMES = ["", "reachable", "possible", "lost", "indirect"];

interface Block {
  start: number;
  size: number;
}

function memoryOf(words: Readonly<Record<number, number>>, wordBytes = 4, bytes = 4096): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(bytes));
  for (const [address, value] of Object.entries(words))
    if (wordBytes === 4) view.setUint32(Number(address), value, true);
    else view.setBigUint64(Number(address), BigInt(value), true);
  return view.buffer as ArrayBuffer;
}

function listOf(blocks: readonly Block[]): BlockList {
  return new BlockList({
    length: blocks.length,
    startOf: (block) => blocks[block]!.start,
    sizeOf: (block) => blocks[block]!.size,
  });
}

function classifyBlocks(
  list: BlockList,
  space: PointerSpace,
  { times, late }: { times?: Float64Array; late: number } = { late: Number.POSITIVE_INFINITY },
) {
  const behind = {
    behindBytes: new Float64Array(list.length),
    behindBlocks: new Float64Array(list.length),
    behindLate: new Float64Array(list.length),
  };
  const timeOf = (block: number) => times?.[block] ?? 0;
  const reach = classify(list, space, { timeOf, late }, (owner, owned) => {
    behind.behindBytes[owner] = owned.bytes;
    behind.behindBlocks[owner] = owned.blocks;
    behind.behindLate[owner] = owned.late;
  });
  return { reach, ...behind };
}

describe("live blocks", () => {
  // The drawing next to the code. Roots are the words from 0 to 16; blocks of 16 bytes start at 1000.
  const [A, B, C, D, E, F, G, H, I] = [1000, 1104, 1208, 1312, 1416, 1520, 1624, 1728, 1832] as const;
  const blocks = [A, B, C, D, E, F, G, H, I].map((start) => ({ start, size: 16 }));
  const words = {
    0: A,
    4: C + 4,
    [A]: B,
    [C + 8]: D,
    [E]: F,
    [F + 4]: G,
    [G]: F,
    [H]: I,
    [I + 12]: H,
  };

  it("are told apart by the pointers to them", () => {
    const found = classifyBlocks(listOf(blocks), {
      memory: flatMemory(memoryOf(words), 4),
      ranges: [0, 16],
      values: [],
    });
    expect([...found.reach].map((reach) => NAMES[reach])).toEqual([
      "reachable",
      "reachable",
      "possible",
      "possible",
      "lost",
      "indirect",
      "indirect",
      "lost",
      "indirect",
    ]);
    expect([...found.behindBlocks]).toEqual([0, 0, 0, 0, 2, 0, 0, 1, 0]);
    expect([...found.behindBytes]).toEqual([0, 0, 0, 0, 32, 0, 0, 16, 0]);
  });

  it("are reachable by a global as by a word of static data, and by words of 8 bytes in memory64", () => {
    const found = classifyBlocks(listOf(blocks), {
      memory: flatMemory(memoryOf({ [H]: E, [E + 8]: C, [C + 4]: A }, 8), 8),
      ranges: [],
      values: [H],
    });
    // A value across two words of C is no pointer.
    const reachable = blocks.filter((_, block) => found.reach[block] === Reach.Reachable);
    expect(reachable.map(({ start }) => start)).toEqual([C, E, H]);
  });

  it("may be empty: they have an address of their own", () => {
    const found = classifyBlocks(listOf([{ start: 1008, size: 0 }]), {
      memory: flatMemory(memoryOf({ 0: 1008 }), 4),
      ranges: [0, 4],
      values: [],
    });
    expect(NAMES[found.reach[0]!]).toBe("reachable");
  });

  it("have their address behind a length that fits them, as SQLite's blocks and arrays of C++", () => {
    const kindOf = (words: Record<number, number>, pointer: number) => {
      const memory = flatMemory(memoryOf({ 0: pointer, ...words }), 4);
      const list = listOf([{ start: 1000, size: 40 }]);
      return NAMES[classifyBlocks(list, { memory, ranges: [0, 4], values: [] }).reach[0]!];
    };
    expect(kindOf({ 1000: 32 }, 1008)).toBe("reachable");
    expect(kindOf({ 1000: 9 }, 1004)).toBe("reachable");
    expect(kindOf({ 1004: 4 }, 1008)).toBe("reachable");
    expect(kindOf({ 1000: 33 }, 1008)).toBe("possible");
    expect(kindOf({ 1000: 7 }, 1004)).toBe("possible");
    expect(kindOf({ 1000: 4 }, 1012)).toBe("possible");
  });

  it("have their address behind a word that says where they start, or how much is left of them", () => {
    const kindOf = (words: Record<number, number>, pointer: number) => {
      const memory = flatMemory(memoryOf({ 0: pointer, ...words }), 4);
      const list = listOf([{ start: 1000, size: 88 }]);
      return NAMES[classifyBlocks(list, { memory, ranges: [0, 4], values: [] }).reach[0]!];
    };
    // The block is aligned to 64 bytes by hand. In front of a map there are kind, flags, position in its file, length, and four bytes for
    // the alignment.
    expect(kindOf({ 1020: 1000 }, 1024)).toBe("reachable");
    expect(kindOf({ 1000: 3, 1004: 34, 1016: 64 }, 1024)).toBe("reachable");
    expect(kindOf({ 1020: 1004 }, 1024)).toBe("possible");
    expect(kindOf({ 1016: 65 }, 1024)).toBe("possible");
    expect(kindOf({ 1012: 64 }, 1024)).toBe("possible");
    expect(kindOf({ 996: 86 }, 1002)).toBe("possible");
  });

  it("have the address of a second base, which its table of virtual functions tells, as objects of C++ with several bases", () => {
    const tables = { 200: 0, 208: 5, 220: -8 >>> 0, 228: 6 };
    const kindOf = (words: Record<number, number>, pointer: number) => {
      const memory = flatMemory(memoryOf({ 0: pointer, ...tables, ...words }), 4);
      const list = listOf([{ start: 1000, size: 16 }]);
      return NAMES[classifyBlocks(list, { memory, ranges: [0, 4], values: [] }).reach[0]!];
    };
    expect(kindOf({ 1000: 208, 1008: 228 }, 1008)).toBe("reachable");
    // The pointer back leads elsewhere, the object has no table, or no table is at that address.
    expect(kindOf({ 1000: 208, 1004: 228 }, 1004)).toBe("possible");
    expect(kindOf({ 1000: 7, 1008: 228 }, 1008)).toBe("possible");
    expect(kindOf({ 1000: 208, 1008: 9 }, 1008)).toBe("possible");
  });

  it("end at the address of an array of no objects, of which they are the length", () => {
    const kindOf = (size: number, length: number, pointer: number) => {
      const memory = flatMemory(memoryOf({ 0: pointer, [1000 + size - 4]: length }), 4);
      const list = listOf([{ start: 1000, size }]);
      return NAMES[classifyBlocks(list, { memory, ranges: [0, 4], values: [] }).reach[0]!];
    };
    expect(kindOf(4, 0, 1004)).toBe("reachable");
    expect(kindOf(8, 0, 1008)).toBe("reachable");
    expect(kindOf(8, 3, 1008)).toBe("lost");
    expect(kindOf(16, 0, 1016)).toBe("lost");
    expect(kindOf(8, 0, 1009)).toBe("lost");
  });

  it.each([
    ["is no pointer where it was there before the program began", [0xe8, 3, 0, 0], "lost"],
    ["is none either where zeros behind a segment belong to it", [0xe8, 3], "lost"],
    ["is one where the program has written it", [0xe9, 3, 0, 0], "reachable"],
    [
      "is one where the heap was there before the program began, too",
      Array(1100).fill(0).with(0, 0xe8).with(1, 3),
      "reachable",
    ],
  ])("have an address that %s", (_, bytes, kind) => {
    const found = classifyBlocks(listOf([{ start: 1000, size: 16 }]), {
      memory: flatMemory(memoryOf({ 8: 1000 }), 4),
      ranges: [0, 16],
      values: [],
      isOther: isInitialValue({ from: 8, bytes: Uint8Array.from(bytes) }),
    });
    expect(NAMES[found.reach[0]!]).toBe(kind);
  });

  it("are led by the oldest one of a ring, wherever that lies, which was there before its parts", () => {
    const database = { memory: flatMemory(memoryOf({ [A]: B, [B]: C, [C]: A }), 4) };
    const behind = (...times: readonly number[]) => {
      const left = times.map((_, at) => ({ start: blocks[at]!.start, size: 16 }));
      const space = { ...database, ranges: [], values: [] };
      const found = classifyBlocks(listOf(left), space, { times: Float64Array.from(times), late: 3 });
      return Array.from(found.behindBlocks, (count, at) => [count, found.behindLate[at]]);
    };
    expect(behind(2, 1, 3)).toEqual([
      [0, 0],
      [2, 1],
      [0, 0],
    ]);
    expect(behind(5, 5, 5)).toEqual([
      [2, 2],
      [0, 0],
      [0, 0],
    ]);
  });

  it("of a ring stand behind whoever leads to one of them, though the oldest of the ring is older", () => {
    const left = [A, B, C].map((start) => ({ start, size: 16 }));
    const memory = flatMemory(memoryOf({ [A]: B, [B]: A, [C]: B }), 4);
    const found = classifyBlocks(
      listOf(left),
      { memory, ranges: [], values: [] },
      { times: Float64Array.of(1, 2, 3), late: 3 },
    );
    expect([...found.reach].map((reach) => NAMES[reach])).toEqual(["indirect", "indirect", "lost"]);
    expect([...found.behindBlocks]).toEqual([0, 0, 2]);
  });

  it("that two lost ones lead to stand behind one of them, and all that is lost behind somebody", () => {
    const found = classifyBlocks(listOf(blocks), {
      memory: flatMemory(memoryOf({ [B]: D, [C]: D, [D]: E, [I]: B }), 4),
      ranges: [],
      values: [],
    });
    const behind = blocks.flatMap(({ start }, at) =>
      found.behindBlocks[at] === 0 ? [] : [[start, found.behindBlocks[at]]],
    );
    // I has B. D is behind the older of C and I, and E is behind D.
    expect(behind).toEqual([
      [C, 2],
      [I, 1],
    ]);
    expect(NAMES[found.reach[blocks.findIndex(({ start }) => start === C)]!]).toBe("lost");
  });
});

describe("any heap", () => {
  const BYTES = 1024;
  const ROOTS = 64;

  const heap = fc
    .array(fc.record({ gap: fc.integer({ min: 0, max: 12 }), size: fc.integer({ min: 0, max: 40 }) }), {
      maxLength: 20,
    })
    .chain((shapes) => {
      const blocks: Block[] = [];
      let at = ROOTS;
      for (const { gap, size } of shapes) {
        const start = Math.ceil((at + gap) / 8) * 8;
        if (start + size > BYTES) break;
        blocks.push({ start, size });
        at = start + Math.max(1, size);
      }
      // Pointers to beginnings, pointers into blocks, and other values, in a few words.
      const value = fc.oneof(
        ...(blocks.length === 0
          ? []
          : [
              fc.constantFrom(...blocks.map(({ start }) => start)),
              fc.constantFrom(...blocks).map(({ start, size }) => start + Math.floor(size / 2)),
            ]),
        fc.integer({ min: 0, max: BYTES }),
      );
      const words = fc.array(fc.tuple(fc.integer({ min: 0, max: BYTES / 4 - 1 }), value), { maxLength: 60 });
      const times = fc.array(fc.integer({ min: 0, max: 9 }), {
        minLength: blocks.length,
        maxLength: blocks.length,
      });
      return fc.record({
        blocks: fc.constant(blocks),
        words,
        values: fc.array(value, { maxLength: 1 }),
        times: times.map((each) => Float64Array.from(each)),
      });
    });

  it("has the kinds, and the sums behind lost blocks, that a plain walk over its graph gives", () => {
    fc.assert(
      fc.property(heap, ({ blocks, words, values, times }) => {
        const memory = memoryOf(
          Object.fromEntries(words.map(([word, value]) => [word * 4, value])),
          4,
          BYTES,
        );
        const space = { memory: flatMemory(memory, 4), ranges: [0, ROOTS], values };
        const found = classifyBlocks(listOf(blocks), space, { times, late: 5 });
        const plain = plainly({ blocks, times }, new Uint32Array(memory), [
          ...values,
          ...new Uint32Array(memory, 0, ROOTS / 4),
        ]);
        expect([...found.reach].map((reach) => NAMES[reach])).toEqual(plain);
        const sum = (column: ArrayLike<number>) => Array.from(column).reduce((total, one) => total + one, 0);
        const indirect = blocks.filter((_, block) => plain[block] === "indirect");
        expect(sum(found.behindBlocks)).toBe(indirect.length);
        expect(sum(found.behindBytes)).toBe(sum(indirect.map(({ size }) => size)));
        expect(sum(found.behindLate)).toBe(
          blocks.filter((_, block) => plain[block] === "indirect" && times[block]! >= 5).length,
        );
        for (const [block, behind] of found.behindBlocks.entries())
          if (behind > 0) expect(plain[block]).toBe("lost");
      }),
      { numRuns: 2000 },
    );
  });

  /** The definitions by sets: which blocks are reachable from which. */
  function plainly(
    { blocks, times }: { blocks: readonly Block[]; times: Float64Array },
    words: Uint32Array,
    roots: readonly number[],
  ): string[] {
    const isOlder = (one: number, other: number) =>
      times[one]! < times[other]! || (times[one] === times[other] && one < other);
    const isStart = (value: number) => blocks.findIndex(({ start }) => start === value);
    const isInside = (value: number) =>
      blocks.findIndex(({ start, size }) => value > start && value < start + size);
    const wordsOf = ({ start, size }: Block) =>
      [...words].filter((_, at) => at * 4 >= start && at * 4 + 4 <= start + size);
    const from = (starting: readonly number[], next: (block: number) => number[]): Set<number> => {
      const seen = new Set(starting);
      for (const block of seen) for (const one of next(block)) seen.add(one);
      return seen;
    };
    const isBehindLength = (value: number) =>
      blocks.findIndex(({ start, size }) => {
        const rest = start + size - value;
        const lengths =
          value - start === 8 && words[start / 4 + 1] === 0 ? [words[start / 4]!] : [words[value / 4 - 1]!];
        return (
          (value - start === 4 || value - start === 8) &&
          rest > 0 &&
          lengths.some((length) => length > 0 && length <= rest && rest % length === 0)
        );
      });
    const starts = (values: readonly number[]) =>
      values.map((value) => Math.max(isStart(value), isBehindLength(value))).filter((block) => block >= 0);
    const any = (values: readonly number[]) =>
      values.map((value) => Math.max(isStart(value), isInside(value))).filter((block) => block >= 0);
    const reachable = from(starts(roots), (block) => starts(wordsOf(blocks[block]!)));
    const inside = [roots, ...[...reachable].map((block) => wordsOf(blocks[block]!))].flatMap(any);
    const possible = from(inside, (block) => any(wordsOf(blocks[block]!)));
    const isLeft = (block: number) => !reachable.has(block) && !possible.has(block);
    const leads = blocks.map((block, index) => {
      const all = from(any(wordsOf(block)), (one) => any(wordsOf(blocks[one]!)));
      return isLeft(index) ? all : new Set<number>();
    });
    return blocks.map((_, block) => {
      if (reachable.has(block)) return "reachable";
      if (possible.has(block)) return "possible";
      // A block that leads here and is not reachable from here, or an older block of the same cycle.
      const stands = blocks.some(
        (_, other) =>
          other !== block && leads[other]!.has(block) && (!leads[block]!.has(other) || isOlder(other, block)),
      );
      return stands ? "indirect" : "lost";
    });
  }
});
