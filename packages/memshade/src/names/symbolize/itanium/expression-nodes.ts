import { Node, type Output, Prec, printed, printWithComma } from "./nodes.ts";
import { ArrayOf } from "./type-nodes.ts";

/** `a + b` */
export function binary(left: Node, operator: string, right: Node, prec: number): Node {
  const isAssignment = prec === Prec.Assign;
  return printed((out) => {
    const print = () => {
      left.printAsOperand(out, isAssignment ? Prec.OrIf : prec, !isAssignment);
      if (operator !== ",") out.add(" ");
      out.add(`${operator} `);
      right.printAsOperand(out, prec, isAssignment);
    };
    // A comparison is printed in parentheses where `>` would end template arguments.
    if (!out.gtIsGt && (operator === ">" || operator === ">>")) out.parenthesized(print);
    else print();
  }, prec);
}

export function subscript(array: Node, index: Node): Node {
  return printed((out) => {
    array.printAsOperand(out, Prec.Postfix);
    out.parenthesized(() => index.printAsOperand(out), "[", "]");
  }, Prec.Postfix);
}

export function prefixOperation(operator: string, operand: Node): Node {
  return printed((out) => {
    out.add(operator);
    operand.printAsOperand(out, Prec.Unary);
  }, Prec.Unary);
}

export function postfixOperation(operand: Node, operator: string): Node {
  return printed((out) => {
    operand.printAsOperand(out, Prec.Postfix, true);
    out.add(operator);
  }, Prec.Postfix);
}

export function member(object: Node, operator: string, name: Node, prec: number): Node {
  return printed((out) => {
    object.printAsOperand(out, prec, true);
    out.add(operator);
    name.printAsOperand(out, prec);
  }, prec);
}

export function conditional(condition: Node, whenTrue: Node, whenFalse: Node): Node {
  return printed((out) => {
    condition.printAsOperand(out, Prec.Conditional);
    out.add(" ? ");
    whenTrue.printAsOperand(out);
    out.add(" : ");
    whenFalse.printAsOperand(out, Prec.Assign, true);
  }, Prec.Conditional);
}

export function call(callee: Node, args: readonly Node[], isParenthesized = false): Node {
  return printed((out) => {
    if (isParenthesized) out.parenthesized(() => callee.print(out));
    else callee.print(out);
    out.parenthesized(() => printWithComma(args, out));
  }, Prec.Postfix);
}

/** `static_cast<T>(a)` */
export function namedCast(word: string, type: Node, operand: Node): Node {
  return printed((out) => {
    out.add(word);
    out.bracketed(() => type.print(out));
    out.parenthesized(() => operand.printAsOperand(out));
  }, Prec.Postfix);
}

/** `(T)(a, b)` */
export function conversionExpression(type: Node, operands: readonly Node[]): Node {
  return printed((out) => {
    out.parenthesized(() => type.print(out));
    out.parenthesized(() => printWithComma(operands, out));
  }, Prec.Cast);
}

/** `sizeof (a)`, `sizeof...(a)`, `decltype(a)` and similar expressions. */
export function enclosed(before: string, child: Node, prec?: number): Node {
  return printed((out) => {
    out.add(before);
    out.parenthesized(() => child.print(out));
  }, prec);
}

/** `T{a, b}` */
export function initList(type: Node | undefined, elements: readonly Node[]): Node {
  return printed((out) => {
    const text = type instanceof ArrayOf ? type.charactersOf(elements) : undefined;
    if (text !== undefined) {
      out.add(JSON.stringify(text));
      return;
    }
    type?.print(out);
    out.add("{");
    printWithComma(elements, out);
    out.add("}");
  });
}

/** `(... + a)`, `(a + ...)`, and with a first or last operand `(init + ... + a)`, `(a + ... + init)`. */
export function fold(isLeft: boolean, operator: string, pack: Node, init: Node | undefined): Node {
  return printed((out) => {
    const sides = [
      () => init?.printAsOperand(out, Prec.Cast, true),
      () => out.parenthesized(() => pack.print(out)),
    ];
    const [before, behind] = isLeft ? sides : sides.reverse();
    out.parenthesized(() => {
      if (!isLeft || init !== undefined) {
        before?.();
        out.add(` ${operator} `);
      }
      out.add("...");
      if (isLeft || init !== undefined) {
        out.add(` ${operator} `);
        behind?.();
      }
    });
  });
}

/** `new T(a)` */
export function newExpression(
  word: string,
  placement: readonly Node[],
  type: Node,
  init: readonly Node[] | undefined,
): Node {
  return printed((out) => {
    out.add(word);
    if (placement.length > 0) out.parenthesized(() => printWithComma(placement, out));
    out.add(" ");
    type.print(out);
    if (init !== undefined) out.parenthesized(() => printWithComma(init, out));
  }, Prec.Unary);
}

/** `(T)5` for values of types without a literal suffix. */
export function castLiteral(type: Node, value: string): Node {
  return printed((out) => {
    out.parenthesized(() => type.print(out));
    out.add(value);
  });
}

/** `5ul`, `(char)5` */
export class IntegerLiteral extends Node {
  readonly type: string;
  readonly value: string;
  constructor(type: string, value: string) {
    super();
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
