import { describe, expect, it } from "vitest";
import { Kind, PlaceGroup } from "../../../src/instrument/working-set/place-group.ts";

interface Place {
  offset: number;
  size: number;
  kinds: number;
}

function marksOf(places: readonly Place[], trusted = false) {
  const group = new PlaceGroup();
  for (const { offset, size, kinds } of places) group.add(offset, size, kinds, true);
  return group.marks(trusted);
}

const lineOf = (address: number) => Math.floor(address / 64);

/** Lines of the places of one kind, when the group's base lies at an address. */
function linesTouched(places: readonly Place[], kind: number, base: number): Set<number> {
  const lines = new Set<number>();
  for (const { offset, size, kinds } of places)
    if (kinds & kind) for (let byte = 0; byte < size; byte++) lines.add(lineOf(base + offset + byte));
  return lines;
}

describe("the marks of places with one base", () => {
  it("are its ends for a place that may lie in two lines, and one where alignment is trusted", () => {
    const place = [{ offset: 8, size: 8, kinds: Kind.Read }];
    expect(marksOf(place)).toEqual([
      { offset: 8, kinds: Kind.Read },
      { offset: 15, kinds: Kind.Read },
    ]);
    expect(marksOf(place, true)).toEqual([{ offset: 8, kinds: Kind.Read }]);
  });

  it("leave out what lies between two marks at most a line apart", () => {
    const fields = [0, 8, 16, 24, 56].map((offset) => ({ offset, size: 8, kinds: Kind.Written }));
    expect(marksOf(fields).map(({ offset }) => offset)).toEqual([0, 63]);
  });

  it("are marks of both kinds where a place is read and written", () => {
    const place = { offset: 4, size: 1 };
    expect(
      marksOf([
        { ...place, kinds: Kind.Read },
        { ...place, kinds: Kind.Written },
      ]),
    ).toEqual([{ offset: 4, kinds: Kind.Both }]);
  });

  it("mark exactly the lines of all bytes, wherever the base lies", () => {
    let seed = 7;
    const below = (limit: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return Math.floor((seed / 2 ** 32) * limit);
    };
    for (let round = 0; round < 400; round++) {
      const places = Array.from({ length: 1 + below(8) }, () => ({
        offset: below(4) === 0 ? below(1000) - 500 : below(100),
        size: 2 ** below(5),
        kinds: 1 + below(3),
      }));
      const marks = marksOf(places);
      for (const base of [4096, 4096 + below(64), 4096 + below(64)])
        for (const kind of [Kind.Read, Kind.Written]) {
          const marked = new Set(
            marks.filter(({ kinds }) => kinds & kind).map(({ offset }) => lineOf(base + offset)),
          );
          expect(marked).toEqual(linesTouched(places, kind, base));
        }
    }
  });
});
