import { OPERATORS, operatorName, parseExpression, parseLiteral } from "./expressions.ts";
import { MangledText, NotMangled } from "./mangled-text.ts";
import {
  ctorDtor,
  enableIf,
  functionEncoding,
  inModule,
  ModuleName,
  Name,
  type Node,
  nested,
  Output,
  prefixed,
  printed,
  type Qualifiers,
  StdAbbreviation,
  structuredBinding,
  suffixed,
  templateArgs,
  unnamedType,
  WithTemplateArgs,
} from "./nodes.ts";
import {
  type ClosureSource,
  isTemplateParamDecl,
  parseClosure,
  parseTemplateParamDecl,
  TemplateScopes,
} from "./template-scopes.ts";
import { ArgumentPack, ParameterPack } from "./type-nodes.ts";
import { parseDecltype, parseType, type TypeSource } from "./types.ts";

/** Maximum length of a name; this kind of parser takes too long for longer ones. */
const LONGEST_NAME = 65_536;

/**
 * Demangles a name of the Itanium C++ ABI (`_Z…`), in LLVM's spelling: with the result of template instances,
 * parameters, and `>>`. Undefined if the text is no such name.
 */
export function demangleItanium(name: string): string | undefined {
  if (name.length > LONGEST_NAME || !/^_{1,4}Z/.test(name)) return undefined;
  try {
    const output = new Output();
    new Parser(name).mangledName().print(output);
    return output.text;
  } catch (error) {
    if (error instanceof NotMangled || error instanceof RangeError) return undefined;
    throw error;
  }
}

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

/** Parser of mangled names of the Itanium C++ ABI; the methods are named after its grammar. */
class Parser extends MangledText implements TypeSource, SpecialNameSource, ClosureSource {
  readonly substitutions: Node[] = [];
  readonly scopes = new TemplateScopes();
  /** True if an argument list after a template parameter belongs to it, as outside of a conversion's type. */
  takesTemplateArgs = true;

