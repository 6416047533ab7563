import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type NamedRoot,
  type Retained,
  retainedPlaces,
} from "../../../../../../src/explain/analyses/retainers.ts";
import { BlockList } from "../../../../../../src/record/tools/heap/read/reach/block-list.ts";
import { classifyBlocks } from "../../../../../../src/record/tools/heap/read/reach/classify-blocks.ts";
import { flatMemory } from "../../../../../../src/record/tools/heap/read/reach/program-memory.ts";
import {
  describeRoots,
  placeRetainers,
  Retainers,
} from "../../../../../../src/record/tools/heap/read/reach/retainers.ts";

const [HEAP, STEP, SIZE] = [4096, 64, 32];
const ROOT = 256;

/** Pointers of a made-up program: from a word of the roots or a block to a block, at an offset. */
interface MadeUp {
  /** Context of each block. */
  readonly contexts: readonly number[];
  readonly roots: readonly (readonly [word: number, to: number])[];
  readonly pointers: readonly (readonly [from: number, offset: number, to: number])[];
}

function retainedIn({ contexts, roots, pointers }: MadeUp): Retained {
  const buffer = new ArrayBuffer(HEAP + STEP * contexts.length);
  const words = new Uint32Array(buffer);
  const startOf = (block: number): number => HEAP + STEP * block;
  for (const [word, to] of roots) words[ROOT / 4 + word] = startOf(to);
  for (const [from, offset, to] of pointers) words[(startOf(from) + offset) / 4] = startOf(to);
  const live = {
    length: contexts.length,
    startOf,
    sizeOf: () => SIZE,
    contextOf: (block: number) => contexts[block]!,
  };
  const memory = flatMemory(buffer, 4);
  const retainers = new Retainers(live);
  const times = { timeOf: () => 0, late: Number.POSITIVE_INFINITY };
  const space = { memory, ranges: [0, HEAP], values: [], retainers };
  classifyBlocks(new BlockList(live), space, times, () => undefined);
  const rows = describeRoots(retainers.result(memory), (address) => ({ kind: "static", address }));
  const file = placeRetainers([{ module: 0, reach: { retainers: rows }, siteOf: (context) => context }])!;
  return retainedPlaces(file, {
    root: ({ kind, address }): NamedRoot => ({
      kind,
      ...(address === undefined ? {} : { name: `g${(address - ROOT) / 4}` }),
    }),
    placeOf: (site) => site,
    memberAt: (_, offset) => `m${offset}`,
  });
}

/** Formats paths: `g0 → 1.m8 → 2`. */
function pathsIn({ places }: Retained): string[] {
  return places
    .flatMap(({ place, paths }) =>
      paths.map(({ root, holders }) =>
        [root.name ?? root.kind, ...holders.map((holder) => `${holder.place}.${holder.member}`), place].join(
          " → ",
        ),
      ),
    )
    .sort();
}

