/** Maximum length of a printed name; longer ones come from nested substitutions, not from compilers. */
const LONGEST = 1 << 20;
/** Maximum number of printing steps, for names that print nothing endlessly. */
const MOST_STEPS = 1 << 22;

/** Text of a printed name, with the context that nodes need. */
export class Output {
  text = "";
  isInTemplateArgs = false;
  /**
   * True if `>` is an operator and does not end template arguments. Outside of them LLVM never treats it as an
   * operator.
   */
  gtIsGt = false;
  /** Element of parameter packs being printed, and their number; −1 outside of an expansion. */
  packIndex = -1;
  packSize = -1;
  #steps = 0;

  add(text: string): void {
    this.text += text;
    this.#steps += 1;
    if (this.text.length > LONGEST || this.#steps > MOST_STEPS) throw new RangeError("a name without end");
  }

  get last(): string {
    return this.text.at(-1) ?? "";
  }

  /** Prints in parentheses, where `>` is an operator. */
  parenthesized(print: () => void, open = "(", close = ")"): void {
    this.add(open);
    const before = this.gtIsGt;
    this.gtIsGt = this.isInTemplateArgs;
    print();
    this.gtIsGt = before;
    this.add(close);
  }

  /** Prints in angle brackets, where a comparison needs parentheses. */
  bracketed(print: () => void): void {
    const { gtIsGt, isInTemplateArgs } = this;
    this.gtIsGt = false;
    this.isInTemplateArgs = true;
    this.add("<");
    print();
    this.add(">");
    this.gtIsGt = gtIsGt;
    this.isInTemplateArgs = isInTemplateArgs;
  }
}

export const Prec = {
  Primary: 0,
  Postfix: 1,
  Unary: 2,
  Cast: 3,
  PtrMem: 4,
  Multiplicative: 5,
  Additive: 6,
  Shift: 7,
  Spaceship: 8,
  Relational: 9,
  Equality: 10,
  And: 11,
  Xor: 12,
  Ior: 13,
  AndIf: 14,
  OrIf: 15,
  Conditional: 16,
  Assign: 17,
  Comma: 18,
  Default: 19,
} as const;

/**
 * Part of a name. Declarators print around the declared name: `left` before it, `right` after it, as in `int (*` …
 * `)(char)`.
 */
export abstract class Node {
  readonly prec: number = Prec.Primary;

  abstract left(out: Output): void;

  right(_out: Output): void {}

  hasRight(_out: Output): boolean {
    return false;
  }

  isArray(_out: Output): boolean {
    return false;
  }

  isFunction(_out: Output): boolean {
    return false;
  }

  /** Returns the name of a class without scope and arguments, as in its constructors. */
  baseName(): string {
    return "";
  }

  /** Returns the code of a literal of type char, −1 for anything else. */
  character(): number {
    return -1;
  }

  /** Returns the node that this one refers to, if it is known only while printing. */
  actual(_out: Output): Node {
    return this;
  }

  print(out: Output): void {
    this.left(out);
    if (this.hasRight(out)) this.right(out);
  }

