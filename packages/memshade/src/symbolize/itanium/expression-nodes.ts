import { Node, Prec, printWithComma } from "./nodes.ts";
import type { Output } from "./output.ts";
import { ArrayOf } from "./type-nodes.ts";

/** An expression whose tightness is given. */
abstract class Expression extends Node {
  override readonly prec: number;
  constructor(prec: number) {
    super();
    this.prec = prec;
  }
}

/** `a + b` */
export class Binary extends Expression {
  readonly one: Node;
  readonly operator: string;
  readonly other: Node;
  constructor(one: Node, operator: string, other: Node, prec: number) {
    super(prec);
    this.one = one;
    this.operator = operator;
    this.other = other;
  }
  override left(out: Output): void {
    // Where `>` would end template arguments, a comparison stands in parentheses.
    const isHidden = !out.gtIsGt && (this.operator === ">" || this.operator === ">>");
    if (isHidden) out.parenthesized(() => this.#print(out));
    else this.#print(out);
  }
  #print(out: Output): void {
    const isAssignment = this.prec === Prec.Assign;
    this.one.printAsOperand(out, isAssignment ? Prec.OrIf : this.prec, !isAssignment);
    if (this.operator !== ",") out.add(" ");
    out.add(`${this.operator} `);
    this.other.printAsOperand(out, this.prec, isAssignment);
  }
}

/** `a[b]` */
export class Subscript extends Expression {
  readonly array: Node;
  readonly index: Node;
  constructor(array: Node, index: Node) {
    super(Prec.Postfix);
    this.array = array;
    this.index = index;
  }
  override left(out: Output): void {
    this.array.printAsOperand(out, this.prec);
    out.parenthesized(() => this.index.printAsOperand(out), "[", "]");
  }
}

export class Unary extends Expression {
  readonly operator: string;
  readonly operand: Node;
  readonly isPostfix: boolean;
  constructor(operator: string, operand: Node, isPostfix: boolean) {
    super(isPostfix ? Prec.Postfix : Prec.Unary);
    this.operator = operator;
    this.operand = operand;
    this.isPostfix = isPostfix;
  }
  override left(out: Output): void {
    if (this.isPostfix) this.operand.printAsOperand(out, this.prec, true);
    out.add(this.operator);
    if (!this.isPostfix) this.operand.printAsOperand(out, this.prec);
  }
}

/** `a.b`, `a->b` */
export class Member extends Expression {
  readonly object: Node;
  readonly operator: string;
  readonly member: Node;
  constructor(object: Node, operator: string, member: Node, prec: number) {
    super(prec);
    this.object = object;
    this.operator = operator;
    this.member = member;
  }
  override left(out: Output): void {
    this.object.printAsOperand(out, this.prec, true);
    out.add(this.operator);
    this.member.printAsOperand(out, this.prec, false);
  }
}

/** `a ? b : c` */
export class Conditional extends Expression {
  readonly condition: Node;
  readonly whenTrue: Node;
  readonly whenFalse: Node;
  constructor(condition: Node, whenTrue: Node, whenFalse: Node) {
    super(Prec.Conditional);
    this.condition = condition;
    this.whenTrue = whenTrue;
    this.whenFalse = whenFalse;
  }
  override left(out: Output): void {
    this.condition.printAsOperand(out, this.prec);
    out.add(" ? ");
    this.whenTrue.printAsOperand(out);
    out.add(" : ");
    this.whenFalse.printAsOperand(out, Prec.Assign, true);
  }
}

/** `f(a, b)` */
export class Call extends Expression {
  readonly callee: Node;
  readonly args: readonly Node[];
  readonly isParenthesized: boolean;
  constructor(callee: Node, args: readonly Node[], isParenthesized = false) {
    super(Prec.Postfix);
    this.callee = callee;
    this.args = args;
    this.isParenthesized = isParenthesized;
  }
  override left(out: Output): void {
    if (this.isParenthesized) out.parenthesized(() => this.callee.print(out));
    else this.callee.print(out);
    out.parenthesized(() => printWithComma(this.args, out));
  }
}

/** `static_cast<T>(a)` */
export class NamedCast extends Expression {
  readonly word: string;
  readonly type: Node;
  readonly operand: Node;
  constructor(word: string, type: Node, operand: Node) {
    super(Prec.Postfix);
    this.word = word;
    this.type = type;
    this.operand = operand;
  }
  override left(out: Output): void {
    out.add(this.word);
    out.bracketed(() => {
      this.type.left(out);
      if (this.type.hasRight(out)) this.type.right(out);
    });
    out.parenthesized(() => this.operand.printAsOperand(out));
  }
}