describe("retainers", () => {
  it("lead from a root through blocks to each place, by the offsets of the pointers", () => {
    const retained = retainedIn({
      contexts: [1, 2, 3],
      roots: [[2, 0]],
      pointers: [
        [0, 8, 1],
        [1, 4, 2],
      ],
    });
    expect(pathsIn(retained)).toEqual(["g2 → 1", "g2 → 1.m8 → 2", "g2 → 1.m8 → 2.m4 → 3"]);
    expect(retained.places.find(({ place }) => place === 2)).toMatchObject({ bytes: SIZE, falls: 2 * SIZE });
  });

  it("count a list or a tree as one step, also through blocks in between", () => {
    const retained = retainedIn({
      contexts: [1, 1, 1, 2, 1, 3],
      roots: [[0, 0]],
      pointers: [
        [0, 0, 1],
        [1, 0, 2],
        [2, 4, 3],
        [3, 8, 4],
        [4, 12, 5],
      ],
    });
    expect(pathsIn(retained)).toEqual(["g0 → 1", "g0 → 1.m12 → 3", "g0 → 1.m4 → 2"]);
    expect(retained.places[0]).toMatchObject({ place: 1, blocks: 4, falls: 6 * SIZE });
  });

  it("tell apart two lists of one place, and what both roots hold falls with neither", () => {
    const retained = retainedIn({
      contexts: [1, 1, 2, 2],
      roots: [
        [0, 0],
        [5, 1],
      ],
      pointers: [
        [0, 0, 2],
        [1, 0, 3],
        [1, 4, 2],
      ],
    });
    expect(pathsIn(retained)).toEqual(["g0 → 1", "g0 → 1.m0 → 2", "g5 → 1", "g5 → 1.m0 → 2"]);
    const [place] = retained.places.filter(({ place }) => place === 2);
    const fallsWithRoot = Object.fromEntries(
      place!.paths.map((path) => [path.root.name, path.fallsWithRoot]),
    );
    expect(fallsWithRoot).toEqual({ g0: SIZE, g5: 2 * SIZE });
  });

  it("name lost blocks, and what these hold", () => {
    const retained = retainedIn({ contexts: [1, 2], roots: [], pointers: [[0, 0, 1]] });
    expect(pathsIn(retained)).toEqual(["lost → 1", "lost → 1.m0 → 2"]);
  });

  it("keep an array of many pointers in few rows", () => {
    const contexts = Array.from({ length: 1000 }, () => 7);
    const retained = retainedIn({
      contexts: contexts.slice(0, 900),
      roots: contexts.slice(0, 900).map((_, i) => [i, i]),
      pointers: [],
    });
    expect(retained.places).toMatchObject([{ place: 7, blocks: 900, falls: 900 * SIZE }]);
    expect(retained.places[0]!.paths.length).toBeLessThan(100);
  });

  const programs = fc.integer({ min: 1, max: 12 }).chain((length) => {
    const block = fc.nat({ max: length - 1 });
    return fc.record({
      contexts: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: length, maxLength: length }),
      roots: fc.uniqueArray(fc.tuple(fc.nat({ max: 5 }), block), {
        selector: ([word]) => word,
        maxLength: 4,
      }),
      pointers: fc.uniqueArray(fc.tuple(block, fc.constantFrom(0, 4, 8, 12), block), {
        selector: ([from, offset]) => `${from} ${offset}`,
        maxLength: 24,
      }),
    });
  });

  it("begin at a root, cover each block once, and never promise more than falls", () => {
    fc.assert(
      fc.property(programs, (program) => {
        const { places, bytes, blocks } = retainedIn(program);
        expect(blocks).toBe(program.contexts.length);
        const paths = places.flatMap(({ paths }) => paths);
        expect(paths.reduce((sum, path) => sum + path.blocks, 0)).toBe(blocks);
        for (const { root, holders, falls, fallsWithRoot } of paths) {
          expect(root.name ?? root.kind).toMatch(/^(g\d|lost)$/);
          expect(new Set(holders.map(({ place }) => place)).size).toBe(holders.length);
          expect(falls).toBeLessThanOrEqual(bytes);
          expect(fallsWithRoot).toBeLessThanOrEqual(bytes);
          if (root.name !== undefined)
            expect(fallsWithRoot).toBeLessThanOrEqual(lostWithout(program, Number(root.name.slice(1))));
        }
        for (const { falls, bytes: own } of places) {
          expect(falls).toBeGreaterThanOrEqual(own);
          expect(falls).toBeLessThanOrEqual(bytes);
        }
      }),
    );
  });
});

/** Returns the bytes that a search does not reach any more without a word of the roots. */
function lostWithout(program: MadeUp, word: number): number {
  const roots = program.roots.filter(([at]) => at !== word);
  return SIZE * (reached(program).size - reached({ ...program, roots }).size);
}

function reached({ roots, pointers }: MadeUp): Set<number> {
  const found = new Set<number>();
  const open = roots.map(([, to]) => to);
  for (let block = open.pop(); block !== undefined; block = open.pop()) {
    if (found.has(block)) continue;
    found.add(block);
    open.push(...pointers.flatMap(([from, , to]) => (from === block ? [to] : [])));
  }
  return found;
}