  /** Parses the whole text: `_Z` encoding, possibly with the suffix of a clone. */
  mangledName(): Node {
    if (this.consume("_Z") || this.consume("__Z")) {
      let node = this.encoding();
      if (this.peek() === ".") {
        node = suffixed(node, ` (${this.text.slice(this.pos)})`);
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
      else while (/\d/.test(this.peek())) this.pos++;
      if (this.peek() === ".") this.pos = this.text.length;
      if (this.pos !== this.text.length) this.fail();
      return prefixed("invocation function for block in ", node);
    }
    return this.fail();
  }

  encoding(): Node {
    return this.deeper(() => this.scopes.withinEncoding(() => this.#encodingWithin()));
  }

  #encodingWithin(): Node {
    if (this.peek() === "G" || this.peek() === "T") return parseSpecialName(this);
    const state: NameState = {
      isCtorDtorConversion: false,
      endsWithTemplateArgs: false,
      qualifiers: NO_QUALIFIERS,
      reference: "",
      hasObjectParameter: false,
      forwardReferences: this.scopes.waiting,
    };
    const name = this.name(state);
    if (!this.scopes.resolve(state.forwardReferences)) this.fail();
    if (this.#isEndOfEncoding()) return name;
    let attributes: Node | undefined;
    if (this.consume("Ua9enable_ifI")) attributes = enableIf(this.until("E", () => this.templateArg()));
    let result: Node | undefined;
    if (!state.isCtorDtorConversion && state.endsWithTemplateArgs) result = this.type();
    const params: Node[] = [];
    if (!this.consume("v"))
      do {
        const type = this.type();
        params.push(state.hasObjectParameter && params.length === 0 ? prefixed("this ", type) : type);
      } while (!this.#isEndOfEncoding() && this.peek() !== "Q");
    const { qualifiers, reference } = state;
    const constraint = this.constraint();
    return functionEncoding(result, name, params, { qualifiers, reference, attributes, constraint });
  }

  /** Parses `Q` expression, the clause after `requires`, if there is one. */
  constraint(): Node | undefined {
    return this.consume("Q") ? this.scopes.withNamedParams(() => parseExpression(this)) : undefined;
  }

  #isEndOfEncoding(): boolean {
    return ["", "E", ".", "_"].includes(this.peek());
  }

  name(state?: NameState): Node {
    return this.deeper(() => {
      if (this.peek() === "N") return this.#nestedName(state);
      if (this.peek() === "Z") return this.#localName(state);
      let node: Node;
      let isSubstitution = false;
      if (this.peek() === "S" && this.peek(1) !== "t") {
        node = this.substitution();
        if (node instanceof ModuleName) node = this.#unqualifiedName(state, undefined, node);
        else {
          isSubstitution = true;
          if (this.peek() !== "I") this.fail();
        }
      } else node = this.#unscopedName(state);
      if (this.peek() !== "I") return node;
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

  #substitutedModule(): ModuleName | undefined {
    if (this.peek() !== "S") return undefined;
    const node = this.substitution();
    return node instanceof ModuleName ? node : this.fail();
  }

  /** Parses `W` name for each part, `WP` for a partition, after the modules named before. */
  moduleName(parent?: ModuleName): ModuleName | undefined {
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
      this.discriminator();
      return nested(encoding, new Name("string literal"));
    }
    if (this.consume("d")) {
      if (this.peek() !== "_") this.number(true);
      this.expect("_");
      return nested(
        encoding,
        this.scopes.withOwnParams(() => this.name(state)),
      );
    }
    // LLVM gives parameters in the types of a local name no arguments here, and such names stay mangled.
    const entity = this.scopes.withOwnParams(() => this.name(state));
    this.discriminator();
    return nested(encoding, entity);
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
      const c = this.peek();
      const next = this.peek(1);
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

  #unqualifiedName(state: NameState | undefined, scope: Node | undefined, parentModule?: ModuleName): Node {
    const module = this.moduleName(parentModule);
    const isFriend = scope !== undefined && this.consume("F");
    this.consume("L");
    const c = this.peek();
    let node: Node;
    if (/[1-9]/.test(c)) node = this.sourceName();
    else if (c === "U") node = this.#unnamedType();
    else if (c === "D" && this.peek(1) === "C") {
      this.pos += 2;
      const bindings: Node[] = [];
      do bindings.push(this.sourceName());
      while (!this.consume("E"));
      node = structuredBinding(bindings);
    } else if (c === "C" || c === "D") {
      if (scope === undefined || module !== undefined) return this.fail();
      const owner = scope instanceof StdAbbreviation ? scope.expanded() : scope;
      const ctor = this.#ctorDtor(owner, state);
      return nested(owner, this.#abiTags(ctor));
    } else node = this.operatorName(state);
    if (module !== undefined) node = inModule(node, module);
    node = this.#abiTags(node);
    if (scope === undefined) return node;
    return nested(scope, isFriend ? prefixed("friend ", node) : node);
  }

  #ctorDtor(owner: Node, state: NameState | undefined): Node {
    const isDtor = this.consume("D");
    if (!isDtor) {
      this.expect("C");
      const isInheriting = this.consume("I");
      if (!/[1-5]/.test(this.peek())) this.fail();
      this.pos++;
      if (state !== undefined) state.isCtorDtorConversion = true;
      if (isInheriting) this.name(state);
    } else {
      if (!/[01245]/.test(this.peek())) this.fail();
      this.pos++;
      if (state !== undefined) state.isCtorDtorConversion = true;
    }
    return ctorDtor(owner, isDtor);
  }

  #abiTags(node: Node): Node {
    let tagged = node;
    while (this.consume("B")) tagged = suffixed(tagged, `[abi:${this.bareName()}]`);
    return tagged;
  }

  sourceName(): Node {
    const name = this.bareName();
    return new Name(name.startsWith("_GLOBAL__N") ? "(anonymous namespace)" : name);
  }

  #unnamedType(): Node {
    if (this.consume("Ut")) return unnamedType(this.count());
    if (this.consume("Ul")) return parseClosure(this);
    if (this.consume("Ub")) {
      if (/\d/.test(this.peek())) this.number();
      this.expect("_");
      return new Name("'block-literal'");
    }
    return this.fail();
  }

  operatorName(state?: NameState): Node {
    const operator = OPERATORS.get(this.text.slice(this.pos, this.pos + 2));
    if (operator !== undefined) {
      this.pos += 2;
      if (operator.kind === "cconv") {
        const takesTemplateArgs = this.takesTemplateArgs;
        this.takesTemplateArgs = false;
        const type = this.scopes.withForwardReferences(state !== undefined, () => this.type());
        this.takesTemplateArgs = takesTemplateArgs;
        if (state !== undefined) state.isCtorDtorConversion = true;
        return prefixed("operator ", type);
      }
      const name = operatorName(operator);
      return name === undefined ? this.fail() : new Name(name);
    }
    if (this.consume("li")) return prefixed('operator"" ', this.sourceName());
    if (this.peek() === "v" && /\d/.test(this.peek(1))) {
      this.pos += 2;
      return prefixed("operator ", this.sourceName());
    }
    return this.fail();
  }

  substitution(): Node {
    this.expect("S");
    const make = STD[this.peek()];
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
    const index = this.peek() === "_" ? 0 : Number(this.number()) + 1;
    this.expect("_");
    if (this.scopes.namesParams) return new Name(this.text.slice(start, this.pos - 1));
    return this.scopes.param(level, index) ?? this.fail();
  }

  templateArgs(keepsParams = false): Node {
    this.expect("I");
    const boundArgs: Node[] = [];
    if (keepsParams) this.scopes.bind(boundArgs);
    const args: Node[] = [];
    while (!this.consume("E")) {
      const isDeclared = isTemplateParamDecl(this);
      const arg = this.templateArg();
      // LLVM does not expand packs whose parameter is declared before them.
      boundArgs.push(arg instanceof ArgumentPack && !isDeclared ? new ParameterPack(arg.elements) : arg);
      args.push(arg);
      if (this.constraint() !== undefined) {
        this.expect("E");
        break;
      }
    }
    return templateArgs(args);
  }

  templateArg(): Node {
    switch (this.peek()) {
      case "X": {
        this.pos++;
        const expression = parseExpression(this);
        this.expect("E");
        return expression;
      }
      case "J": {
        this.pos++;
        return new ArgumentPack(this.until("E", () => this.templateArg()));
      }
      case "L":
        if (this.peek(1) === "Z") {
          this.pos += 2;
          const encoding = this.encoding();
          this.expect("E");
          return encoding;
        }
        return parseLiteral(this);
      case "T":
        // An argument may follow the declaration of its parameter, which is not printed.
        if (isTemplateParamDecl(this)) {
          parseTemplateParamDecl(this, []);
          return this.templateArg();
        }
        return this.type();
      default:
        return this.type();
    }
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

interface SpecialNameSource extends MangledText {
  encoding(): Node;
  name(): Node;
  type(): Node;
  templateArg(): Node;
  moduleName(): Node | undefined;
}

const OF_TYPES: Readonly<Record<string, string>> = {
  TV: "vtable for ",
  TT: "VTT for ",
  TI: "typeinfo for ",
  TS: "typeinfo name for ",
};

const OF_NAMES: Readonly<Record<string, string>> = {
  TW: "thread-local wrapper routine for ",
  TH: "thread-local initialization routine for ",
  GV: "guard variable for ",
};

/**
 * Parses a compiler-generated entity of a type or function: tables, thunks, guards. The text is at its `G` or `T`.
 */
function parseSpecialName(source: SpecialNameSource): Node {
  if (source.consume("GI")) {
    const module = source.moduleName();
    return module === undefined ? source.fail() : prefixed("initializer for module ", module);
  }
  const code = source.text.slice(source.pos, source.pos + 2);
  source.pos += 2;
  if (OF_TYPES[code] !== undefined) return prefixed(OF_TYPES[code], source.type());
  if (OF_NAMES[code] !== undefined) return prefixed(OF_NAMES[code], source.name());
  switch (code) {
    case "TA":
      return prefixed("template parameter object for ", source.templateArg());
    case "Tc":
      callOffset(source);
      callOffset(source);
      return prefixed("covariant return thunk to ", source.encoding());
    case "TC": {
      const derived = source.type();
      source.number(true);
      source.expect("_");
      return prefixed("construction vtable for ", inside(source.type(), derived));
    }
    case "GR": {
      const name = source.name();
      source.sequenceId();
      return prefixed("reference temporary for ", name);
    }
    default: {
      if (code[0] !== "T") return source.fail();
      source.pos--;
      const isVirtual = source.peek() === "v";
      callOffset(source);
      return prefixed(isVirtual ? "virtual thunk to " : "non-virtual thunk to ", source.encoding());
    }
  }
}

function callOffset(source: SpecialNameSource): void {
  if (!source.consume("h")) {
    source.expect("v");
    source.number(true);
    source.expect("_");
  }
  source.number(true);
  source.expect("_");
}

function inside(derived: Node, base: Node): Node {
  return printed((out) => {
    derived.print(out);
    out.add("-in-");
    base.print(out);
  });
}
