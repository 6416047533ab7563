import { CONSTANT } from "../../../../rewrite/walk/value-numbers.ts";
import { Insert, type IntervalCode } from "../interval-code.ts";
import type { MarkedGroup } from "./line-marks.ts";
import { LINE_SHIFT } from "./line-of-address.ts";
import type { Mark, PlaceGroup, TestedMarks } from "./place-group.ts";

/**
 * Marks a group where it is accessed first. `lines`: those that are followed. `tested`: the same marks with a test, where
 * that takes fewer.
 */
export function insertMarks(
  code: IntervalCode,
  lines: number,
  { base, local, held, end }: PlaceGroup,
  marks: Mark[],
  tested: TestedMarks | undefined,
): MarkedGroup {
  const mark = ({ offset, kinds }: Mark): number =>
    code.addBehind(end, Insert.Mark, local, (offset - held) | 0, kinds);
  if (base === CONSTANT) {
    const insertions = linesOf(marks, lines).map(([line, kinds]) =>
      code.addBehind(end, Insert.MarkLine, line, 0, kinds),
    );
    return { base, local, marks, insertions };
  }
  if (tested === undefined) return { base, local, marks, insertions: marks.map(mark) };
  const { always, unaligned, offset, mask } = tested;
  const insertions = always.map(mark);
  insertions.push(code.addBehind(end, Insert.IfUnaligned, local, (offset - held) & mask, mask));
  insertions.push(...unaligned.map(mark), code.addBehind(end, Insert.EndIf));
  return { base, local, marks, insertions };
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
