import { Node, printConstraint, printWithComma } from "./nodes.ts";
import type { Output } from "./output.ts";

/** `typename $T`, `C $T`, `int $N` */
export class ParameterDeclaration extends Node {
  readonly kind: Node;
  readonly name: Node;
  constructor(kind: Node, name: Node) {
    super();
    this.kind = kind;
    this.name = name;
  }
  override left(out: Output): void {
    this.kind.left(out);
    if (!this.kind.hasRight(out)) out.add(" ");
  }
  override hasRight(): boolean {
    return true;
  }
  override right(out: Output): void {
    this.name.print(out);
    if (this.kind.hasRight(out)) this.kind.right(out);
  }
}

/** `template<typename $T> typename $TT` */
export class TemplateParameterDeclaration extends Node {
  readonly name: Node;
  readonly params: readonly Node[];
  readonly constraint: Node | undefined;
  constructor(name: Node, params: readonly Node[], constraint: Node | undefined) {
    super();
    this.name = name;
    this.params = params;
    this.constraint = constraint;
  }
  override left(out: Output): void {
    out.add("template");
    out.bracketed(() => printWithComma(this.params, out));
    out.add(" typename ");
  }
  override hasRight(): boolean {
    return true;
  }
  override right(out: Output): void {
    this.name.print(out);
    printConstraint(this.constraint, out);
  }
}

/** `typename ...$T` */
export class PackDeclaration extends Node {
  readonly child: Node;
  constructor(child: Node) {
    super();
    this.child = child;
  }
  override left(out: Output): void {
    this.child.left(out);
    out.add("...");
  }
  override hasRight(): boolean {
    return true;
  }
  override right(out: Output): void {
    this.child.right(out);
  }
}
