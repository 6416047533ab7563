import { Prec } from "./nodes.ts";

/** How an operator is used in expressions. */
export type OperatorKind =
  | "prefix"
  | "postfix"
  | "binary"
  | "array"
  | "member"
  | "new"
  | "delete"
  | "call"
  | "cconv"
  | "conditional"
  | "nameonly"
  | "namedcast"
  | "ofid";

export interface Operator {
  readonly code: string;
  readonly kind: OperatorKind;
  readonly symbol: string;
  readonly prec: number;
  /** A variant: `[]` of new, the operand of sizeof a type. */
  readonly flag: boolean;
}

const rows: [string, OperatorKind, string, number, boolean?][] = [
  ["aN", "binary", "&=", Prec.Assign],
  ["aS", "binary", "=", Prec.Assign],
  ["aa", "binary", "&&", Prec.AndIf],
  ["ad", "prefix", "&", Prec.Unary],
  ["an", "binary", "&", Prec.And],
  ["at", "ofid", "alignof ", Prec.Unary, true],
  ["aw", "nameonly", "co_await", Prec.Primary],
  ["az", "ofid", "alignof ", Prec.Unary, false],
  ["cc", "namedcast", "const_cast", Prec.Postfix],
  ["cl", "call", "()", Prec.Postfix],
  ["cm", "binary", ",", Prec.Comma],
  ["co", "prefix", "~", Prec.Unary],
  ["cp", "call", "()", Prec.Postfix, true],
  ["cv", "cconv", "", Prec.Cast],
  ["dV", "binary", "/=", Prec.Assign],
  ["da", "delete", "delete[]", Prec.Unary, true],
  ["dc", "namedcast", "dynamic_cast", Prec.Postfix],
  ["de", "prefix", "*", Prec.Unary],
  ["dl", "delete", "delete", Prec.Unary],
  ["ds", "member", ".*", Prec.PtrMem],
  ["dt", "member", ".", Prec.Postfix],
  ["dv", "binary", "/", Prec.Assign],
  ["eO", "binary", "^=", Prec.Assign],
  ["eo", "binary", "^", Prec.Xor],
  ["eq", "binary", "==", Prec.Equality],
  ["ge", "binary", ">=", Prec.Relational],
  ["gt", "binary", ">", Prec.Relational],
  ["ix", "array", "[]", Prec.Postfix],
  ["lS", "binary", "<<=", Prec.Assign],
  ["le", "binary", "<=", Prec.Relational],
  ["ls", "binary", "<<", Prec.Shift],
  ["lt", "binary", "<", Prec.Relational],
  ["mI", "binary", "-=", Prec.Assign],
  ["mL", "binary", "*=", Prec.Assign],
  ["mi", "binary", "-", Prec.Additive],
  ["ml", "binary", "*", Prec.Multiplicative],
  ["mm", "postfix", "--", Prec.Postfix],
  ["na", "new", "new[]", Prec.Unary, true],
  ["ne", "binary", "!=", Prec.Equality],
  ["ng", "prefix", "-", Prec.Unary],
  ["nt", "prefix", "!", Prec.Unary],
  ["nw", "new", "new", Prec.Unary],
  ["oR", "binary", "|=", Prec.Assign],
  ["oo", "binary", "||", Prec.OrIf],
  ["or", "binary", "|", Prec.Ior],
  ["pL", "binary", "+=", Prec.Assign],
  ["pl", "binary", "+", Prec.Additive],
  ["pm", "member", "->*", Prec.PtrMem],
  ["pp", "postfix", "++", Prec.Postfix],
  ["ps", "prefix", "+", Prec.Unary],
  ["pt", "member", "->", Prec.Postfix],
  ["qu", "conditional", "?", Prec.Conditional],
  ["rM", "binary", "%=", Prec.Assign],
  ["rS", "binary", ">>=", Prec.Assign],
  ["rc", "namedcast", "reinterpret_cast", Prec.Postfix],
  ["rm", "binary", "%", Prec.Multiplicative],
  ["rs", "binary", ">>", Prec.Shift],
  ["sc", "namedcast", "static_cast", Prec.Postfix],
  ["ss", "binary", "<=>", Prec.Spaceship],
  ["st", "ofid", "sizeof ", Prec.Unary, true],
  ["sz", "ofid", "sizeof ", Prec.Unary, false],
  ["te", "ofid", "typeid ", Prec.Postfix, false],
  ["ti", "ofid", "typeid ", Prec.Postfix, true],
];

/** Operators by their two letters. */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map(
  rows.map(([code, kind, symbol, prec, flag = false]) => [code, { code, kind, symbol, prec, flag }]),
);

/** Operators that a class can name: all but casts, conversions, sizeof and plain member access. */
export function operatorName({ kind, symbol, code }: Operator): string | undefined {
  if (kind === "namedcast" || kind === "cconv" || kind === "ofid" || code === "dt" || code === "ds")
    return undefined;
  const isWord = /^[a-z]/.test(symbol);
  return `operator${isWord ? " " : ""}${symbol}`;
}
