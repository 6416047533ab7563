import type { MangledText } from "./mangled-text.ts";
import { around, Closure, Name, type Node, printConstraint, printWithComma } from "./nodes.ts";
import type { TemplateScopes } from "./template-scopes.ts";

/** What lambdas and declarations of template parameters need of the reader of names around them. */
export interface ClosureSource extends MangledText {
  readonly scopes: TemplateScopes;
  name(): Node;
  type(): Node;
  constraint(): Node | undefined;
}

/** A lambda's type, behind `Ul`. */
export function parseClosure(source: ClosureSource): Node {
  const { scopes } = source;
  const declarations = (declared: Node[]): Node[] => {
    const printed: Node[] = [];
    while (isTemplateParamDecl(source)) printed.push(parseTemplateParamDecl(source, declared));
    return printed;
  };
  const make = scopes.withinLambda(declarations, (templateParams) => {
    const constraint = source.constraint();
    const params: Node[] = [];
    if (!source.consume("v"))
      do params.push(source.type());
      while (!["E", "Q", ""].includes(source.look()));
    const trailing = source.constraint();
    source.expect("E");
    return (count: string) => new Closure(count, templateParams, params, [constraint, trailing]);
  });
  return make(source.count());
}

export function isTemplateParamDecl(source: MangledText): boolean {
  return source.look() === "T" && /[yptnk]/.test(source.look(1));
}

/** Parameters that a template declares: `typename $T`, `C $T`, `int $N`, `template<typename $T> typename $TT`, packs of them. */
export function parseTemplateParamDecl(source: ClosureSource, declared: Node[]): Node {
  const invent = (letters: string): Name => {
    const name = source.scopes.invent(letters);
    declared.push(name);
    return name;
  };
  if (source.consume("Ty")) return parameterDeclaration(new Name("typename"), invent("$T"));
  if (source.consume("Tk")) {
    const constraint = source.scopes.withNamedParams(() => source.name());
    return parameterDeclaration(constraint, invent("$T"));
  }
  if (source.consume("Tn")) {
    const name = invent("$N");
    return parameterDeclaration(source.type(), name);
  }
  if (source.consume("Tt")) {
    const name = invent("$TT");
    const inner: Node[] = [];
    const own: Node[] = [];
    let constraint: Node | undefined;
    while (constraint === undefined && !source.consume("E")) {
      inner.push(parseTemplateParamDecl(source, own));
      constraint = source.constraint();
      if (constraint !== undefined) source.expect("E");
    }
    return templateParameterDeclaration(name, inner, constraint);
  }
  if (source.consume("Tp")) return packDeclaration(parseTemplateParamDecl(source, declared));
  return source.fail();
}

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
