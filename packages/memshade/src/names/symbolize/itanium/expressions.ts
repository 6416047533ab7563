import {
  binary,
  call,
  castLiteral,
  conditional,
  conversionExpression,
  enclosed,
  fold,
  IntegerLiteral,
  initList,
  member,
  namedCast,
  newExpression,
  postfixOperation,
  prefixOperation,
  subscript,
} from "./expression-nodes.ts";
import type { MangledText } from "./mangled-text.ts";
import {
  Closure,
  Name,
  type Node,
  nested,
  Prec,
  prefixed,
  printed,
  printWithComma,
  suffixed,
  WithTemplateArgs,
} from "./nodes.ts";
import { ArgumentPack, packExpansion } from "./type-nodes.ts";

type OperatorKind =
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

interface Operator {
  readonly code: string;
  readonly kind: OperatorKind;
  readonly symbol: string;
  readonly prec: number;
  /** Variant: `[]` of new, or a type as the operand of sizeof. */
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

export const OPERATORS: ReadonlyMap<string, Operator> = new Map(
  rows.map(([code, kind, symbol, prec, flag = false]) => [code, { code, kind, symbol, prec, flag }]),
);

/**
 * Returns the name of an operator function; undefined for casts, conversions, sizeof and plain member access.
 */
export function operatorName({ kind, symbol, code }: Operator): string | undefined {
  if (kind === "namedcast" || kind === "cconv" || kind === "ofid" || code === "dt" || code === "ds")
    return undefined;
  const isWord = /^[a-z]/.test(symbol);
  return `operator${isWord ? " " : ""}${symbol}`;
}

/** Builtin types with a one-letter code. */
export const BUILTIN_TYPES: Readonly<Record<string, string>> = {
  v: "void",
  w: "wchar_t",
  b: "bool",
  c: "char",
  a: "signed char",
  h: "unsigned char",
  s: "short",
  t: "unsigned short",
  i: "int",
  j: "unsigned int",
  l: "long",
  m: "unsigned long",
  x: "long long",
  y: "unsigned long long",
  n: "__int128",
  o: "unsigned __int128",
  f: "float",
  d: "double",
  e: "long double",
  g: "__float128",
  z: "...",
};

/** Types with a code of `D` and a letter. */
export const D_TYPES: Readonly<Record<string, string>> = {
  d: "decimal64",
  e: "decimal128",
  f: "decimal32",
  h: "half",
  i: "char32_t",
  s: "char16_t",
  u: "char8_t",
  a: "auto",
  c: "decltype(auto)",
  n: "std::nullptr_t",
};

/** Form of a type's literals: a suffix, or a type to cast to. */
const LITERAL_TYPES: Readonly<Record<string, string>> = {
  w: "wchar_t",
  c: "char",
  a: "signed char",
  h: "unsigned char",
  s: "short",
  t: "unsigned short",
  i: "",
  j: "u",
  l: "l",
  m: "ul",
  x: "ll",
  y: "ull",
  n: "__int128",
  o: "unsigned __int128",
};

export interface ExpressionSource extends MangledText {
  type(): Node;
  encoding(): Node;
  templateArg(): Node;
  templateArgs(): Node;
  templateParam(): Node;
  name(): Node;
  substitution(): Node;
  sourceName(): Node;
  operatorName(): Node;
  decltype(): Node;
}

export function parseExpression(source: ExpressionSource): Node {
  return source.deeper(() => expression(source));
}

function expression(source: ExpressionSource): Node {
  const isGlobal = source.consume("gs");
  const sub = (): Node => parseExpression(source);
  const code = source.text.slice(source.pos, source.pos + 2);
  const operator = OPERATORS.get(code);
  if (operator !== undefined) {
    source.pos += 2;
    return operation(source, operator, isGlobal, sub);
  }
  const c = source.peek();
  if (c === "L") return parseLiteral(source);
  if (c === "T") return source.templateParam();
  if (c === "u") return vendorExpression(source, sub);
  switch (code) {
    case "fp":
    case "fL":
      return functionParam(source);
    case "fl":
    case "fr":
    case "fL_":
    case "fR":
      return parseFold(source, sub);
    case "il":
      source.pos += 2;
      return initList(undefined, source.until("E", sub));
    case "tl": {
      source.pos += 2;
      const type = source.type();
      return initList(type, source.until("E", sub));
    }
    case "nx":
      source.pos += 2;
      return enclosed("noexcept ", sub(), Prec.Unary);
    case "sp":
      source.pos += 2;
      return packExpansion(sub());
    case "sZ":
      source.pos += 2;
      return enclosed(
        "sizeof...",
        packExpansion(source.peek() === "T" ? source.templateParam() : functionParam(source)),
      );
    case "sP":
      source.pos += 2;
      return enclosed("sizeof... ", new ArgumentPack(source.until("E", () => source.templateArg())));
    case "tw":
      source.pos += 2;
      return prefixed("throw ", sub());
    case "rq":
    case "rQ":
      return parseRequirements(source, sub);
    case "tr":
      source.pos += 2;
      return new Name("throw");
  }
  return unresolvedName(source, isGlobal);
}

function operation(source: ExpressionSource, operator: Operator, isGlobal: boolean, sub: () => Node): Node {
  const { kind, symbol, prec, flag } = operator;
  switch (kind) {
    case "binary":
      return binary(sub(), symbol, sub(), prec);
    case "prefix":
      return prefixOperation(symbol, sub());
    case "postfix":
      return source.consume("_") ? prefixOperation(symbol, sub()) : postfixOperation(sub(), symbol);
    case "array":
      return subscript(sub(), sub());
    case "member":
      return member(sub(), symbol, sub(), prec);
    case "new": {
      const placement = source.until("_", sub);
      const type = source.type();
      const hasInit = source.consume("pi");
      const init = source.until("E", sub);
      return newExpression(`${isGlobal ? "::" : ""}${symbol}`, placement, type, hasInit ? init : undefined);
    }
    case "delete":
      return prefixed(`${isGlobal ? "::" : ""}${symbol} `, sub());
    case "call":
      return call(sub(), source.until("E", sub), flag);
    case "cconv": {
      const type = source.type();
      const operands = source.consume("_") ? source.until("E", sub) : [sub()];
      return conversionExpression(type, operands);
    }
    case "conditional":
      return conditional(sub(), sub(), sub());
    case "namedcast": {
      const type = source.type();
      return namedCast(symbol, type, sub());
    }
    case "ofid":
      return enclosed(symbol, flag ? source.type() : sub(), prec);
    default:
      return source.fail();
  }
}

/** Parses `u` name arguments `E`: `__is_same(T, U)`. `__uuidof` has one argument, preceded by its kind. */
function vendorExpression(source: ExpressionSource, sub: () => Node): Node {
  source.expect("u");
  const name = source.sourceName();
  if (name.baseName() === "__uuidof") {
    if (source.consume("t")) return call(name, [source.type()]);
    if (source.consume("z")) return call(name, [sub()]);
  }
  return call(
    name,
    source.until("E", () => source.templateArg()),
  );
}

/** Parses `rq` requirements `E`, or `rQ` types of parameters `_` requirements `E`. */
function parseRequirements(source: ExpressionSource, sub: () => Node): Node {
  source.expect("r");
  const params = source.consume("Q") ? source.until("_", () => source.type()) : [];
  if (params.length === 0) source.consume("q");
  const clauses: Node[] = [];
  do {
    if (source.consume("X")) {
      const expression = sub();
      const isNoexcept = source.consume("N");
      clauses.push(
        expressionRequirement(expression, isNoexcept, source.consume("R") ? source.name() : undefined),
      );
    } else if (source.consume("T")) clauses.push(clause("typename", source.type()));
    else {
      source.expect("Q");
      clauses.push(clause("requires", sub()));
    }
  } while (!source.consume("E"));
  return requirements(params, clauses);
}

/** Parses `fp`, `fp0`, `this`. */
function functionParam(source: ExpressionSource): Node {
  if (source.consume("fpT")) return new Name("this");
  if (source.consume("fL")) {
    source.number();
    source.expect("p");
  } else source.expect("fp");
  for (const qualifier of ["r", "V", "K"]) source.consume(qualifier);
  const number = /\d/.test(source.peek()) ? source.number() : "";
  source.expect("_");
  return new Name(`fp${number}`);
}

function parseFold(source: ExpressionSource, sub: () => Node): Node {
  source.expect("f");
  const kind = source.peek();
  source.pos++;
  const isLeft = kind === "l" || kind === "L";
  const hasInit = kind === "L" || kind === "R";
  const operator = OPERATORS.get(source.text.slice(source.pos, source.pos + 2));
  if (operator === undefined) return source.fail();
  source.pos += 2;
  const first = sub();
  const second = hasInit ? sub() : undefined;
  const [pack, init] = isLeft && second !== undefined ? [second, first] : [first, second];
  return fold(isLeft, operator.symbol, pack, init);
}

function unresolvedName(source: ExpressionSource, isGlobal: boolean): Node {
  if (source.consume("srN")) {
    let soFar = unresolvedType(source);
    if (source.peek() === "I") soFar = new WithTemplateArgs(soFar, source.templateArgs());
    while (!source.consume("E")) soFar = nested(soFar, simpleId(source));
    return nested(soFar, baseUnresolvedName(source));
  }
  if (!source.consume("sr")) {
    const name = baseUnresolvedName(source);
    return isGlobal ? prefixed("::", name) : name;
  }
  let soFar: Node;
  if (/\d/.test(source.peek())) {
    soFar = simpleId(source);
    if (isGlobal) soFar = prefixed("::", soFar);
    while (!source.consume("E")) soFar = nested(soFar, simpleId(source));
  } else {
    soFar = unresolvedType(source);
    if (source.peek() === "I") soFar = new WithTemplateArgs(soFar, source.templateArgs());
  }
  return nested(soFar, baseUnresolvedName(source));
}

/**
 * Parses a parameter, a decltype or a substitution. LLVM does not accept `St` here, although gcc writes it, so such
 * names are not demangled.
 */
function unresolvedType(source: ExpressionSource): Node {
  if (source.peek() === "S" && source.peek(1) === "t") return source.fail();
  return source.type();
}

function simpleId(source: ExpressionSource): Node {
  const name = source.sourceName();
  return source.peek() === "I" ? new WithTemplateArgs(name, source.templateArgs()) : name;
}

function baseUnresolvedName(source: ExpressionSource): Node {
  if (/\d/.test(source.peek())) return simpleId(source);
  if (source.consume("dn")) return prefixed("~", /\d/.test(source.peek()) ? simpleId(source) : source.type());
  source.consume("on");
  const name = source.operatorName();
  return source.peek() === "I" ? new WithTemplateArgs(name, source.templateArgs()) : name;
}

/** Parses `L` type value `E`. */
export function parseLiteral(source: ExpressionSource): Node {
  source.expect("L");
  const c = source.peek();
  const written = LITERAL_TYPES[c];
  if (written !== undefined) {
    source.pos++;
    const value = source.number(true);
    source.expect("E");
    return new IntegerLiteral(written, value);
  }
  if (c === "b") {
    source.pos++;
    if (source.consume("0E")) return new Name("false");
    source.expect("1E");
    return new Name("true");
  }
  if (c === "f" || c === "d" || c === "e") {
    source.pos++;
    return floating(source, c);
  }
  if (source.consume("_Z")) {
    const encoding = source.encoding();
    source.expect("E");
    return encoding;
  }
  if (source.consume("DnE") || source.consume("Dn0E")) return new Name("nullptr");
  if (c === "A") {
    const type = source.type();
    source.expect("E");
    return prefixed('"<', suffixed(type, '>"'));
  }
  if (c === "U" && source.peek(1) === "l") {
    const type = source.type();
    source.expect("E");
    return lambda(type);
  }
  const type = source.type();
  const value = source.number(true);
  source.expect("E");
  return castLiteral(type, value.startsWith("n") ? `-${value.slice(1)}` : value);
}

/** Prints `[](int){...}`, a lambda as an argument. */
function lambda(type: Node): Node {
  return printed((out) => {
    out.add("[]");
    if (type instanceof Closure) type.declarator(out);
    out.add("{...}");
  });
}

/** Parses the bits of a floating-point literal. The value is printed like C's %a, with a suffix. */
function floating(source: ExpressionSource, kind: "f" | "d" | "e"): Node {
  const size = { f: 8, d: 16, e: 20 }[kind];
  const digits = source.text.slice(source.pos, source.pos + size);
  if (!new RegExp(`^[0-9a-f]{${size}}$`).test(digits) || kind === "e") return source.fail();
  source.pos += size;
  source.expect("E");
  const view = new DataView(new ArrayBuffer(8));
  if (kind === "f") view.setUint32(0, Number.parseInt(digits, 16));
  else view.setBigUint64(0, BigInt(`0x${digits}`));
  return new Name(
    hexFloat(kind === "f" ? view.getFloat32(0) : view.getFloat64(0)) + (kind === "f" ? "f" : ""),
  );
}

function hexFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const magnitude = Math.abs(value);
  if (magnitude === 0) return `${sign}0x0p+0`;
  let exponent = Math.floor(Math.log2(magnitude));
  let mantissa = magnitude / 2 ** exponent;
  if (mantissa >= 2) {
    mantissa /= 2;
    exponent++;
  } else if (mantissa < 1) {
    mantissa *= 2;
    exponent--;
  }
  const fraction = (mantissa - 1).toString(16).slice(2);
  return `${sign}0x1${fraction === "" ? "" : `.${fraction}`}p${exponent < 0 ? "" : "+"}${exponent}`;
}

export function requirements(params: readonly Node[], clauses: readonly Node[]): Node {
  return printed((out) => {
    const printClauses = () => {
      for (const clause of clauses) clause.print(out);
      out.add(" ");
    };
    out.add("requires ");
    if (params.length > 0) {
      out.parenthesized(() => printWithComma(params, out));
      out.add(" ");
    }
    out.parenthesized(printClauses, "{", "}");
  });
}

/** Prints ` {a + b} noexcept -> C;`, without braces for a requirement that need only be valid. */
export function expressionRequirement(
  expression: Node,
  isNoexcept: boolean,
  constraint: Node | undefined,
): Node {
  return printed((out) => {
    out.add(" ");
    if (isNoexcept || constraint !== undefined) out.parenthesized(() => expression.print(out), "{", "}");
    else expression.print(out);
    if (isNoexcept) out.add(" noexcept");
    if (constraint !== undefined) {
      out.add(" -> ");
      constraint.print(out);
    }
    out.add(";");
  });
}

export function clause(word: string, child: Node): Node {
  return printed((out) => {
    out.add(` ${word} `);
    child.print(out);
    out.add(";");
  });
}
