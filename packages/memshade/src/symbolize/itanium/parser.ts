import { parseExpression, parseLiteral } from "./expressions.ts";
import {
  Closure,
  CtorDtor,
  EnableIf,
  FunctionEncoding,
  Name,
  Nested,
  type Node,
  Prefixed,
  type Qualifiers,
  StdAbbreviation,
  StructuredBinding,
  Suffixed,
  TemplateArgs,
  WithTemplateArgs,
} from "./nodes.ts";
import { OPERATORS, operatorName } from "./operators.ts";
import { ArgumentPack, Conversion, ForwardReference, ParameterPack } from "./type-nodes.ts";
import { parseDecltype, parseType, type TypeSource } from "./types.ts";

/** Thrown where the text is no mangled name of a kind that is known. */
export class NotMangled extends Error {}

/** Nesting deeper than this is no work of a compiler. */
const DEEPEST = 400;

/** What a name says of the function whose name it is. */
interface NameState {
  isCtorDtorConversion: boolean;
  endsWithTemplateArgs: boolean;
  qualifiers: Qualifiers;
  reference: string;
  forwardReferences: number;
}

const NO_QUALIFIERS: Qualifiers = { isConst: false, isVolatile: false, isRestrict: false };

const CHAR_TRAITS = "<char, std::char_traits<char>>";
const STD: Readonly<Record<string, () => StdAbbreviation>> = {
  a: () => new StdAbbreviation("allocator", "allocator", ""),
  b: () => new StdAbbreviation("basic_string", "basic_string", ""),
  s: () =>
    new StdAbbreviation("string", "basic_string", "<char, std::char_traits<char>, std::allocator<char>>"),
  i: () => new StdAbbreviation("istream", "basic_istream", CHAR_TRAITS),
  o: () => new StdAbbreviation("ostream", "basic_ostream", CHAR_TRAITS),
  d: () => new StdAbbreviation("iostream", "basic_iostream", CHAR_TRAITS),
};

const SPECIAL_NAMES: Readonly<Record<string, string>> = {
  TV: "vtable for ",
  TT: "VTT for ",
  TI: "typeinfo for ",
  TS: "typeinfo name for ",
};

/** Reads mangled names of the Itanium C++ ABI; its grammar gives the methods their names. */
export class Parser implements TypeSource {
  readonly text: string;
  pos = 0;
  readonly substitutions: Node[] = [];
  #templateParams: Node[] = [];
  #forwardReferences: ForwardReference[] = [];
  #permitsForwardReferences = false;
  /** An argument list behind a template parameter belongs to it; not so in the type of a conversion. */
  takesTemplateArgs = true;
  #lambdaDepth = 0;
  #lambdaParams: Node[] | undefined;
  #depth = 0;

  constructor(text: string) {
    this.text = text;
  }

  look(ahead = 0): string {
    return this.text[this.pos + ahead] ?? "";
  }

  consume(text: string): boolean {
    if (!this.text.startsWith(text, this.pos)) return false;
    this.pos += text.length;
    return true;
  }

  expect(text: string): void {
    if (!this.consume(text)) this.fail();
  }

  fail(): never {
    throw new NotMangled();
  }

