import { mayAssign } from "../../../../rewrite/facts/loop-assignments.ts";
import type { ModuleScan } from "../../../../rewrite/facts/module-scan.ts";
import type { WalkState } from "../../../../rewrite/tool.ts";
import { NO_LOCAL } from "../../../../rewrite/walk/operand-stack.ts";
import { CONSTANT } from "../../../../rewrite/walk/value-numbers.ts";
import { type HoistedMark, Insert, type IntervalCode } from "../interval-code.ts";
import type { MarkedGroup } from "./line-marks.ts";
import { LINE_SHIFT } from "./line-of-address.ts";
import type { Mark, PlaceGroup } from "./place-group.ts";

/** A group before a loop, and what it takes to put it back. */
export interface HoistedGroup {
  group: MarkedGroup;
  held: number;
  end: number;
}

/** An open loop whose marks may stand before it. */
export interface HoistingLoop {
  /** The loop's number in the scan, and the position where it starts. */
  number: number;
  start: number;
  poll: number;
  /** Asks before the loop whether the interval has ended; a placeholder while nothing was taken out of the loop. */
  entryPoll: number;
  /** What was taken out of it. */
  hoisted: HoistedGroup[];
}

/** Most marks that are taken out of one loop: its poll repeats them in one insertion of bounded size. */
const MOST_HOISTED = 6;

/** Where groups of places are marked: at their first access, or before the loop whose trips begin with it. */
export class MarkPlaces {
  readonly #code: IntervalCode;
  readonly #targets: { lines: number; scan: ModuleScan };
  state!: WalkState;

  constructor(code: IntervalCode, targets: { lines: number; scan: ModuleScan }) {
    this.#code = code;
    this.#targets = targets;
  }

  /** Marks a group where it is accessed first, at `end`. */
  markAt(group: MarkedGroup, held: number, end: number): void {
    const { base, local, marks, tested } = group;
    group.isHoisted = false;
    const mark = ({ offset, kinds }: Mark): number =>
      this.#code.addBehind(end, Insert.Mark, local, (offset - held) | 0, kinds);
    if (base === CONSTANT)
      group.insertions = linesOf(marks, this.#targets.lines).map(([line, kinds]) =>
        this.#code.addBehind(end, Insert.MarkLine, line, 0, kinds),
      );
    else if (tested === undefined) group.insertions = marks.map(mark);
    else {
      const { always, unaligned, offset, mask } = tested;
      group.insertions = always.map(mark);
      group.insertions.push(
        this.#code.addBehind(end, Insert.IfUnaligned, local, (offset - held) & mask, mask),
      );
      group.insertions.push(...unaligned.map(mark), this.#code.addBehind(end, Insert.EndIf));
    }
  }

  /**
   * Each trip of the innermost loop begins with accesses of this group. If its address stays the same, it is marked before
   * the loop, and again where an interval ends in the loop.
   */
  hoist(loop: HoistingLoop, marked: MarkedGroup, group: PlaceGroup): boolean {
    const place = this.#placeBefore(loop, group);
    if (place === undefined) return false;
    const { marks } = marked;
    const { insertions } = this.#code;
    const again = this.#code.hoisted[insertions.c[loop.poll] - 1] ?? [];
    const wanted: HoistedMark[] =
      place.local === NO_LOCAL
        ? linesOf(marks, this.#targets.lines).map(([line, kinds]) => ({ local: NO_LOCAL, line, kinds }))
        : marks.map(({ offset, kinds }) => ({
            local: place.local,
            line: (offset - place.held) | 0,
            kinds,
          }));
    if (again.length + wanted.length > MOST_HOISTED) return false;
    if (again.length === 0) {
      insertions.c[loop.poll] = this.#code.hoisted.push(again);
      // Marks of what the loop is about to access belong to the interval that the loop begins in.
      this.#code.putInPoll(loop.entryPoll);
    }
    again.push(...wanted);
    marked.insertions = wanted.map(({ local, line, kinds }) =>
      local === NO_LOCAL
        ? this.#code.addBefore(loop.start, Insert.MarkLine, line, 0, kinds)
        : this.#code.addBefore(loop.start, Insert.Mark, local, line, kinds),
    );
    marked.isHoisted = true;
    loop.hoisted.push({ group: marked, held: group.held, end: group.end });
    return true;
  }

  /** Intervals may end elsewhere in the loop too: what it accesses is marked in each trip. */
  putBack(loop: HoistingLoop): void {
    for (const { group, held, end } of loop.hoisted) {
      for (const insertion of group.insertions) this.#code.remove(insertion);
      this.markAt(group, held, end);
    }
    this.#code.insertions.c[loop.poll] = 0;
    this.#code.remove(loop.entryPoll);
  }

  /** A local that the loop does not assign and the distance of the address in it; undefined if there is none. */
  #placeBefore(
    loop: HoistingLoop,
    { base, local, held }: PlaceGroup,
  ): { local: number; held: number } | undefined {
    if (base === CONSTANT) return { local: NO_LOCAL, held: 0 };
    const { values, locals } = this.state;
    const { scan } = this.#targets;
    if (local < locals.length && !mayAssign(scan, loop.number, local)) return { local, held };
    const origin = values.origin[base];
    if (origin < 0 || values.localValue[origin] !== base || mayAssign(scan, loop.number, origin))
      return undefined;
    return { local: origin, held: values.localOffset[origin] };
  }
}

/** The lines of constant addresses, each once with all its kinds; those that are not followed left out. */
function linesOf(marks: readonly Mark[], lines: number): [line: number, kinds: number][] {
  const kindsOf = new Map<number, number>();
  for (const { offset, kinds } of marks) {
    const line = offset >>> LINE_SHIFT;
    if (line < lines) kindsOf.set(line, (kindsOf.get(line) ?? 0) | kinds);
  }
  return [...kindsOf];
}
