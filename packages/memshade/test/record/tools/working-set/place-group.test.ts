import { describe, expect, it } from "vitest";
import {
  Kind,
  type Mark,
  PlaceGroup,
} from "../../../../src/record/tools/working-set/pass/marks/place-group.ts";

interface Place {
  offset: number;
  size: number;
  kinds: number;
  /** True if the access promises natural alignment. Default: true. */
  aligned?: boolean;
}

function groupOf(places: readonly Place[]): PlaceGroup {
  const group = new PlaceGroup();
  for (const { offset, size, kinds, aligned = true } of places) group.add(offset, size, kinds, aligned);
  return group;
}

const marksOf = (places: readonly Place[], trusted = false) => groupOf(places).marks(trusted);

const testedMarksOf = (places: readonly Place[]) => groupOf(places).testedMarks(marksOf(places));

const lineOf = (address: number) => Math.floor(address / 64);

/** Lines of the places of one kind, with the group's base at an address. */
function linesTouched(places: readonly Place[], kind: number, base: number): Set<number> {
  const lines = new Set<number>();
  for (const { offset, size, kinds } of places)
    if (kinds & kind) for (let byte = 0; byte < size; byte++) lines.add(lineOf(base + offset + byte));
  return lines;
}

const linesMarked = (marks: readonly Mark[], kind: number, base: number): Set<number> =>
  new Set(marks.filter(({ kinds }) => kinds & kind).map(({ offset }) => lineOf(base + offset)));

function numbersFrom(first: number): (limit: number) => number {
  let seed = first;
  return (limit) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * limit);
  };
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

  it("are one for a place whose address is tested, and its end where it is not aligned", () => {
    const written = { size: 4, kinds: Kind.Written };
    const place = { offset: 12, ...written };
    expect(testedMarksOf([place])).toEqual({
      always: [{ offset: 12, kinds: Kind.Written }],
      unaligned: [{ offset: 15, kinds: Kind.Written }],
      offset: 12,
      mask: 3,
    });
    // One test covers all accesses: the wider access decides, if the others are aligned at its address.
    const wide = { offset: 32, size: 8, kinds: Kind.Read };
    expect(testedMarksOf([place, wide])).toMatchObject({ offset: 32, mask: 7 });
    expect(testedMarksOf([{ ...place, offset: 14 }, wide])).toBeUndefined();
    // Nothing is saved if the ends of several places need two marks anyway, or if no alignment is promised.
    expect(testedMarksOf([place, { offset: 20, ...written }])).toBeUndefined();
    expect(testedMarksOf([{ ...place, aligned: false }])).toBeUndefined();
  });

  it("mark exactly the lines of all bytes, wherever the base lies and whether aligned or not", () => {
    const below = numbersFrom(11);
    let tested = 0;
    for (let round = 0; round < 400; round++) {
      const size = 2 ** below(5);
      const places = Array.from({ length: 1 + below(4) }, () => ({
        offset: below(3) === 0 ? below(1000) - 500 : size * below(12),
        size: below(3) === 0 ? 2 ** below(5) : size,
        kinds: 1 + below(3),
        aligned: below(4) > 0,
      }));
      const marks = testedMarksOf(places);
      if (marks === undefined) continue;
      tested++;
      for (const base of [4096, 4096 + 16 * below(4), 4096 + below(64), 4096 + below(64)]) {
        const fails = ((base + marks.offset) & marks.mask) !== 0;
        const made = [...marks.always, ...(fails ? marks.unaligned : [])];
        for (const kind of [Kind.Read, Kind.Written])
          expect(linesMarked(made, kind, base)).toEqual(linesTouched(places, kind, base));
      }
    }
    expect(tested).toBeGreaterThan(50);
  });

  it("mark exactly the lines of all bytes, wherever the base lies", () => {
    const below = numbersFrom(7);
    for (let round = 0; round < 400; round++) {
      const places = Array.from({ length: 1 + below(8) }, () => ({
        offset: below(4) === 0 ? below(1000) - 500 : below(100),
        size: 2 ** below(5),
        kinds: 1 + below(3),
      }));
      const marks = marksOf(places);
      for (const base of [4096, 4096 + below(64), 4096 + below(64)])
        for (const kind of [Kind.Read, Kind.Written])
          expect(linesMarked(marks, kind, base)).toEqual(linesTouched(places, kind, base));
    }
  });
});
