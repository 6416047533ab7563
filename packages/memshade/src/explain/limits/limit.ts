import { UserError } from "../../ground/bytes/errors.ts";
import { type Amount, parseAmount, UNIT_WORDS } from "../analyses/amount.ts";
import { FILTER_KEYS, type PlaceFilter, parseFilter } from "./place-filter.ts";

const RELATIONS = ["<=", "<", "=", ">=", ">"] as const;
export type Relation = (typeof RELATIONS)[number];

/** What a measure of a run must be: `peak<8MiB`, `left[file=src/tile.c]=0`, `dead<5%`, `peak<+5%`. */
export interface Limit {
  /** As it was written, without spaces around it. */
  readonly text: string;
  /** The word of a measure. */
  readonly measure: string;
  /** Empty: the whole run. */
  readonly filters: readonly PlaceFilter[];
  readonly relation: Relation;
  /** In the measure's unit; in a hundredth of something else where it says so. */
  readonly amount: Amount;
  /** Whether the amount counts from what a baseline has, and in which direction. */
  readonly from?: "above" | "below" | undefined;
}

/** @throws UserError if it is none */
export function parseLimit(text: string): Limit {
  const trimmed = text.trim();
  const [, measure, brackets, relation, sign, number] =
    /^([a-z][a-z-]*)\s*(?:\[([^\]]*)\])?\s*(<=|<|==?|>=|>)\s*([+-]?)\s*(.*)$/s.exec(trimmed) ?? [];
  const amount = number === undefined ? undefined : parseAmount(number.trim());
  if (measure === undefined || relation === undefined)
    throw new UserError(
      `"${trimmed}" is no limit: it has a measure, one of ${RELATIONS.join(" ")} and an amount, such as peak<8MiB, left[file=src/tile.c]=0 or dead<5%`,
    );
  if (amount === undefined)
    throw new UserError(
      `"${trimmed}": "${number}" is no amount: it is a number with ${UNIT_WORDS}, such as 8MiB; with + or - in front it counts from a baseline`,
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
 * The limit of a pair as objects have them: `peak: "8 MiB"` is at most that, and so are numbers; a text may begin with
 * another relation, as in `dead: "<5%"`.
 *
 * @throws UserError if it is none
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
