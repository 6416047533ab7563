import { enclosed } from "./expression-nodes.ts";
import { BUILTIN_TYPES, D_TYPES, type ExpressionSource, parseExpression } from "./expressions.ts";
import { ModuleName, Name, type Node, prefixed, type Qualifiers, WithTemplateArgs } from "./nodes.ts";
import {
  ArrayOf,
  exceptionSpecification,
  functionOf,
  memberPointer,
  packExpansion,
  pointer,
  postfixed,
  Qualified,
  Reference,
  vectorOf,
} from "./type-nodes.ts";

export interface TypeSource extends ExpressionSource {
  readonly substitutions: Node[];
  readonly takesTemplateArgs: boolean;
  qualifiers(): Qualifiers;
  name(): Node;
}

/** Parses a type. All types but those of one letter can be substituted later. */
export function parseType(source: TypeSource): Node {
  const c = source.peek();
  const builtin = BUILTIN_TYPES[c];
  if (builtin !== undefined) {
    source.pos++;
    return new Name(builtin);
  }
  const [node, isNew] = compoundType(source, c);
  if (isNew) source.substitutions.push(node);
  return node;
}

/** Returns the type, and true if it can be substituted later. */
function compoundType(source: TypeSource, c: string): [Node, boolean] {
  const next = source.peek(1);
  switch (c) {
    case "r":
    case "V":
    case "K": {
      const after = /^r?V?K?/.exec(source.text.slice(source.pos, source.pos + 3))![0].length;
      const [f, g] = [source.peek(after), source.peek(after + 1)];
      if (f === "F" || (f === "D" && "oOwx".includes(g) && g !== "")) return [functionType(source), true];
      return [qualifiedType(source), true];
    }
    case "U":
      if (next === "l" || next === "t" || next === "b") return [source.name(), true];
      return [qualifiedType(source), true];
    case "u":
      source.pos++;
      return [vendorType(source), true];
    case "D":
      return dType(source, next);
    case "F":
      return [functionType(source), true];
    case "A":
      return [arrayType(source), true];
    case "M": {
      source.pos++;
      const owner = source.type();
      return [memberPointer(owner, source.type()), true];
    }
    case "T": {
      const words: Record<string, string> = { s: "struct ", u: "union ", e: "enum " };
      const word = words[next];
      if (word !== undefined) {
        source.pos += 2;
        return [prefixed(word, source.name()), true];
      }
      const param = source.templateParam();
      if (!source.takesTemplateArgs || source.peek() !== "I") return [param, true];
      source.substitutions.push(param);
      return [new WithTemplateArgs(param, source.templateArgs()), true];
    }
    case "P":
      source.pos++;
      return [pointer(source.type()), true];
    case "R":
    case "O":
      source.pos++;
      return [new Reference(source.type(), c === "O"), true];
    case "C":
      source.pos++;
      return [postfixed(source.type(), "complex"), true];
    case "G":
      source.pos++;
      return [postfixed(source.type(), "imaginary"), true];
    case "S": {
      if (next === "t") return [source.name(), true];
      const start = source.pos;
      const node = source.substitution();
      if (node instanceof ModuleName) {
        source.pos = start;
        return [source.name(), true];
      }
      if (source.peek() !== "I" || !source.takesTemplateArgs) return [node, false];
      return [new WithTemplateArgs(node, source.templateArgs()), true];
    }
    default:
      return [source.name(), true];
  }
}

function dType(source: TypeSource, letter: string): [Node, boolean] {
  const builtin = D_TYPES[letter];
  if (builtin !== undefined) {
    source.pos += 2;
    return [new Name(builtin), false];
  }
  switch (letter) {
    case "F": {
      source.pos += 2;
      const bits = source.number();
      if (source.consume("b")) return [new Name("std::bfloat16_t"), false];
      source.expect("_");
      return [new Name(`_Float${bits}`), false];
    }
    case "B":
    case "U": {
      source.pos += 2;
      const bits = /\d/.test(source.peek()) ? new Name(source.number()) : parseExpression(source);
      source.expect("_");
      return [enclosed(letter === "B" ? "_BitInt" : "unsigned _BitInt", bits), true];
    }
    case "t":
    case "T":
      return [source.decltype(), true];
    case "k":
    case "K":
      source.pos += 2;
      return [postfixed(source.name(), letter === "k" ? "auto" : "decltype(auto)"), true];
    case "v":
      return [vectorType(source), true];
    case "p":
      source.pos += 2;
      return [packExpansion(source.type()), true];
    case "o":
    case "O":
    case "w":
    case "x":
      return [functionType(source), true];
    default:
      return source.fail();
  }
}

export function parseDecltype(source: TypeSource): Node {
  source.expect("D");
  if (!source.consume("t")) source.expect("T");
  const expression = parseExpression(source);
  source.expect("E");
  return enclosed("decltype", expression);
}

/** Parses a vendor type, or a trait's result: `__remove_cv(T)`. */
function vendorType(source: TypeSource): Node {
  const name = source.bareName();
  if (!source.consume("I")) return new Name(name);
  const type = source.type();
  source.expect("E");
  return enclosed(name, type);
}

function qualifiedType(source: TypeSource): Node {
  if (source.consume("U")) {
    const word = source.bareName();
    const args = source.peek() === "I" ? source.templateArgs() : undefined;
    const child = qualifiedType(source);
    const vendor = postfixed(child, word);
    return args === undefined ? vendor : new WithTemplateArgs(vendor, args);
  }
  const qualifiers = source.qualifiers();
  const child = source.type();
  const isPlain = !qualifiers.isConst && !qualifiers.isVolatile && !qualifiers.isRestrict;
  return isPlain ? child : new Qualified(child, qualifiers);
}

function functionType(source: TypeSource): Node {
  const qualifiers = source.qualifiers();
  let exceptions: Node | undefined;
  if (source.consume("Do")) exceptions = new Name("noexcept");
  else if (source.consume("DO")) {
    const expression = parseExpression(source);
    source.expect("E");
    exceptions = exceptionSpecification("noexcept", [expression]);
  } else if (source.consume("Dw")) {
    const types = source.until("E", () => source.type());
    exceptions = exceptionSpecification("throw", types);
  }
  source.consume("Dx");
  source.expect("F");
  source.consume("Y");
  const result = source.type();
  const params: Node[] = [];
  let reference = "";
  for (;;) {
    if (source.consume("E")) break;
    if (source.consume("v")) continue;
    if (source.consume("RE")) {
      reference = " &";
      break;
    }
    if (source.consume("OE")) {
      reference = " &&";
      break;
    }
    params.push(source.type());
  }
  return functionOf(result, params, qualifiers, reference, exceptions);
}

function arrayType(source: TypeSource): Node {
  source.expect("A");
  let dimension: Node | undefined;
  if (/\d/.test(source.peek())) {
    dimension = new Name(source.number());
    source.expect("_");
  } else if (!source.consume("_")) {
    dimension = parseExpression(source);
    source.expect("_");
  }
  return new ArrayOf(source.type(), dimension);
}

function vectorType(source: TypeSource): Node {
  source.expect("Dv");
  let dimension: Node | undefined;
  if (/[1-9]/.test(source.peek())) {
    dimension = new Name(source.number());
    source.expect("_");
    if (source.consume("p")) return vectorOf(new Name("pixel"), dimension);
  } else if (!source.consume("_")) {
    dimension = parseExpression(source);
    source.expect("_");
  }
  return vectorOf(source.type(), dimension);
}
