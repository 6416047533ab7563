import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SharingAnalysis, type ThreadAccess } from "../../src/analyses/sharing.ts";

const load = (thread: number, address: number, size: number, context?: number): ThreadAccess => ({
  thread,
  writes: false,
  address,
  size,
  context,
});
const store = (thread: number, address: number, size: number, context?: number): ThreadAccess => ({
  ...load(thread, address, size, context),
  writes: true,
});

function analyse(...events: ThreadAccess[]) {
  const analysis = new SharingAnalysis();
  for (const event of events) analysis.add(event);
  return analysis.sharedLines();
}

describe("sharing between threads", () => {
  it("is false where two threads use different bytes of one line", () => {
    const [line] = analyse(store(1, 0, 4), store(2, 4, 4), store(1, 0, 4), load(2, 4, 4), store(2, 4, 4));
    expect(line).toMatchObject({ line: 0, invalidations: 3, remoteModifiedHits: 1, sharing: "false" });
    const writersOf = (offset: number) => [...(line.bytes.get(offset)?.writers ?? [])];
    expect([0, 3, 4, 7].map(writersOf)).toEqual([[1], [1], [2], [2]]);
    expect(line.bytes.has(8)).toBe(false);
  });

  it("is true where they use the same bytes", () => {
    expect(analyse(store(1, 0, 4), load(2, 0, 4), store(1, 0, 4))).toMatchObject([
      { invalidations: 1, remoteModifiedHits: 1, sharing: "true" },
    ]);
  });

  it("is none where everybody only reads", () => {
    expect(analyse(load(1, 0, 8), load(2, 0, 8))).toMatchObject([
      { invalidations: 0, remoteModifiedHits: 0, sharing: "none" },
    ]);
  });

  it("is none where a thread reads beside what another one stored before", () => {
    expect(analyse(store(1, 0, 4), load(2, 8, 4))).toMatchObject([
      { invalidations: 0, remoteModifiedHits: 1, sharing: "none" },
    ]);
  });

  it("splits an access at the end of a line", () => {
    const lines = analyse(store(1, 60, 8, 5), load(2, 0, 4), load(2, 64, 4, 6));
    expect(lines.map(({ line, sharing }) => [line, sharing])).toEqual([
      [0, "none"],
      [1, "true"],
    ]);
    expect([...(lines[1].bytes.get(0)?.contexts ?? [])]).toEqual([5, 6]);
  });

  it("says nothing of lines that one thread has for itself", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.boolean(), fc.nat(1000), fc.integer({ min: 1, max: 16 })), { maxLength: 50 }),
        (accesses) => {
          const events = accesses.map(([writes, address, size]) => ({ thread: 7, writes, address, size }));
          expect(analyse(...events)).toEqual([]);
        },
      ),
    );
  });

  it("counts at most one invalidation per store and line", () => {
    const access = fc.record({
      thread: fc.nat(3),
      writes: fc.boolean(),
      address: fc.nat(255),
      size: fc.constantFrom(1, 2, 4, 8, 16),
    });
    fc.assert(
      fc.property(fc.array(access, { maxLength: 80 }), (events) => {
        for (const { line, invalidations, remoteModifiedHits } of analyse(...events)) {
          const touching = events.filter(
            ({ address, size }) => address < (line + 1) * 64 && address + size > line * 64,
          );
          expect(invalidations).toBeLessThanOrEqual(touching.filter(({ writes }) => writes).length);
          expect(remoteModifiedHits).toBeLessThanOrEqual(touching.filter(({ writes }) => !writes).length);
        }
      }),
    );
  });
});
