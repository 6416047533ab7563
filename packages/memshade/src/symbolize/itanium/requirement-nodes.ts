import { Node, printWithComma } from "./nodes.ts";
import type { Output } from "./output.ts";

/** `requires (T) { a + a; typename T::x; }` */
export class Requirements extends Node {
  readonly params: readonly Node[];
  readonly clauses: readonly Node[];
  constructor(params: readonly Node[], clauses: readonly Node[]) {
    super();
    this.params = params;
    this.clauses = clauses;
  }
  override left(out: Output): void {
    out.add("requires ");
    if (this.params.length > 0) {
      out.parenthesized(() => printWithComma(this.params, out));
      out.add(" ");
    }
    out.parenthesized(
      () => {
        for (const clause of this.clauses) clause.print(out);
        out.add(" ");
      },
      "{",
      "}",
    );
  }
}

/** ` {a + b} noexcept -> C;`, and without braces what need only be valid. */
export class ExpressionRequirement extends Node {
  readonly expression: Node;
  readonly isNoexcept: boolean;
  readonly constraint: Node | undefined;
  constructor(expression: Node, isNoexcept: boolean, constraint: Node | undefined) {
    super();
    this.expression = expression;
    this.isNoexcept = isNoexcept;
    this.constraint = constraint;
  }
  override left(out: Output): void {
    out.add(" ");
    if (this.isNoexcept || this.constraint !== undefined)
      out.parenthesized(() => this.expression.print(out), "{", "}");
    else this.expression.print(out);
    if (this.isNoexcept) out.add(" noexcept");
    if (this.constraint !== undefined) {
      out.add(" -> ");
      this.constraint.print(out);
    }
    out.add(";");
  }
}

/** ` typename T::x;`, ` requires C<T>;` */
export class Clause extends Node {
  readonly word: string;
  readonly child: Node;
  constructor(word: string, child: Node) {
    super();
    this.word = word;
    this.child = child;
  }
  override left(out: Output): void {
    out.add(` ${this.word} `);
    this.child.print(out);
    out.add(";");
  }
}
