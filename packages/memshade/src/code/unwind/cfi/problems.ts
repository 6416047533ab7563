import { FormatError, type FormatErrorKind } from "../../../ground/bytes/errors.ts";

const KEPT = 20;

/** Problems of a section: the first few errors, and their total number. Damaged input cannot make the list long. */
export class CfiProblems {
  readonly errors: FormatError[] = [];
  count = 0;

  add(kind: FormatErrorKind, offset: number, construct: string, detail: string): void {
    this.count++;
    if (this.errors.length < KEPT) this.errors.push(new FormatError(kind, offset, construct, detail));
  }
}
