import {
  Node,
  type Output,
  printed,
  printedAround,
  printQualifiers,
  printWithComma,
  type Qualifiers,
} from "./nodes.ts";

/** Node that delegates printing and its properties to another node. */
abstract class StandIn extends Node {
  /** Applies `use` to the other node; returns `otherwise` if there is none. */
  protected abstract use<T>(out: Output, otherwise: T, use: (node: Node) => T): T;

  override left(out: Output): void {
    this.use(out, undefined, (node) => node.left(out));
  }
  override right(out: Output): void {
    this.use(out, undefined, (node) => node.right(out));
  }
  override hasRight(out: Output): boolean {
    return this.use(out, false, (node) => node.hasRight(out));
  }
  override isArray(out: Output): boolean {
    return this.use(out, false, (node) => node.isArray(out));
  }
  override isFunction(out: Output): boolean {
    return this.use(out, false, (node) => node.isFunction(out));
  }
  override actual(out: Output): Node {
    return this.use<Node>(out, this, (node) => node.actual(out));
  }
}

export class Qualified extends StandIn {
  readonly child: Node;
  readonly qualifiers: Qualifiers;
  constructor(child: Node, qualifiers: Qualifiers) {
    super();
    this.child = child;
    this.qualifiers = qualifiers;
  }
  protected override use<T>(_out: Output, _otherwise: T, use: (node: Node) => T): T {
    return use(this.child);
  }
  override left(out: Output): void {
    this.child.left(out);
    printQualifiers(this.qualifiers, out);
  }
  override actual(): Node {
    return this;
  }
}

/** True if a pointer to a node is printed in parentheses: `char (*` … `) [3]`. */
function isWrapped(pointee: Node, out: Output): boolean {
  return pointee.isArray(out) || pointee.isFunction(out);
}

function printBeforePointer(pointee: Node, sign: string, out: Output): void {
  pointee.left(out);
  if (pointee.isArray(out)) out.add(" ");
  out.add(isWrapped(pointee, out) ? `(${sign}` : sign);
}

function printBehindPointer(pointee: Node, out: Output): void {
  if (isWrapped(pointee, out)) out.add(")");
  pointee.right(out);
}

export function pointer(pointee: Node): Node {
  return printedAround({
    left: (out) => printBeforePointer(pointee, "*", out),
    right: (out) => printBehindPointer(pointee, out),
    hasRight: (out) => pointee.hasRight(out),
  });
}

