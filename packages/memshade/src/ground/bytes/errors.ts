/** Kind of a problem with the input, for callers that distinguish them. */
export type FormatErrorKind =
  | "truncated"
  | "bad-magic"
  | "unsupported-version"
  | "unsupported"
  | "unknown-opcode"
  | "malformed";

/**
 * Input bytes that are not in the format that they claim.
 *
 * `offset` is the byte offset in the input where the construct starts. `construct` names it in the words of the
 * format's specification ("code section", "memarg", "segment entry"). `detail` describes the problem.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { FormatError, openObject } from "memshade/unwind";
 *
 * assert.throws(
 *   () => openObject(new TextEncoder().encode("no object")),
 *   (error) => error instanceof FormatError && error.kind === "bad-magic" && error.offset === 0,
 * );
 * ```
 */
export class FormatError extends Error {
  readonly kind: FormatErrorKind;
  readonly offset: number;
  readonly construct: string;
  readonly detail: string;

  constructor(kind: FormatErrorKind, offset: number, construct: string, detail: string = kind) {
    super(`${construct} at offset 0x${offset.toString(16)}: ${detail}`);
    this.name = "FormatError";
    this.kind = kind;
    this.offset = offset;
    this.construct = construct;
    this.detail = detail;
  }
}

/** Mistake of the user: printed as one line, exit code 2. */
export class UserError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UserError";
  }
}
