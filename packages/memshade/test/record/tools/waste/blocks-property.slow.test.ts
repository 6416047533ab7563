import { describe, expect, it } from "vitest";
import { type Event, free, L, S, text, WasteRun } from "./events.ts";

/** State of a block by definition: its 4-byte granules that were stored to, and those that were loaded from. */
interface NaiveBlock {
  maker: string;
  place: number;
  size: number;
  written: Set<number>;
  read: Set<number>;
}

const SLOTS = [64, 128, 192, 256];

function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A program that allocates, stores, loads, moves and frees, and the final state of each of its blocks. */
function program(seed: number): { events: Event[]; ended: NaiveBlock[] } {
  const below = random(seed);
  const live = new Map<number, NaiveBlock>();
  const ended: NaiveBlock[] = [];
  const events: Event[] = [];
  let places = 0;
  const call = (maker: string, at: number, size: number, old: number): number => {
    const body = maker.startsWith("grow")
      ? "(param i32 i32) (drop (call $realloc (local.get 0) (local.get 1)))"
      : "(param i32 i32) (drop (call $malloc (local.get 1)))";
    events.push(
      text(`(global.set $next (i32.const ${at})) (call $${maker} (i32.const ${old}) (i32.const ${size}))`, {
        [maker]: body,
      }),
    );
    return ++places;
  };
  for (let step = 0; step < 120; step++) {
    const slot = SLOTS[below(SLOTS.length)]!;
    const block = live.get(slot);
    if (block === undefined) {
      const [maker, size] = [`make${below(3)}`, 1 + below(40)];
      const place = call(maker, slot, size, 0);
      live.set(slot, { maker, place, size, written: new Set(), read: new Set() });
      continue;
    }
    const kind = below(12);
    const bytes = [1, 2, 4, 8][below(4)]!;
    const offset = below(5) * 8 + (bytes < 8 ? below(8 / bytes) * bytes : 0);
    if (kind === 0) {
      events.push(free(slot));
      ended.push(block);
      live.delete(slot);
    } else if (kind === 1) {
      const to = SLOTS.find((other) => !live.has(other));
      if (to === undefined) continue;
      const size = 1 + below(40);
      const place = call("grow", to, size, slot);
      const kept = Math.min(size, block.size);
      const keep = (granules: Set<number>) => new Set([...granules].filter((granule) => granule * 4 < kept));
      live.delete(slot);
      live.set(to, { maker: "grow", place, size, written: keep(block.written), read: keep(block.read) });
    } else if (offset + bytes <= block.size) {
      const granules = bytes === 8 ? [offset >> 2, (offset >> 2) + 1] : [offset >> 2];
      events.push(kind < 7 ? S(`s${bytes}`, slot + offset, bytes) : L(`l${bytes}`, slot + offset, bytes));
      for (const granule of granules) (kind < 7 ? block.written : block.read).add(granule);
    }
  }
  return { events, ended: [...ended, ...live.values()] };
}

describe("what became of blocks", () => {
  it("is what the definition says, for programs that allocate, store, load, move and free", () => {
    for (let seed = 1; seed <= 40; seed++) {
      const { events, ended } = program(seed);
      const { file } = new WasteRun(events);
      const naive = ended
        .sort((a, b) => a.place - b.place)
        .map(({ maker, size, written, read }) => ({
          maker,
          size,
          unread: read.size === 0 && written.size > 0 ? 1 : 0,
          unreadBytes: 4 * [...written].filter((granule) => !read.has(granule)).length,
          fates: Array.from({ length: Math.ceil(size / 4) }, (_, granule) =>
            read.has(granule) ? "read" : written.has(granule) ? "unread" : "untouched",
          ),
        }));
      const counted = [...file.blocks!]
        .sort((a, b) => a.ips[1]!.address - b.ips[1]!.address)
        .map(({ ips, size, unread_blocks: unread, never_read: unreadBytes, fields = [] }) => ({
          maker: ips[0]!.function,
          size,
          unread,
          unreadBytes,
          fates: Array.from({ length: Math.ceil(size / 4) }, (_, granule) => {
            const at = granule * 4;
            const field = fields.find(({ offset, size }) => offset <= at && at < offset + size);
            return field === undefined ? "read" : field.written ? "unread" : "untouched";
          }),
        }));
      expect(counted, `seed ${seed}`).toEqual(naive);
    }
  });
});
