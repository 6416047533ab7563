import * as Op from "../../../../../code/wasm/op.generated.ts";
import { CONSTANT } from "../../../../rewrite/walk/value-numbers.ts";
import type { Insertion, Insertions } from "../../../../rewrite/write/insertions.ts";
import { LINE_SHIFT } from "./line-of-address.ts";
import type { MarkWriter } from "./mark-writer.ts";
import type { Mark, PlaceGroup, TestedMarks } from "./place-group.ts";

const NO_RESULT = 0x40;

/** Inserts marks. */
export class MarkPlaces {
  readonly #writer: MarkWriter;
  /** Lines that are followed. */
  readonly #lines: number;

  constructor(writer: MarkWriter, lines: number) {
    this.#writer = writer;
    this.#lines = lines;
  }

  /** Marks a group where it is accessed first. `tested`: the same marks with a test, where that takes fewer. */
  mark(insertions: Insertions, group: PlaceGroup, marks: Mark[], tested: TestedMarks | undefined): void {
    const { base, end } = group;
    const steps = base === CONSTANT ? this.#markLines(marks) : this.#markPlaces(group, marks, tested);
    // Before what keeps the access's result.
    for (const step of steps) insertions.addEarly(end, step);
  }

  #markLines(marks: Mark[]): Insertion[] {
    return linesOf(marks, this.#lines).map(([line, kinds]) => ({
      write: (sink) => this.#writer.markLine(sink, line, kinds),
    }));
  }

  #markPlaces({ local, held }: PlaceGroup, marks: Mark[], tested: TestedMarks | undefined): Insertion[] {
    const mark = ({ offset, kinds }: Mark): Insertion => ({
      write: (sink) => this.#writer.mark(sink, local, offset - held, kinds),
    });
    if (tested === undefined) return marks.map(mark);
    const { always, unaligned, offset, mask } = tested;
    const displacement = (offset - held) & mask;
    const begin: Insertion = {
      write: (sink) => {
        this.#writer.isUnaligned(sink, local, displacement, mask);
        sink.rarely();
        sink.open(Op.IF, NO_RESULT);
      },
    };
    const end: Insertion = { write: (sink) => sink.end() };
    return [...always.map(mark), begin, ...unaligned.map(mark), end];
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
