import { FormatError, type FormatErrorKind } from "../../../ground/bytes/errors.ts";

const KEPT = 20;

/** What was wrong with a section: the first few errors, and how many there were. Damaged input does not grow it. */
export class CfiProblems {
  readonly errors: FormatError[] = [];
  count = 0;

  add(kind: FormatErrorKind, offset: number, construct: string, detail: string): void {
    this.count++;
    if (this.errors.length < KEPT) this.errors.push(new FormatError(kind, offset, construct, detail));
  }
}
