import { type Node, printed, printWithComma } from "./nodes.ts";

/** `requires (T) { a + a; typename T::x; }` */
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

/** ` {a + b} noexcept -> C;`, and without braces what need only be valid. */
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

/** ` typename T::x;`, ` requires C<T>;` */
export function clause(word: string, child: Node): Node {
  return printed((out) => {
    out.add(` ${word} `);
    child.print(out);
    out.add(";");
  });
}