  deeper<T>(parse: () => T): T {
    if (++this.#depth > DEEPEST) this.fail();
    const result = parse();
    this.#depth--;
    return result;
  }

  /** Digits, perhaps after an `n` for a minus. */
  number(allowNegative = false): string {
    const start = this.pos;
    if (allowNegative) this.consume("n");
    while (/\d/.test(this.look())) this.pos++;
    if (this.pos === start) this.fail();
    return this.text.slice(start, this.pos);
  }

  /** `_` is 0, `0_` is 1, in base 36. */
  sequenceId(): number {
    if (this.consume("_")) return 0;
    let value = 0;
    let digits = 0;
    for (; /[0-9A-Z]/.test(this.look()); this.pos++) {
      value = value * 36 + Number.parseInt(this.look(), 36);
      digits++;
    }
    if (digits === 0 || value > 1e6) this.fail();
    this.expect("_");
    return value + 1;
  }

  /** The whole text: `_Z` encoding, perhaps a suffix that the compiler gave a clone. */
  mangledName(): Node {
    if (this.consume("_Z") || this.consume("__Z")) {
      let node = this.encoding();
      if (this.look() === ".") {
        node = new Suffixed(node, ` (${this.text.slice(this.pos)})`);
        this.pos = this.text.length;
      }
      if (this.pos !== this.text.length) this.fail();
      return node;
    }
    if (this.consume("___Z") || this.consume("____Z")) {
      const node = this.encoding();
      this.expect("_block_invoke");
      const needsNumber = this.consume("_");
      if (needsNumber) this.number();
      else while (/\d/.test(this.look())) this.pos++;
      if (this.look() === ".") this.pos = this.text.length;
      if (this.pos !== this.text.length) this.fail();
      return new Prefixed("invocation function for block in ", node);
    }
    return this.fail();
  }

  encoding(): Node {
    return this.deeper(() => {
      const [params, references] = [this.#templateParams, this.#forwardReferences];
      this.#templateParams = [];
      this.#forwardReferences = [];
      const node = this.#encodingWithin();
      this.#templateParams = params;
      this.#forwardReferences = references;
      return node;
    });
  }

  #encodingWithin(): Node {
    if (this.look() === "G" || this.look() === "T") return this.#specialName();
    const state: NameState = {
      ...{
        isCtorDtorConversion: false,
        endsWithTemplateArgs: false,
        qualifiers: NO_QUALIFIERS,
        reference: "",
      },
      forwardReferences: this.#forwardReferences.length,
    };
    const name = this.name(state);
    this.#resolveForwardReferences(state);
    if (this.#isEndOfEncoding()) return name;
    let attributes: Node | undefined;
    if (this.consume("Ua9enable_ifI")) {
      const conditions: Node[] = [];
      while (!this.consume("E")) conditions.push(this.templateArg());
      attributes = new EnableIf(conditions);
    }
    let result: Node | undefined;
    if (!state.isCtorDtorConversion && state.endsWithTemplateArgs) result = this.type();
    const params: Node[] = [];
    if (!this.consume("v")) {
      do params.push(this.type());
      while (!this.#isEndOfEncoding());
    }
    return new FunctionEncoding(result, name, params, state.qualifiers, state.reference, attributes);
  }

  #isEndOfEncoding(): boolean {
    return ["", "E", ".", "_"].includes(this.look());
  }

  #resolveForwardReferences({ forwardReferences }: NameState): void {
    for (const reference of this.#forwardReferences.splice(forwardReferences)) {
      const target = this.#templateParams[reference.index];
      if (target === undefined) this.fail();
      reference.target = target;
    }
  }

  #specialName(): Node {
    const code = this.text.slice(this.pos, this.pos + 2);
    const prefix = SPECIAL_NAMES[code];
    this.pos += 2;
    if (prefix !== undefined) return new Prefixed(prefix, this.type());
    switch (code) {
      case "TA":
        return new Prefixed("template parameter object for ", this.templateArg());
      case "Tc":
        this.#callOffset();
        this.#callOffset();
        return new Prefixed("covariant return thunk to ", this.encoding());
      case "TC": {
        const derived = this.type();
        this.number(true);
        this.expect("_");
        return new Prefixed("construction vtable for ", new Dash(this.type(), derived));
      }
      case "TW":
        return new Prefixed("thread-local wrapper routine for ", this.name());
      case "TH":
        return new Prefixed("thread-local initialization routine for ", this.name());
      case "GV":
        return new Prefixed("guard variable for ", this.name());
      case "GR": {
        const name = this.name();
        const hasNumber = this.look() !== "_";
        if (hasNumber) this.sequenceId();
        else this.expect("_");
        return new Prefixed("reference temporary for ", name);
      }
      default: {
        if (code[0] !== "T") return this.fail();
        this.pos--;
        const isVirtual = this.look() === "v";
        this.#callOffset();
        return new Prefixed(isVirtual ? "virtual thunk to " : "non-virtual thunk to ", this.encoding());
      }
    }
  }

