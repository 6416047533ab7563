import { parseExpression, parseLiteral } from "./expressions.ts";
import {
  Closure,
  CtorDtor,
  EnableIf,
  FunctionEncoding,
  InModule,
  ModuleName,
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
import {
  PackDeclaration,
  ParameterDeclaration,
  TemplateParameterDeclaration,
} from "./parameter-declarations.ts";
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
  hasObjectParameter: boolean;
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
  /** Arguments that template parameters stand for, by level: those of the name, then those of lambdas in lambdas. */
  #levels: (Node[] | undefined)[] = [];
  #forwardReferences: ForwardReference[] = [];
  #permitsForwardReferences = false;
  /** An argument list behind a template parameter belongs to it; not so in the type of a conversion. */
  takesTemplateArgs = true;
  /** Level of the parameters that the innermost lambda declares, and where `auto` is such a parameter. */
  #lambdaLevel = -1;
  #namesParams = false;
  /** How many parameters of each kind were given names. */
  readonly #invented = new Map<string, number>();
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
      const references = this.#forwardReferences;
      this.#forwardReferences = [];
      const node = this.#withOwnParams(() => this.#encodingWithin());
      this.#forwardReferences = references;
      return node;
    });
  }

  /** Parses what has nothing to do with the template parameters around it. */
  #withOwnParams<T>(parse: () => T): T {
    const levels = this.#levels;
    this.#levels = [];
    const result = parse();
    this.#levels = levels;
    return result;
  }

  #encodingWithin(): Node {
    if (this.look() === "G" || this.look() === "T") return this.#specialName();
    const state: NameState = {
      ...{
        isCtorDtorConversion: false,
        endsWithTemplateArgs: false,
        qualifiers: NO_QUALIFIERS,
        reference: "",
        hasObjectParameter: false,
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
      do {
        const type = this.type();
        params.push(state.hasObjectParameter && params.length === 0 ? new Prefixed("this ", type) : type);
      } while (!this.#isEndOfEncoding() && this.look() !== "Q");
    }
    const { qualifiers, reference } = state;
    const constraint = this.#constraint();
    return new FunctionEncoding(result, name, params, { qualifiers, reference, attributes, constraint });
  }

  /** `Q` expression, the clause behind `requires`, if there is one. */
  #constraint(): Node | undefined {
    return this.consume("Q") ? this.#withNamedParams(() => parseExpression(this)) : undefined;
  }

  /** In constraints all template parameters around are in scope, but it is not known which: they are written by number. */
  #withNamedParams<T>(parse: () => T): T {
    const before = this.#namesParams;
    this.#namesParams = true;
    const result = parse();
    this.#namesParams = before;
    return result;
  }

  #isEndOfEncoding(): boolean {
    return ["", "E", ".", "_"].includes(this.look());
  }

  #resolveForwardReferences({ forwardReferences }: NameState): void {
    for (const reference of this.#forwardReferences.splice(forwardReferences)) {
      const target = this.#levels[0]?.[reference.index];
      if (target === undefined) this.fail();
      reference.target = target;
    }
  }

  #specialName(): Node {
    if (this.consume("GI")) {
      const module = this.#moduleName();
      return module === undefined ? this.fail() : new Prefixed("initializer for module ", module);
    }
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
        if (node instanceof ModuleName) node = this.#unqualifiedName(state, undefined, node);
        else {
          isSubstitution = true;
          if (this.look() !== "I") this.fail();
        }
      } else node = this.#unscopedName(state);
      if (this.look() !== "I") return node;
      if (!isSubstitution) this.substitutions.push(node);
      const args = this.templateArgs(state !== undefined);
      if (state !== undefined) state.endsWithTemplateArgs = true;
      return new WithTemplateArgs(node, args);
    });
  }

  #unscopedName(state: NameState | undefined): Node {
    const scope = this.consume("St") ? new Name("std") : undefined;
    return this.#unqualifiedName(state, scope, this.#substitutedModule());
  }

  /** A module that was named before. */
  #substitutedModule(): ModuleName | undefined {
    if (this.look() !== "S") return undefined;
    const node = this.substitution();
    return node instanceof ModuleName ? node : this.fail();
  }

  /** `W` name for each part, `WP` for that of a partition, behind what was named before. */
  #moduleName(parent?: ModuleName): ModuleName | undefined {
    let module = parent;
    while (this.consume("W")) {
      const isPartition = this.consume("P");
      module = new ModuleName(module, this.sourceName(), isPartition);
      this.substitutions.push(module);
    }
    return module;
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
      return new Nested(
        encoding,
        this.#withOwnParams(() => this.name(state)),
      );
    }
    // As in LLVM: parameters that the types behind a local name mention have no arguments then, and such names stay as they are.
    const entity = this.#withOwnParams(() => this.name(state));
    this.#discriminator();
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
      if (state !== undefined) state.hasObjectParameter = true;
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
        const node = this.consume("St") ? new Name("std") : this.substitution();
        if (node instanceof ModuleName) soFar = this.#unqualifiedName(state, soFar, node);
        else {
          if (soFar !== undefined) this.fail();
          soFar = node;
          pushed = false;
          continue;
        }
      } else soFar = this.#unqualifiedName(state, soFar);
      this.substitutions.push(soFar);
      pushed = true;
      this.consume("M");
    }
    if (soFar === undefined || !pushed) return this.fail();
    this.substitutions.pop();
    return soFar;
  }

  #unqualifiedName(state: NameState | undefined, scope: Node | undefined, of?: ModuleName): Node {
    const module = this.#moduleName(of);
    const isFriend = scope !== undefined && this.consume("F");
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
      if (scope === undefined || module !== undefined) return this.fail();
      const owner = scope instanceof StdAbbreviation ? scope.expanded() : scope;
      const ctor = this.#ctorDtor(owner, state);
      return new Nested(owner, this.#abiTags(ctor));
    } else node = this.operatorName(state);
    if (module !== undefined) node = new InModule(node, module);
    node = this.#abiTags(node);
    if (scope === undefined) return node;
    return new Nested(scope, isFriend ? new Prefixed("friend ", node) : node);
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
    const outerLevel = this.#lambdaLevel;
    const level = this.#levels.length;
    this.#lambdaLevel = level;
    const declared: Node[] = [];
    this.#levels.push(declared);
    const templateParams: Node[] = [];
    while (this.#isTemplateParamDecl()) templateParams.push(this.#templateParamDecl(declared));
    if (templateParams.length === 0) this.#levels.pop();
    const constraint = this.#constraint();
    const params: Node[] = [];
    if (!this.consume("v")) {
      do params.push(this.type());
      while (this.look() !== "E" && this.look() !== "Q" && this.look() !== "");
    }
    const trailing = this.#constraint();
    this.expect("E");
    this.#lambdaLevel = outerLevel;
    this.#levels.length = level;
    const count = this.look() === "_" ? "" : this.number();
    this.expect("_");
    return new Closure(count, templateParams, params, [constraint, trailing]);
  }

  /** Parameters that a template declares: `typename $T`, `C $T`, `int $N`, `template<typename $T> typename $TT`, packs of them. */
  #templateParamDecl(declared: Node[]): Node {
    const invent = (letters: string): Name => {
      const count = this.#invented.get(letters) ?? 0;
      this.#invented.set(letters, count + 1);
      const name = new Name(count === 0 ? letters : `${letters}${count - 1}`);
      declared.push(name);
      return name;
    };
    if (this.consume("Ty")) return new ParameterDeclaration(new Name("typename"), invent("$T"));
    if (this.consume("Tk")) {
      const constraint = this.#withNamedParams(() => this.name());
      return new ParameterDeclaration(constraint, invent("$T"));
    }
    if (this.consume("Tn")) {
      const name = invent("$N");
      return new ParameterDeclaration(this.type(), name);
    }
    if (this.consume("Tt")) {
      const name = invent("$TT");
      const inner: Node[] = [];
      const own: Node[] = [];
      let constraint: Node | undefined;
      while (constraint === undefined && !this.consume("E")) {
        inner.push(this.#templateParamDecl(own));
        constraint = this.#constraint();
        if (constraint !== undefined) this.expect("E");
      }
      return new TemplateParameterDeclaration(name, inner, constraint);
    }
    if (this.consume("Tp")) return new PackDeclaration(this.#templateParamDecl(declared));
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
    const start = this.pos;
    this.expect("T");
    let level = 0;
    if (this.consume("L")) {
      level = Number(this.number()) + 1;
      this.expect("_");
    }
    const index = this.look() === "_" ? 0 : Number(this.number()) + 1;
    this.expect("_");
    if (this.#namesParams) return new Name(this.text.slice(start, this.pos - 1));
    if (this.#permitsForwardReferences && level === 0) {
      const reference = new ForwardReference(index);
      this.#forwardReferences.push(reference);
      return reference;
    }
    const node = this.#levels[level]?.[index];
    if (node !== undefined) return node;
    // The parameters of a lambda that are written `auto` have no declarations.
    if (level !== this.#lambdaLevel || level > this.#levels.length) this.fail();
    if (level === this.#levels.length) this.#levels.push(undefined);
    return new Name("auto");
  }

  templateArgs(keepsParams = false): Node {
    this.expect("I");
    const known: Node[] = [];
    if (keepsParams) this.#levels = [known];
    const args: Node[] = [];
    while (!this.consume("E")) {
      const isDeclared = this.#isTemplateParamDecl();
      const arg = this.templateArg();
      // LLVM does not expand packs whose parameter is declared in front of them.
      known.push(arg instanceof ArgumentPack && !isDeclared ? new ParameterPack(arg.elements) : arg);
      args.push(arg);
      if (this.#constraint() !== undefined) {
        this.expect("E");
        break;
      }
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
