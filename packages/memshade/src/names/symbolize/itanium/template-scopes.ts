import { Name, type Node } from "./nodes.ts";
import { ForwardReference } from "./type-nodes.ts";

/** What template parameters stand for at a place of a mangled name. */
export class TemplateScopes {
  /** Arguments that template parameters stand for, by level: those of the name, then those of lambdas in lambdas. */
  #levels: (Node[] | undefined)[] = [];
  #forwardReferences: ForwardReference[] = [];
  #permitsForwardReferences = false;
  /** Level of the parameters that the innermost lambda declares, whose `auto` is such a parameter. */
  #lambdaLevel = -1;
  #namesParams = false;
  /** How many parameters of each kind were given names. */
  readonly #invented = new Map<string, number>();

  /** In constraints all template parameters around are in scope, but it is not known which: they are written by number. */
  get namesParams(): boolean {
    return this.#namesParams;
  }

  /** What a parameter stands for; undefined where there is no such parameter. */
  param(level: number, index: number): Node | undefined {
    if (this.#permitsForwardReferences && level === 0) {
      const reference = new ForwardReference(index);
      this.#forwardReferences.push(reference);
      return reference;
    }
    const node = this.#levels[level]?.[index];
    if (node !== undefined) return node;
    // The parameters of a lambda that are written `auto` have no declarations.
    if (level !== this.#lambdaLevel || level > this.#levels.length) return undefined;
    if (level === this.#levels.length) this.#levels.push(undefined);
    return new Name("auto");
  }

  /** A name for a parameter that has none: `$T`, `$T0`, `$T1`. */
  invent(letters: string): Name {
    const count = this.#invented.get(letters) ?? 0;
    this.#invented.set(letters, count + 1);
    return new Name(count === 0 ? letters : `${letters}${count - 1}`);
  }

  /** From now on the parameters of the name stand for these, which may still grow. */
  bind(args: Node[]): void {
    this.#levels = [args];
  }

  /** Parses what has nothing to do with the template parameters around it. */
  withOwnParams<T>(parse: () => T): T {
    const levels = this.#levels;
    this.#levels = [];
    const result = parse();
    this.#levels = levels;
    return result;
  }

  /** The same of an encoding, whose forward references are its own too. */
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

  /** Parses a type whose parameters may be bound behind it. */
  withForwardReferences<T>(permits: boolean, parse: () => T): T {
    const before = this.#permitsForwardReferences;
    this.#permitsForwardReferences ||= permits;
    const result = parse();
    this.#permitsForwardReferences = before;
    return result;
  }

  /** How many forward references wait for what they stand for. */
  get waiting(): number {
    return this.#forwardReferences.length;
  }

  /** Gives those from number `first` on what they stand for; false: one has nothing. */
  resolve(first: number): boolean {
    for (const reference of this.#forwardReferences.splice(first)) {
      const target = this.#levels[0]?.[reference.index];
      if (target === undefined) return false;
      reference.target = target;
    }
    return true;
  }

  /**
   * Parses a lambda, which has a level of its own: `parameters` puts those that it declares into the list that it is given
   * and returns them as they are printed.
   */
  withinLambda<T>(parameters: (declared: Node[]) => Node[], rest: (parameters: Node[]) => T): T {
    const outer = this.#lambdaLevel;
    const level = this.#levels.length;
    this.#lambdaLevel = level;
    const declared: Node[] = [];
    this.#levels.push(declared);
    const printed = parameters(declared);
    if (printed.length === 0) this.#levels.pop();
    const result = rest(printed);
    this.#lambdaLevel = outer;
    this.#levels.length = level;
    return result;
  }
}