  #callOffset(): void {
    if (this.consume("h")) {
      this.number(true);
      this.expect("_");
    } else {
      this.expect("v");
      this.number(true);
      this.expect("_");
      this.number(true);
      this.expect("_");
    }
  }

  name(state?: NameState): Node {
    return this.deeper(() => {
      if (this.look() === "N") return this.#nestedName(state);
      if (this.look() === "Z") return this.#localName(state);
      let node: Node;
      let isSubstitution = false;
      if (this.look() === "S" && this.look(1) !== "t") {
        node = this.substitution();
        isSubstitution = true;
        if (this.look() !== "I") this.fail();
      } else node = this.#unscopedName(state);
      if (this.look() !== "I") return node;
      if (!isSubstitution) this.substitutions.push(node);
      const args = this.templateArgs(state !== undefined);
      if (state !== undefined) state.endsWithTemplateArgs = true;
      return new WithTemplateArgs(node, args);
    });
  }

  #unscopedName(state: NameState | undefined): Node {
    return this.#unqualifiedName(state, this.consume("St") ? new Name("std") : undefined);
  }

  #localName(state: NameState | undefined): Node {
    this.expect("Z");
    const encoding = this.encoding();
    this.expect("E");
    if (this.consume("s")) {
      this.#discriminator();
      return new Nested(encoding, new Name("string literal"));
    }
    if (this.consume("d")) {
      if (this.look() !== "_") this.number(true);
      this.expect("_");
      return new Nested(encoding, this.name(state));
    }
    const entity = this.name(state);
    this.#discriminator();
    // LLVM finds no arguments for parameters that the types behind a local name mention, and leaves such names alone.
    if (state !== undefined) this.#templateParams = [];
    return new Nested(encoding, entity);
  }

  #discriminator(): void {
    if (this.look() === "_") {
      if (/\d/.test(this.look(1))) this.pos += 2;
      else if (this.look(1) === "_") {
        let at = this.pos + 2;
        while (/\d/.test(this.text[at] ?? "")) at++;
        if (this.text[at] === "_" && at > this.pos + 2) this.pos = at + 1;
      }
    } else if (/\d/.test(this.look()) && /^\d+$/.test(this.text.slice(this.pos))) this.pos = this.text.length;
  }

  #nestedName(state: NameState | undefined): Node {
    this.expect("N");
    if (this.consume("H")) {
      // An explicit object parameter is printed as any other.
    } else {
      const qualifiers = this.qualifiers();
      const reference = this.consume("O") ? " &&" : this.consume("R") ? " &" : "";
      if (state !== undefined) Object.assign(state, { qualifiers, reference });
    }
    let soFar: Node | undefined;
    let pushed = false;
    while (!this.consume("E")) {
      if (state !== undefined) state.endsWithTemplateArgs = false;
      const c = this.look();
      const next = this.look(1);
      if (c === "T") {
        if (soFar !== undefined) this.fail();
        soFar = this.templateParam();
      } else if (c === "I") {
        if (soFar === undefined || soFar instanceof WithTemplateArgs) this.fail();
        soFar = new WithTemplateArgs(soFar, this.templateArgs(state !== undefined));
        if (state !== undefined) state.endsWithTemplateArgs = true;
      } else if (c === "D" && (next === "t" || next === "T")) {
        if (soFar !== undefined) this.fail();
        soFar = this.decltype();
      } else if (c === "S") {
        if (soFar !== undefined) this.fail();
        soFar = this.consume("St") ? new Name("std") : this.substitution();
        pushed = false;
        continue;
      } else soFar = this.#unqualifiedName(state, soFar);
      this.substitutions.push(soFar);
      pushed = true;
      this.consume("M");
    }
    if (soFar === undefined || !pushed) return this.fail();
    this.substitutions.pop();
    return soFar;
  }

  #unqualifiedName(state: NameState | undefined, scope: Node | undefined): Node {
    if (scope !== undefined) this.consume("F");
    this.consume("L");
    const c = this.look();
    let node: Node;
    if (/[1-9]/.test(c)) node = this.sourceName();
    else if (c === "U") node = this.#unnamedType();
    else if (c === "D" && this.look(1) === "C") {
      this.pos += 2;
      const bindings: Node[] = [];
      do bindings.push(this.sourceName());
      while (!this.consume("E"));
      node = new StructuredBinding(bindings);
    } else if (c === "C" || c === "D") {
      if (scope === undefined) this.fail();
      const owner = scope instanceof StdAbbreviation ? scope.expanded() : scope;
      const ctor = this.#ctorDtor(owner, state);
      return new Nested(owner, this.#abiTags(ctor));
    } else node = this.operatorName(state);
    node = this.#abiTags(node);
    return scope === undefined ? node : new Nested(scope, node);
  }

  #ctorDtor(owner: Node, state: NameState | undefined): Node {
    const isDtor = this.consume("D");
    if (!isDtor) {
      this.expect("C");
      const isInheriting = this.consume("I");
      if (!/[1-5]/.test(this.look())) this.fail();
      this.pos++;
      if (state !== undefined) state.isCtorDtorConversion = true;
      if (isInheriting) this.name(state);
    } else {
      if (!/[01245]/.test(this.look())) this.fail();
      this.pos++;
      if (state !== undefined) state.isCtorDtorConversion = true;
    }
    return new CtorDtor(owner, isDtor);
  }

  #abiTags(node: Node): Node {
    let tagged = node;
    while (this.consume("B")) tagged = new Suffixed(tagged, `[abi:${this.bareName()}]`);
    return tagged;
  }

  bareName(): string {
    const length = Number(this.number());
    if (length === 0 || length > this.text.length - this.pos) this.fail();
    const name = this.text.slice(this.pos, this.pos + length);
    this.pos += length;
    return name;
  }

  sourceName(): Node {
    const name = this.bareName();
    return new Name(name.startsWith("_GLOBAL__N") ? "(anonymous namespace)" : name);
  }

  #unnamedType(): Node {
    if (this.consume("Ut")) {
      const count = this.look() === "_" ? "" : this.number();
      this.expect("_");
      return new Name(`'unnamed${count}'`);
    }
    if (this.consume("Ul")) return this.#closure();
    if (this.consume("Ub")) {
      if (/\d/.test(this.look())) this.number();
      this.expect("_");
      return new Name("'block-literal'");
    }
    return this.fail();
  }

  #closure(): Node {
    const outer = this.#lambdaParams;
    this.#lambdaParams = [];
    this.#lambdaDepth++;
    const templateParams: Node[] = [];
    while (this.#isTemplateParamDecl()) {
      templateParams.push(this.#templateParamDecl(this.#lambdaParams));
    }
    const params: Node[] = [];
    if (!this.consume("v")) {
      do params.push(this.type());
      while (this.look() !== "E" && this.look() !== "Q" && this.look() !== "");
    }
    this.expect("E");
    this.#lambdaDepth--;
    this.#lambdaParams = outer;
    const count = this.look() === "_" ? "" : this.number();
    this.expect("_");
    return new Closure(count, templateParams, params);
  }

  /** Parameters that a generic lambda declares: `typename $T`, `int $N`, `typename ...$T`. */
  #templateParamDecl(declared: Node[]): Node {
    const invent = (letter: string): Name => {
      const count = declared.filter((node) => node.baseName().startsWith(letter)).length;
      const name = new Name(count === 0 ? letter : `${letter}${count - 1}`);
      declared.push(name);
      return name;
    };
    if (this.consume("Ty")) return new Prefixed("typename ", invent("$T"));
    if (this.consume("Tn")) {
      const name = invent("$N");
      return new Declared(this.type(), name);
    }
    if (this.consume("Tp")) return new Pack(this.#templateParamDecl(declared));
    return this.fail();
  }

  operatorName(state?: NameState): Node {
    const operator = OPERATORS.get(this.text.slice(this.pos, this.pos + 2));
    if (operator !== undefined) {
      this.pos += 2;
      if (operator.kind === "cconv") {
        const takesTemplateArgs = this.takesTemplateArgs;
        const permits = this.#permitsForwardReferences;
        this.takesTemplateArgs = false;
        this.#permitsForwardReferences ||= state !== undefined;
        const type = this.type();
        this.takesTemplateArgs = takesTemplateArgs;
        this.#permitsForwardReferences = permits;
        if (state !== undefined) state.isCtorDtorConversion = true;
        return new Conversion(type);
      }
      const name = operatorName(operator);
      return name === undefined ? this.fail() : new Name(name);
    }
    if (this.consume("li")) return new Prefixed('operator"" ', this.sourceName());
    if (this.look() === "v" && /\d/.test(this.look(1))) {
      this.pos += 2;
      return new Conversion(this.sourceName());
    }
    return this.fail();
  }

  substitution(): Node {
    this.expect("S");
    const make = STD[this.look()];
    if (make !== undefined) {
      this.pos++;
      const special = make();
      const tagged = this.#abiTags(special);
      if (tagged !== special) this.substitutions.push(tagged);
      return tagged;
    }
    const node = this.substitutions[this.sequenceId()];
    return node ?? this.fail();
  }

  templateParam(): Node {
    this.expect("T");
    let level = 0;
    if (this.consume("L")) {
      level = this.look() === "_" ? 1 : Number(this.number()) + 2;
      this.expect("_");
    }
    const index = this.look() === "_" ? 0 : Number(this.number()) + 1;
    this.expect("_");
    if (
      this.#lambdaDepth > 0 &&
      level === this.#lambdaDepth - 1 &&
      this.#lambdaParams !== undefined &&
      level > 0
    ) {
      return this.#lambdaParams[index] ?? new Name("auto");
    }
    if (this.#permitsForwardReferences && level === 0) {
      const reference = new ForwardReference(index);
      this.#forwardReferences.push(reference);
      return reference;
    }
    // The parameters of a lambda that are written `auto` have no declarations.
    if (this.#lambdaDepth > 0 && level === 0 && this.#lambdaParams !== undefined) {
      const own = this.#lambdaParams[index];
      if (own !== undefined) return own;
      if (this.#templateParams[index] === undefined || this.#isOutermostLambda()) return new Name("auto");
    }
    return this.#templateParams[index] ?? this.fail();
  }

  #isOutermostLambda(): boolean {
    return this.#templateParams.length === 0;
  }

  templateArgs(keepsParams = false): Node {
    this.expect("I");
    if (keepsParams) this.#templateParams = [];
    const args: Node[] = [];
    while (!this.consume("E")) {
      const outer = this.#templateParams;
      const isDeclared = this.#isTemplateParamDecl();
      // Without a declaration an argument does not refer to those before it: the `auto` of a lambda is not the first one.
      if (keepsParams && !isDeclared) this.#templateParams = [];
      const arg = this.templateArg();
      if (keepsParams) {
        this.#templateParams = outer;
        // LLVM does not expand packs whose parameter is declared in front of them.
        outer.push(arg instanceof ArgumentPack && !isDeclared ? new ParameterPack(arg.elements) : arg);
      }
      args.push(arg);
    }
    return new TemplateArgs(args);
  }

  templateArg(): Node {
    switch (this.look()) {
      case "X": {
        this.pos++;
        const expression = parseExpression(this);
        this.expect("E");
        return expression;
      }
      case "J": {
        this.pos++;
        const elements: Node[] = [];
        while (!this.consume("E")) elements.push(this.templateArg());
        return new ArgumentPack(elements);
      }
      case "L":
        if (this.look(1) === "Z") {
          this.pos += 2;
          const encoding = this.encoding();
          this.expect("E");
          return encoding;
        }
        return parseLiteral(this);
      case "T":
        // An argument for a parameter that is declared in front of it: the declaration is not printed.
        if (this.#isTemplateParamDecl()) {
          this.#templateParamDecl([]);
          return this.templateArg();
        }
        return this.type();
      default:
        return this.type();
    }
  }

  #isTemplateParamDecl(): boolean {
    return this.look() === "T" && /[yptnk]/.test(this.look(1));
  }

  qualifiers(): Qualifiers {
    const isRestrict = this.consume("r");
    const isVolatile = this.consume("V");
    return { isConst: this.consume("K"), isVolatile, isRestrict };
  }

  type(): Node {
    return this.deeper(() => parseType(this));
  }

  decltype(): Node {
    return parseDecltype(this);
  }
}

/** `A-in-B` of construction vtables. */
class Dash extends Nested {
  override left(out: Parameters<Nested["left"]>[0]): void {
    this.scope.print(out);
    out.add("-in-");
    this.name.print(out);
  }
}

/** `int $N` */
class Declared extends Nested {
  override left(out: Parameters<Nested["left"]>[0]): void {
    this.scope.left(out);
    if (!this.scope.hasRight(out)) out.add(" ");
    this.name.print(out);
    if (this.scope.hasRight(out)) this.scope.right(out);
  }
}

/** `typename ...$T` */
class Pack extends Suffixed {
  constructor(child: Node) {
    super(child, "");
  }
  override left(out: Parameters<Suffixed["left"]>[0]): void {
    const start = out.text.length;
    this.child.print(out);
    const printed = out.text.slice(start);
    out.text = out.text.slice(0, start) + printed.replace(/ (\$\w+)$/, " ...$1");
  }
}