  printAsOperand(out: Output, prec: number = Prec.Default, strictlyWorse = false): void {
    const needsParentheses = this.prec >= prec + (strictlyWorse ? 1 : 0);
    if (needsParentheses) out.parenthesized(() => this.print(out));
    else this.print(out);
  }
}

/** Prints nodes with commas; elements that print nothing, such as empty packs, leave no comma. */
export function printWithComma(nodes: readonly Node[], out: Output): void {
  let isFirst = true;
  for (const node of nodes) {
    const before = out.text;
    if (!isFirst) out.add(", ");
    const start = out.text.length;
    node.printAsOperand(out, Prec.Comma);
    if (out.text.length === start) out.text = before;
    else isFirst = false;
  }
}

class Printed extends Node {
  override readonly prec: number;
  readonly #left: (out: Output) => void;
  constructor(left: (out: Output) => void, prec: number = Prec.Primary) {
    super();
    this.#left = left;
    this.prec = prec;
  }
  override left(out: Output): void {
    this.#left(out);
  }
}

export function printed(left: (out: Output) => void, prec?: number): Node {
  return new Printed(left, prec);
}

/** Parts that a node prints around the declared name, which may be empty. */
interface AroundParts {
  left(out: Output): void;
  right(out: Output): void;
  /** Default: always true. */
  hasRight?(out: Output): boolean;
  isFunction?: boolean;
}

class Around extends Node {
  readonly #parts: AroundParts;
  constructor(parts: AroundParts) {
    super();
    this.#parts = parts;
  }
  override left(out: Output): void {
    this.#parts.left(out);
  }
  override right(out: Output): void {
    this.#parts.right(out);
  }
  override hasRight(out: Output): boolean {
    return this.#parts.hasRight?.(out) ?? true;
  }
  override isFunction(): boolean {
    return this.#parts.isFunction ?? false;
  }
}

export function printedAround(parts: AroundParts): Node {
  return new Around(parts);
}

/** Name with a decoration that the constructors of a class omit. */
class Decorated extends Printed {
  readonly #name: Node;
  constructor(name: Node, left: (out: Output) => void) {
    super(left);
    this.#name = name;
  }
  override baseName(): string {
    return this.#name.baseName();
  }
}

function decorated(name: Node, left: (out: Output) => void): Node {
  return new Decorated(name, left);
}

export class Name extends Node {
  readonly text: string;
  constructor(text: string) {
    super();
    this.text = text;
  }
  override left(out: Output): void {
    out.add(this.text);
  }
  override baseName(): string {
    return this.text;
  }
}

/** Struct without a name. LLVM omits the name in its constructors and destructors too: `A::'unnamed'::~()`. */
export const unnamedType = (number: string): Node => printed((out) => out.add(`'unnamed${number}'`));

/** Prints text before another node: `vtable for `, `typename `. */
export function prefixed(prefix: string, child: Node): Node {
  return printed((out) => {
    out.add(prefix);
    child.print(out);
  });
}

export function suffixed(child: Node, suffix: string): Node {
  return decorated(child, (out) => {
    child.print(out);
    out.add(suffix);
  });
}

/** Prints `Scope::Name`, also for local names. */
export function nested(scope: Node, name: Node): Node {
  return decorated(name, (out) => {
    scope.print(out);
    out.add("::");
    name.print(out);
  });
}

/** Module of C++20 or a partition of one: `shop.cart:items`. */
export class ModuleName extends Printed {
  constructor(parent: Node | undefined, name: Node, isPartition: boolean) {
    super((out) => {
      parent?.print(out);
      if (isPartition) out.add(":");
      else if (parent !== undefined) out.add(".");
      name.print(out);
    });
  }
}

/** `name@module` */
export function inModule(name: Node, module: ModuleName): Node {
  return decorated(name, (out) => {
    name.print(out);
    out.add("@");
    module.print(out);
  });
}

export const templateArgs = (args: readonly Node[]): Node =>
  printed((out) => out.bracketed(() => printWithComma(args, out)));

export class WithTemplateArgs extends Decorated {
  constructor(name: Node, args: Node) {
    super(name, (out) => {
      name.print(out);
      args.print(out);
    });
  }
}

/** Abbreviation `std::string` and similar ones, which constructors and longer names write in full. */
export class StdAbbreviation extends Node {
  readonly short: string;
  readonly base: string;
  /** Template arguments, if the abbreviation is an instance. */
  readonly args: string;
  readonly isExpanded: boolean;
  constructor(short: string, base: string, args: string, isExpanded = false) {
    super();
    this.short = short;
    this.base = base;
    this.args = args;
    this.isExpanded = isExpanded;
  }
  override left(out: Output): void {
    out.add(this.isExpanded ? `std::${this.base}${this.args}` : `std::${this.short}`);
  }
  override baseName(): string {
    return this.base;
  }
  expanded(): StdAbbreviation {
    return new StdAbbreviation(this.short, this.base, this.args, true);
  }
}

export const ctorDtor = (owner: Node, isDtor: boolean): Node =>
  printed((out) => out.add((isDtor ? "~" : "") + owner.baseName()));

/** `'lambda'(int)` */
export class Closure extends Node {
  readonly count: string;
  readonly templateParams: readonly Node[];
  readonly params: readonly Node[];
  /** Constraints before and after its parameters. */
  readonly constraints: readonly [Node | undefined, Node | undefined];
  constructor(
    count: string,
    templateParams: readonly Node[],
    params: readonly Node[],
    constraints: readonly [Node | undefined, Node | undefined],
  ) {
    super();
    this.count = count;
    this.templateParams = templateParams;
    this.params = params;
    this.constraints = constraints;
  }
  override left(out: Output): void {
    out.add(`'lambda${this.count}'`);
    this.declarator(out);
  }
  declarator(out: Output): void {
    if (this.templateParams.length > 0) out.bracketed(() => printWithComma(this.templateParams, out));
    const [before, behind] = this.constraints;
    if (before !== undefined) {
      printConstraint(before, out);
      out.add(" ");
    }
    out.parenthesized(() => printWithComma(this.params, out));
    printConstraint(behind, out);
  }
}

export const structuredBinding = (bindings: readonly Node[]): Node =>
  printed((out) => out.parenthesized(() => printWithComma(bindings, out), "[", "]"));

export interface Qualifiers {
  isConst: boolean;
  isVolatile: boolean;
  isRestrict: boolean;
}

export function printQualifiers({ isConst, isVolatile, isRestrict }: Qualifiers, out: Output): void {
  if (isConst) out.add(" const");
  if (isVolatile) out.add(" volatile");
  if (isRestrict) out.add(" restrict");
}

/** Parts after a function's parameters. */
export interface FunctionSuffix {
  qualifiers: Qualifiers;
  reference: string;
  attributes: Node | undefined;
  constraint: Node | undefined;
}

export function printConstraint(constraint: Node | undefined, out: Output): void {
  if (constraint === undefined) return;
  out.add(" requires ");
  constraint.print(out);
}

/** Prints a function's whole declaration: the result, its name, parameters and the qualifiers of `this`. */
export function functionEncoding(
  result: Node | undefined,
  name: Node,
  params: readonly Node[],
  { qualifiers, reference, attributes, constraint }: FunctionSuffix,
): Node {
  return printedAround({
    isFunction: true,
    left(out) {
      if (result !== undefined) {
        result.left(out);
        if (!result.hasRight(out)) out.add(" ");
      }
      name.print(out);
    },
    right(out) {
      out.parenthesized(() => printWithComma(params, out));
      result?.right(out);
      printQualifiers(qualifiers, out);
      out.add(reference);
      attributes?.print(out);
      printConstraint(constraint, out);
    },
  });
}

export function enableIf(conditions: readonly Node[]): Node {
  return printed((out) => {
    out.add(" [enable_if:");
    printWithComma(conditions, out);
    out.add("]");
  });
}
