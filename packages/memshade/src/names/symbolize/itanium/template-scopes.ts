import type { MangledText } from "./mangled-text.ts";
import { Closure, Name, type Node, printConstraint, printedAround, printWithComma } from "./nodes.ts";
import { ForwardReference } from "./type-nodes.ts";

/** Meanings of template parameters at a position of a mangled name. */
export class TemplateScopes {
  /** Arguments of template parameters by level: those of the name, then those of nested lambdas. */
  #levels: (Node[] | undefined)[] = [];
  #forwardReferences: ForwardReference[] = [];
  #permitsForwardReferences = false;
  /** Level of the parameters that the innermost lambda declares, whose `auto` is such a parameter. */
  #lambdaLevel = -1;
  #namesParams = false;
  readonly #invented = new Map<string, number>();

  /**
   * True in constraints. All enclosing template parameters are in scope there, but their meanings are unknown, so
   * they are written by number.
   */
  get namesParams(): boolean {
    return this.#namesParams;
  }

  param(level: number, index: number): Node | undefined {
    if (this.#permitsForwardReferences && level === 0) {
      const reference = new ForwardReference(index);
      this.#forwardReferences.push(reference);
      return reference;
    }
    const node = this.#levels[level]?.[index];
    if (node !== undefined) return node;
    // Parameters of a lambda that are written `auto` have no declarations.
    if (level !== this.#lambdaLevel || level > this.#levels.length) return undefined;
    if (level === this.#levels.length) this.#levels.push(undefined);
    return new Name("auto");
  }

  /** Invents a name for an unnamed parameter: `$T`, `$T0`, `$T1`. */
  invent(letters: string): Name {
    const count = this.#invented.get(letters) ?? 0;
    this.#invented.set(letters, count + 1);
    return new Name(count === 0 ? letters : `${letters}${count - 1}`);
  }

  /** Binds the name's parameters to these arguments, which may still grow. */
  bind(args: Node[]): void {
    this.#levels = [args];
  }

  /** Parses a part that is independent of the enclosing template parameters. */
  withOwnParams<T>(parse: () => T): T {
    const levels = this.#levels;
    this.#levels = [];
    const result = parse();
    this.#levels = levels;
    return result;
  }

  /** Parses an encoding, whose template parameters and forward references are its own. */
  withinEncoding<T>(parse: () => T): T {
    const references = this.#forwardReferences;
    this.#forwardReferences = [];
    const result = this.withOwnParams(parse);
    this.#forwardReferences = references;
    return result;
  }

  withNamedParams<T>(parse: () => T): T {
    const before = this.#namesParams;
    this.#namesParams = true;
    const result = parse();
    this.#namesParams = before;
    return result;
  }

  withForwardReferences<T>(permits: boolean, parse: () => T): T {
    const before = this.#permitsForwardReferences;
    this.#permitsForwardReferences ||= permits;
    const result = parse();
    this.#permitsForwardReferences = before;
    return result;
  }

  get waiting(): number {
    return this.#forwardReferences.length;
  }

  /** Resolves the forward references from number `first` on; returns false if one has no target. */
  resolve(first: number): boolean {
    for (const reference of this.#forwardReferences.splice(first)) {
      const target = this.#levels[0]?.[reference.index];
      if (target === undefined) return false;
      reference.target = target;
    }
    return true;
  }

  /**
   * Parses a lambda, which has a level of its own. `parameters` adds the declared parameters to its list, and
   * returns them as printed.
   */
  withinLambda<T>(parameters: (declared: Node[]) => Node[], parseRest: (parameters: Node[]) => T): T {
    const outer = this.#lambdaLevel;
    const level = this.#levels.length;
    this.#lambdaLevel = level;
    const declared: Node[] = [];
    this.#levels.push(declared);
    const printed = parameters(declared);
    if (printed.length === 0) this.#levels.pop();
    const result = parseRest(printed);
    this.#lambdaLevel = outer;
    this.#levels.length = level;
    return result;
  }
}

export interface ClosureSource extends MangledText {
  readonly scopes: TemplateScopes;
  name(): Node;
  type(): Node;
  constraint(): Node | undefined;
}

/** Parses a lambda's type, after `Ul`. */
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
      while (!["E", "Q", ""].includes(source.peek()));
    const trailing = source.constraint();
    source.expect("E");
    return (count: string) => new Closure(count, templateParams, params, [constraint, trailing]);
  });
  return make(source.count());
}

export function isTemplateParamDecl(source: MangledText): boolean {
  return source.peek() === "T" && /[yptnk]/.test(source.peek(1));
}

/**
 * Parses parameters that a template declares: `typename $T`, `C $T`, `int $N`, `template<typename $T> typename
 * $TT`, packs of them.
 */
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

function parameterDeclaration(kind: Node, name: Node): Node {
  return printedAround({
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

function templateParameterDeclaration(
  name: Node,
  params: readonly Node[],
  constraint: Node | undefined,
): Node {
  return printedAround({
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

function packDeclaration(child: Node): Node {
  return printedAround({
    left(out) {
      child.left(out);
      out.add("...");
    },
    right: (out) => child.right(out),
  });
}
