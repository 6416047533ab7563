import { around, type Node, printConstraint, printWithComma } from "./nodes.ts";

/** `typename $T`, `C $T`, `int $N` */
export function parameterDeclaration(kind: Node, name: Node): Node {
  return around({
    left(out) {
      kind.left(out);
      if (!kind.hasRight(out)) out.add(" ");
    },
    right(out) {
      name.print(out);
      if (kind.hasRight(out)) kind.right(out);
    },
  });
}

/** `template<typename $T> typename $TT` */
export function templateParameterDeclaration(
  name: Node,
  params: readonly Node[],
  constraint: Node | undefined,
): Node {
  return around({
    left(out) {
      out.add("template");
      out.bracketed(() => printWithComma(params, out));
      out.add(" typename ");
    },
    right(out) {
      name.print(out);
      printConstraint(constraint, out);
    },
  });
}

/** `typename ...$T` */
export function packDeclaration(child: Node): Node {
  return around({
    left(out) {
      child.left(out);
      out.add("...");
    },
    right: (out) => child.right(out),
  });
}
