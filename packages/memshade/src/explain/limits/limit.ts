import { UserError } from "../../ground/bytes/errors.ts";
import { type Amount, parseAmount, UNIT_WORDS } from "../analyses/amount.ts";
import { FILTER_KEYS, type PlaceFilter, parseFilter } from "./place-filter.ts";

const RELATIONS = ["<=", "<", "=", ">=", ">"] as const;
export type Relation = (typeof RELATIONS)[number];

/** Condition for a measure of a run: `peak<8MiB`, `left[file=src/tile.c]=0`, `dead<5%`, `peak<+5%`. */
export interface Limit {
  /** Original text, trimmed. */
  readonly text: string;
  readonly measure: string;
  /** Empty: the whole run. */
  readonly filters: readonly PlaceFilter[];
  readonly relation: Relation;
  readonly amount: Amount;
  /** Direction, if the amount is relative to a baseline. */
  readonly from?: "above" | "below" | undefined;
}

export function parseLimit(text: string): Limit {
  const trimmed = text.trim();
  const [, measure, brackets, relation, sign, number] =
    /^([a-z][a-z-]*)\s*(?:\[([^\]]*)\])?\s*(<=|<|==?|>=|>)\s*([+-]?)\s*(.*)$/s.exec(trimmed) ?? [];
  const amount = number === undefined ? undefined : parseAmount(number.trim());
  if (measure === undefined || relation === undefined)
    throw new UserError(
      `"${trimmed}" is not a limit: write a measure, one of ${RELATIONS.join(" ")} and an amount, such as peak<8MiB, left[file=src/tile.c]=0 or dead<5%`,
    );
  if (amount === undefined)
    throw new UserError(
      `"${trimmed}": "${number}" is not an amount: write a number with ${UNIT_WORDS}, such as 8MiB; with + or - in front it is relative to a baseline`,
    );
  return {
    text: trimmed,
    measure,
    filters: brackets === undefined ? [] : filtersOf(trimmed, brackets),
    relation: relation === "==" ? "=" : (relation as Relation),
    amount,
    from: sign === "+" ? "above" : sign === "-" ? "below" : undefined,
  };
}

/**
 * Parses a limit in the form of an object's member: `peak: "8 MiB"` means at most that, and so do numbers. A text may
 * begin with another relation, as in `dead: "<5%"`.
 *
 * @throws UserError if the pair is no limit
 */
export function limitOfPair(key: string, value: string | number): Limit {
  const text = String(value).trim();
  return parseLimit(/^[<>=]/.test(text) ? `${key}${text}` : `${key}<=${text}`);
}

function filtersOf(limit: string, text: string): PlaceFilter[] {
  return text.split(",").map((part) => {
    const filter = parseFilter(part);
    if (filter !== undefined) return filter;
    throw new UserError(
      `"${limit}": "${part.trim()}" is none of ${FILTER_KEYS.map((key) => `${key}=…`).join(", ")}`,
    );
  });
}
