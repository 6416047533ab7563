import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NO_DRAG } from "../../../../src/profile/model/over-time/drag.ts";
import { HeapTrace } from "./support/heap-trace.ts";
import { ScriptedHeap, type Site } from "./support/scripted-heap.ts";

const dragOf = (program: ScriptedHeap, name: string) =>
  program.profiled.contexts().find(({ stack }) => stack[0] === name)?.site.keptAfterUse ?? NO_DRAG;

/** Allocates and releases blocks of another site, so that time passes. */
function passTime(program: ScriptedHeap, allocations: number, size = 16): void {
  for (let i = 0; i < allocations; i++) {
    program.malloc(200_000, size, "d");
    program.free(200_000);
  }
}

/** Makes more accesses than the number that is attributed to the release of a block. */
function use(program: ScriptedHeap, address: number): void {
  for (let i = 0; i < 20; i++) program.store(address);
}

describe("drag", () => {
  // The block begins with allocation 1, is accessed at 4 and ends at 9: 5 of its 8 units are drag.
  it("is the time from the last access to the end, times the size", () => {
    const program = new ScriptedHeap();
    program.malloc(4096, 64, "a");
    program.store(4096);
    passTime(program, 3);
    program.load(4160 - 8);
    passTime(program, 5);
    program.free(4096);
    expect(dragOf(program, "malloc_a")).toEqual({
      followed: 1,
      blocks: 1,
      bytes: 64,
      byteTime: 64 * 8,
      draggedByteTime: 64 * 5,
      // An allocation is as much work as 50 accesses; the check at time 4 has found two accesses.
      byteWork: 64 * (8 * 50 + 2),
      lateBlocks: 1,
      lateBytes: 64,
      lateByteWork: 64 * (8 * 50 + 2),
      lateUsedByteWork: 64 * (3 * 50 + 2),
      lateLastUse: 64 * 4,
      lateFollowed: 1,
    });
  });

  // Each block is used for a while and then left: all but the last live longer after their last use than before.
  it.each([0, 10, 60])("is found however many other blocks come and go between uses: %i", (others) => {
    const program = new ScriptedHeap();
    const blocks = Array.from({ length: 60 }, (_, i) => 16_384 + i * 2048);
    for (const address of blocks) {
      program.malloc(address, 2048, "a");
      for (let i = 0; i < 8; i++) program.profiled.call("walk", address, 512);
      passTime(program, others);
    }
    for (const address of blocks) program.free(address);
    const { lateBlocks } = dragOf(program, "malloc_a");
    expect(lateBlocks).toBeGreaterThanOrEqual(57);
    expect(lateBlocks).toBeLessThan(60);
  });

  it("of a block that lives at the end lasts until then, and looking changes nothing", () => {
    const program = new ScriptedHeap();
    program.malloc(4096, 2000, "a");
    program.store(4096);
    passTime(program, 10);
    expect(dragOf(program, "malloc_a")).toMatchObject({ draggedByteTime: 2000 * 10, lateBlocks: 1 });
    passTime(program, 10);
    expect(dragOf(program, "malloc_a")).toMatchObject({ draggedByteTime: 2000 * 20, lateBlocks: 1 });
  });

  it.each([
    ["was used right before its end", (program: ScriptedHeap) => use(program, 4096), "free"],
    ["moves, which uses it", () => {}, "realloc"],
  ] as const)("is none where the block %s", (_, last, end) => {
    const program = new ScriptedHeap();
    program.malloc(4096, 64, "a");
    program.store(4096);
    passTime(program, 20);
    last(program);
    if (end === "free") program.free(4096);
    else program.realloc(4096, 8192, 128, "b");
    expect(program.profiled.heap.keptAfterUse?.draggedByteTime).toBe(0);
  });

  it("goes on where what frees the block reads a little of it, as destructors do", () => {
    const program = new ScriptedHeap();
    program.malloc(4096, 64, "a");
    use(program, 4096);
    passTime(program, 20);
    program.load(4096);
    program.load(4104);
    program.free(4096);
    expect(dragOf(program, "malloc_a")).toMatchObject({ draggedByteTime: 64 * 20, lateBlocks: 1 });
  });

  it("is none where the block was never accessed: that is another finding", () => {
    const program = new ScriptedHeap();
    program.malloc(4096, 64, "a");
    passTime(program, 20);
    program.free(4096);
    expect(program.profiled.heap.keptAfterUse).toMatchObject({ draggedByteTime: 0, byteTime: 64 * 20 });
  });

  describe("that counts as kept too long", () => {
    /** Uses a block while the program allocates nothing. */
    function compute(program: ScriptedHeap, address: number, accesses: number): void {
      for (let i = 0; i < accesses; i++) program.load(address);
    }

    it("does not come from a few allocations after long work with the block", () => {
      const program = new ScriptedHeap();
      program.malloc(4096, 64, "a");
      compute(program, 4096, 1000);
      passTime(program, 10);
      // The clock of allocations counts this as the whole life of the block.
      const idle = { draggedByteTime: 64 * 10, lateBlocks: 0 };
      expect(dragOf(program, "malloc_a")).toMatchObject(idle);
      program.free(4096);
      expect(dragOf(program, "malloc_a")).toMatchObject(idle);
    });

    it.each([
      ["that was looked at right before", 0],
      ["that was idle before, and looked at rarely", 40],
    ])("does not come from work with another block meanwhile, %s", (_, idle) => {
      const program = new ScriptedHeap();
      program.malloc(8192, 64, "b");
      program.store(8192);
      passTime(program, idle);
      program.malloc(4096, 64, "a");
      compute(program, 4096, 10);
      compute(program, 8192, 5000);
      program.load(4096);
      passTime(program, 20);
      program.free(4096);
      expect(dragOf(program, "malloc_a")).toMatchObject({ lateBlocks: 0 });
    });

    it("does come from work with another block afterwards", () => {
      const program = new ScriptedHeap();
      program.malloc(8192, 64, "b");
      program.malloc(4096, 64, "a");
      compute(program, 4096, 1000);
      passTime(program, 1);
      for (let round = 0; round < 10; round++) {
        compute(program, 8192, 500);
        passTime(program, 1);
      }
      program.free(4096);
      expect(dragOf(program, "malloc_a")).toMatchObject({ lateBlocks: 1 });
    });
  });

  it("is forgotten at a reset, but for blocks that live", () => {
    const program = new ScriptedHeap();
    for (const address of [4096, 8192]) {
      program.malloc(address, 64, "a");
      program.store(address);
    }
    passTime(program, 10);
    program.free(4096);
    program.profiled.session.reset();
    passTime(program, 10);
    program.free(8192);
    expect(dragOf(program, "malloc_a")).toMatchObject({ followed: 1, draggedByteTime: 64 * 20 });
  });

  it("is looked for nowhere where no accesses are counted", () => {
    const program = new ScriptedHeap({ tools: ["alloc"] });
    program.malloc(4096, 64, "a");
    passTime(program, 10);
    expect(program.profiled.heap.keptAfterUse).toEqual(NO_DRAG);
  });

  it.each([
    ["by default", {}],
    ["with exact counters", { exactHistogram: true }],
    ["with room for three contexts", { maxContexts: 3 }],
  ])("of any program is at most what its trace says, and little less, %s", (_, options) => {
    const PLACES = Array.from({ length: 12 }, (_, i) => 4096 + i * 2048);
    const step = fc.record({
      kind: fc.constantFrom("malloc" as const, "malloc" as const, "free" as const, "touch" as const),
      place: fc.nat({ max: PLACES.length - 1 }),
      bytes: fc.constantFrom(8, 24, 64, 200, 600, 2000),
      site: fc.constantFrom<Site>("a", "b"),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 200 }), (steps) => {
        const program = new ScriptedHeap(options);
        const trace = new HeapTrace();
        const used = new Set<number>();
        for (const { kind, place, bytes, site } of steps) {
          const address = PLACES[place];
          if (kind === "malloc" && !used.has(place)) {
            used.add(place);
            program.malloc(address, bytes, site);
            trace.allocate(address, bytes, `malloc_${site}`);
          } else if (kind === "free" && used.delete(place)) {
            program.free(address);
            trace.release(address);
          } else if (kind === "touch" && used.has(place)) {
            use(program, address);
            trace.access(address);
          }
        }
        // Live blocks count as if they ended now.
        trace.releaseAll();
        for (const name of ["malloc_a", "malloc_b"]) {
          const blocks = trace.ended.filter(({ context }) => context === name);
          const sum = (of: (block: (typeof blocks)[number]) => number) =>
            blocks.reduce((total, block) => total + of(block), 0);
          const measured = dragOf(program, name);
          const truth = sum(({ bytes, drag }) => bytes * drag);
          // All blocks are checked after some more work.
          const slack = sum(({ bytes, drag, life }) => bytes * Math.min(drag, 6 + life / 2));
          expect(measured.draggedByteTime).toBeLessThanOrEqual(truth);
          expect(measured.draggedByteTime).toBeGreaterThanOrEqual(truth - slack);
          if (measured.followed === 0) continue;
          expect(measured.byteTime).toBe(sum(({ bytes, life }) => bytes * life));
          expect(measured.followed).toBe(blocks.length);
        }
      }),
      { numRuns: Number(process.env.MEMSHADE_RUNS ?? 40), seed: Number(process.env.MEMSHADE_SEED ?? 7) },
    );
  });

  it("of very many blocks is estimated from some of them, whatever the pattern", () => {
    const program = new ScriptedHeap({ maxBlocks: 20_000 });
    const COUNT = 12_000;
    for (let i = 0; i < COUNT; i++) {
      program.malloc(4096 + i * 16, 16, i % 2 === 0 ? "a" : "b");
      program.store(4096 + i * 16);
    }
    for (let i = 0; i < COUNT; i += 2) program.load(4096 + i * 16);
    passTime(program, 20_000);
    for (let i = 1; i < COUNT; i += 2) use(program, 4096 + i * 16);
    for (let i = 0; i < COUNT; i++) program.free(4096 + i * 16);
    const dragged = dragOf(program, "malloc_a");
    expect(dragged.followed).toBeLessThan(1000);
    expect(dragged.lateFollowed / dragged.followed).toBeGreaterThan(0.95);
    expect(dragged.lateBlocks / (COUNT / 2)).toBeCloseTo(1, 0);
    expect(dragged.draggedByteTime / (16 * 20_000 * (COUNT / 2))).toBeGreaterThan(0.8);
    expect(dragged.draggedByteTime / (16 * 20_000 * (COUNT / 2))).toBeLessThan(1.25);
    expect(dragOf(program, "malloc_b").lateBlocks).toBe(0);
  });
});