/** `(T)(a, b)` */
export class ConversionExpression extends Expression {
  readonly type: Node;
  readonly operands: readonly Node[];
  constructor(type: Node, operands: readonly Node[]) {
    super(Prec.Cast);
    this.type = type;
    this.operands = operands;
  }
  override left(out: Output): void {
    out.parenthesized(() => this.type.print(out));
    out.parenthesized(() => printWithComma(this.operands, out));
  }
}

/** `sizeof (a)`, `sizeof...(a)`, `decltype(a)` and the like. */
export class Enclosed extends Expression {
  readonly before: string;
  readonly child: Node;
  readonly after: string;
  constructor(before: string, child: Node, after = "", prec: number = Prec.Primary) {
    super(prec);
    this.before = before;
    this.child = child;
    this.after = after;
  }
  override left(out: Output): void {
    out.add(this.before);
    out.parenthesized(() => this.child.print(out));
    out.add(this.after);
  }
}

/** `T{a, b}` */
export class InitList extends Expression {
  readonly type: Node | undefined;
  readonly elements: readonly Node[];
  constructor(type: Node | undefined, elements: readonly Node[]) {
    super(Prec.Primary);
    this.type = type;
    this.elements = elements;
  }
  override left(out: Output): void {
    const text = this.type instanceof ArrayOf ? this.type.charactersOf(this.elements) : undefined;
    if (text !== undefined) {
      out.add(JSON.stringify(text));
      return;
    }
    this.type?.print(out);
    out.add("{");
    printWithComma(this.elements, out);
    out.add("}");
  }
}

/** `(... + a)` */
export class Fold extends Expression {
  readonly isLeft: boolean;
  readonly operator: string;
  readonly pack: Node;
  readonly init: Node | undefined;
  constructor(isLeft: boolean, operator: string, pack: Node, init: Node | undefined) {
    super(Prec.Primary);
    this.isLeft = isLeft;
    this.operator = operator;
    this.pack = pack;
    this.init = init;
  }
  override left(out: Output): void {
    const pack = () => out.parenthesized(() => this.pack.print(out));
    out.parenthesized(() => {
      if (!this.isLeft || this.init !== undefined) {
        if (this.isLeft) this.init?.printAsOperand(out, Prec.Cast, true);
        else pack();
        out.add(` ${this.operator} `);
      }
      out.add("...");
      if (this.isLeft || this.init !== undefined) {
        out.add(` ${this.operator} `);
        if (this.isLeft) pack();
        else this.init?.printAsOperand(out, Prec.Cast, true);
      }
    });
  }
}

/** `new T(a)` */
export class New extends Expression {
  readonly word: string;
  readonly placement: readonly Node[];
  readonly type: Node;
  readonly init: readonly Node[] | undefined;
  constructor(word: string, placement: readonly Node[], type: Node, init: readonly Node[] | undefined) {
    super(Prec.Unary);
    this.word = word;
    this.placement = placement;
    this.type = type;
    this.init = init;
  }
  override left(out: Output): void {
    out.add(this.word);
    if (this.placement.length > 0) out.parenthesized(() => printWithComma(this.placement, out));
    out.add(" ");
    this.type.print(out);
    const { init } = this;
    if (init !== undefined) out.parenthesized(() => printWithComma(init, out));
  }
}

/** `T(5)` for values of types that have no suffix of their own. */
export class CastLiteral extends Expression {
  readonly type: Node;
  readonly value: string;
  constructor(type: Node, value: string) {
    super(Prec.Primary);
    this.type = type;
    this.value = value;
  }
  override left(out: Output): void {
    out.parenthesized(() => this.type.print(out));
    out.add(this.value);
  }
}

/** `5ul`, `(char)5` */
export class IntegerLiteral extends Expression {
  readonly type: string;
  readonly value: string;
  constructor(type: string, value: string) {
    super(Prec.Primary);
    this.type = type;
    this.value = value;
  }
  override left(out: Output): void {
    // Short types are suffixes, long ones casts.
    const isCast = this.type.length > 3;
    if (isCast) out.parenthesized(() => out.add(this.type));
    out.add(this.value.startsWith("n") ? `-${this.value.slice(1)}` : this.value);
    if (!isCast) out.add(this.type);
  }
  override character(): number {
    return this.type === "char" ? Number(this.value) : -1;
  }
}