/** `T &` or `T &&`; references to references collapse. */
export class Reference extends Node {
  readonly pointee: Node;
  readonly isRvalue: boolean;
  #isPrinting = false;
  constructor(pointee: Node, isRvalue: boolean) {
    super();
    this.pointee = pointee;
    this.isRvalue = isRvalue;
  }
  #collapsed(out: Output): { pointee: Node; isRvalue: boolean } {
    let { pointee, isRvalue }: { pointee: Node; isRvalue: boolean } = this;
    for (let steps = 0; steps < 64; steps++) {
      const node = pointee.actual(out);
      if (!(node instanceof Reference)) return { pointee, isRvalue };
      pointee = node.pointee;
      isRvalue &&= node.isRvalue;
    }
    return { pointee, isRvalue };
  }
  override hasRight(out: Output): boolean {
    return this.pointee.hasRight(out);
  }
  override left(out: Output): void {
    if (this.#isPrinting) return;
    this.#isPrinting = true;
    const { pointee, isRvalue } = this.#collapsed(out);
    printBeforePointer(pointee, isRvalue ? "&&" : "&", out);
    this.#isPrinting = false;
  }
  override right(out: Output): void {
    if (this.#isPrinting) return;
    this.#isPrinting = true;
    printBehindPointer(this.#collapsed(out).pointee, out);
    this.#isPrinting = false;
  }
}

export function memberPointer(owner: Node, member: Node): Node {
  return printedAround({
    left(out) {
      member.left(out);
      out.add(isWrapped(member, out) ? "(" : " ");
      owner.print(out);
      out.add("::*");
    },
    right: (out) => printBehindPointer(member, out),
    hasRight: (out) => member.hasRight(out),
  });
}

export class ArrayOf extends Node {
  readonly element: Node;
  readonly dimension: Node | undefined;
  constructor(element: Node, dimension: Node | undefined) {
    super();
    this.element = element;
    this.dimension = dimension;
  }
  override hasRight(): boolean {
    return true;
  }
  override isArray(): boolean {
    return true;
  }
  override left(out: Output): void {
    this.element.left(out);
  }
  /**
   * Returns the text of an array of characters; undefined if the elements are no characters, or not all
   * printable.
   */
  charactersOf(elements: readonly Node[]): string | undefined {
    if (this.element.baseName() !== "char" || elements.length === 0) return undefined;
    const codes = elements.map((element) => element.character());
    return codes.every((code) => code >= 0x20 && code < 0x7f) ? String.fromCharCode(...codes) : undefined;
  }
  override right(out: Output): void {
    if (out.last !== "]") out.add(" ");
    out.add("[");
    this.dimension?.print(out);
    out.add("]");
    this.element.right(out);
  }
}

/** `R (A, B) const` */
export function functionOf(
  result: Node,
  params: readonly Node[],
  qualifiers: Qualifiers,
  reference: string,
  exceptions: Node | undefined,
): Node {
  return printedAround({
    isFunction: true,
    left(out) {
      result.left(out);
      out.add(" ");
    },
    right(out) {
      out.parenthesized(() => printWithComma(params, out));
      result.right(out);
      printQualifiers(qualifiers, out);
      out.add(reference);
      if (exceptions !== undefined) {
        out.add(" ");
        exceptions.print(out);
      }
    },
  });
}

/** `noexcept(…)`, `throw(…)` */
export function exceptionSpecification(word: string, operands: readonly Node[]): Node {
  return printed((out) => {
    out.add(word);
    out.parenthesized(() => printWithComma(operands, out));
  });
}

/** `T vector[n]` */
export function vectorOf(element: Node, dimension: Node | undefined): Node {
  return printed((out) => {
    element.print(out);
    out.add(" vector[");
    dimension?.print(out);
    out.add("]");
  });
}

/** `T complex`, `T vendor` */
export function postfixed(child: Node, word: string): Node {
  return printed((out) => {
    child.print(out);
    out.add(` ${word}`);
  });
}

/** Arguments of a pack as a template parameter; the element being expanded is printed. */
export class ParameterPack extends StandIn {
  readonly elements: readonly Node[];
  constructor(elements: readonly Node[]) {
    super();
    this.elements = elements;
  }
  protected override use<T>(out: Output, otherwise: T, use: (node: Node) => T): T {
    if (out.packSize < 0) {
      out.packSize = this.elements.length;
      out.packIndex = 0;
    }
    const element = this.elements[out.packIndex];
    return element === undefined ? otherwise : use(element);
  }
}

/** Elements of a pack as template arguments. */
export class ArgumentPack extends Node {
  readonly elements: readonly Node[];
  constructor(elements: readonly Node[]) {
    super();
    this.elements = elements;
  }
  override left(out: Output): void {
    printWithComma(this.elements, out);
  }
}

/** `T...`, printed as the elements of the packs in it. */
export function packExpansion(child: Node): Node {
  return printed((out) => {
    const { packIndex, packSize } = out;
    out.packIndex = -1;
    out.packSize = -1;
    const before = out.text;
    child.print(out);
    const count: number = out.packSize;
    if (count < 0) out.add("...");
    else if (count === 0) out.text = before;
    else
      for (let index = 1; index < count; index++) {
        out.add(", ");
        out.packIndex = index;
        child.print(out);
      }
    out.packIndex = packIndex;
    out.packSize = packSize;
  });
}

/** Template parameter that is used before its arguments are parsed: `operator T_` in a conversion. */
export class ForwardReference extends StandIn {
  readonly index: number;
  target: Node | undefined;
  #isPrinting = false;
  constructor(index: number) {
    super();
    this.index = index;
  }
  protected override use<T>(_out: Output, otherwise: T, use: (node: Node) => T): T {
    if (this.#isPrinting || this.target === undefined) return otherwise;
    this.#isPrinting = true;
    try {
      return use(this.target);
    } finally {
      this.#isPrinting = false;
    }
  }
}
