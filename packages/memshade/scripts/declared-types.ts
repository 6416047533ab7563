import { fileURLToPath } from "node:url";
import ts from "typescript";
import { type JsonSchema, JsonSchemas } from "./json-schemas.ts";

const SOURCE = fileURLToPath(new URL("../src/", import.meta.url));

const OBJECTS = ts.TypeFlags.Object | ts.TypeFlags.Intersection;

interface Declaration {
  /** Path below `src`. */
  readonly file: string;
  readonly name: string;
}

/** Members of an interface that share one docstring, as a row of a table. */
interface Row {
  /** Names in backquotes; a question mark behind those of optional members. */
  readonly names: string[];
  readonly types: string[];
  readonly meaning: string;
}

/** Declared types of the sources, described in Markdown. A link leads from each use of a type to its table. */
export class DeclaredTypes {
  readonly #checker: ts.TypeChecker;
  readonly #program: ts.Program;
  /** Headings of the types that have a table, each without backquotes. */
  readonly #headings = new Map<ts.Symbol, string>();
  /** Types that the tables mention and that have no table yet. */
  #mentioned: ts.Symbol[] = [];

  /** @param files paths below `src` */
  constructor(files: readonly string[]) {
    const config = fileURLToPath(new URL("../tsconfig.build.json", import.meta.url));
    const { options } = ts.parseJsonConfigFileContent(
      ts.readConfigFile(config, ts.sys.readFile).config,
      ts.sys,
      fileURLToPath(new URL("../", import.meta.url)),
    );
    this.#program = ts.createProgram(
      files.map((file) => SOURCE + file),
      { ...options, noEmit: true },
    );
    this.#checker = this.#program.getTypeChecker();
  }

  /** Sets the heading of a type whose table the template places. */
  place(file: string, name: string, heading: string): void {
    this.#headings.set(this.#symbol(file, name), heading);
  }

  /** Returns the table of a type, and below it the types that it mentions and that have no table elsewhere. */
  describe(file: string, name: string, level: number): string {
    this.#mentioned = [];
    const placed = this.#symbol(file, name);
    const head = docOf(placed, this.#checker);
    const parts = [
      ...(head === "" ? [] : [head]),
      this.#table(this.#checker.getDeclaredTypeOfSymbol(placed)),
    ];
    for (let symbol = this.#mentioned.shift(); symbol !== undefined; symbol = this.#mentioned.shift()) {
      const intro = docOf(symbol, this.#checker);
      parts.push(
        [
          `${"#".repeat(level + 1)} ${symbol.name}`,
          ...(intro === "" ? [] : [intro]),
          this.#table(this.#checker.getDeclaredTypeOfSymbol(symbol)),
        ].join("\n\n"),
      );
    }
    return parts.join("\n\n");
  }

  /**
   * Returns the schema of a document, named by its member `schema` or `report`; undefined for a type with neither.
   */
  schemaOf(file: string, name: string): { readonly name: string; readonly schema: JsonSchema } | undefined {
    const symbol = this.#symbol(file, name);
    const type = this.#checker.getDeclaredTypeOfSymbol(symbol);
    const literalOf = (member: string) => {
      const property = type.getProperty(member);
      const value = property && this.#checker.getTypeOfSymbol(property);
      return value?.isStringLiteral() ? value.value : undefined;
    };
    const report = literalOf("report");
    const id = report === undefined ? literalOf("schema") : `memshade-${report}-report`;
    if (id === undefined) return undefined;
    const schemas = new JsonSchemas({
      checker: this.#checker,
      named: (each) => this.#named(each),
      elementOf: (each) => this.#elementOf(each),
      meaningOf: (member) => {
        const owner = docOwner(member);
        return owner === undefined ? "" : docText(owner);
      },
    });
    return { name: id, schema: schemas.document(symbol, id) };
  }

  /** Returns the variants of a union that differ in the literal `key`, each with the rows of its own members. */
  variants(
    { file, name }: Declaration,
    key: string,
    common: Declaration,
  ): { readonly value: string; readonly rows: readonly Row[] }[] {
    const union = this.#checker.getDeclaredTypeOfSymbol(this.#symbol(file, name));
    const shared = new Set(
      this.#checker
        .getDeclaredTypeOfSymbol(this.#symbol(common.file, common.name))
        .getProperties()
        .map((property) => property.name),
    );
    const types = union.isUnion() ? union.types : [union];
    return types.map((type) => {
      const literal = this.#checker.getTypeOfSymbol(type.getProperty(key)!);
      const rows = this.#rows(type, "").filter(({ names }) => !shared.has(bareName(names[0]!)));
      return { value: String((literal as ts.StringLiteralType).value), rows };
    });
  }

  #symbol(file: string, name: string): ts.Symbol {
    const source = this.#program.getSourceFile(SOURCE + file);
    if (source === undefined) throw new Error(`there is no file ${file}`);
    for (const statement of source.statements)
      if (
        (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)) &&
        statement.name.text === name
      )
        return this.#checker.getSymbolAtLocation(statement.name)!;
    throw new Error(`${file} declares no type ${name}`);
  }

  /** Returns the members of a type. A type that extends another one has its own members alone, and a link to the other. */
  #table(type: ts.Type): string {
    const base = this.#base(type);
    const inherited = new Set(base?.getProperties().map((property) => property.name));
    const isOwn = ({ names }: Row) => !names.every((name) => inherited.has(bareName(name)));
    const rows = this.#rows(type, "")
      .filter(isOwn)
      .map(
        ({ names, types, meaning }) =>
          `| ${names.join(", ")} | ${[...new Set(types)].join(", ").replaceAll("|", "\\|")} | ${meaning.replaceAll("|", "\\|")} |`,
      );
    const table = ["| key | type | meaning |", "|---|---|---|", ...rows].join("\n");
    return base === undefined ? table : `All members of ${this.#link(base.symbol)}, and:\n\n${table}`;
  }

  /** Returns the interface that an interface extends; undefined for generic ones, whose members stand with the own ones. */
  #base(type: ts.Type): ts.InterfaceType | undefined {
    if (!type.isClassOrInterface()) return undefined;
    return this.#checker
      .getBaseTypes(type)
      .find(
        (each): each is ts.InterfaceType =>
          each.isClassOrInterface() && each.typeParameters === undefined && this.#named(each) !== undefined,
      );
  }

  #rows(type: ts.Type, prefix: string): Row[] {
    const rows = new Map<unknown, Row>();
    for (const property of type.getProperties()) {
      const owner = docOwner(property);
      const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0;
      const name = `\`${prefix}${property.name}\`${isOptional ? "?" : ""}`;
      const inside = this.#checker.getTypeOfSymbol(property);
      const nested = this.#nested(inside);
      const meaning = owner === undefined ? "" : docText(owner);
      const row = rows.get(owner ?? property) ?? { names: [], types: [], meaning };
      rows.set(owner ?? property, row);
      row.names.push(name);
      row.types.push(nested === undefined ? this.#text(inside) : nested.isList ? "list" : "object");
      if (nested === undefined) continue;
      const below = this.#rows(nested.type, `${prefix}${property.name}${nested.isList ? "[]" : ""}.`);
      for (const each of below) rows.set(each, each);
    }
    return [...rows.values()];
  }

  /** Returns the anonymous object type of a member whose own members have docstrings. */
  #nested(type: ts.Type): { readonly type: ts.Type; readonly isList: boolean } | undefined {
    const only = this.#checker.getNonNullableType(type);
    const element = this.#elementOf(only);
    const object = element ?? only;
    if (object.isUnion() || this.#named(object) !== undefined || object.getProperties().length === 0)
      return undefined;
    const isDocumented = object.getProperties().some((property) => docOwner(property) !== undefined);
    const isLiteral = object.symbol !== undefined && (object.symbol.flags & ts.SymbolFlags.TypeLiteral) !== 0;
    return isDocumented && isLiteral ? { type: object, isList: element !== undefined } : undefined;
  }

  #elementOf(type: ts.Type): ts.Type | undefined {
    const isList = this.#checker.isArrayType(type) || type.symbol?.name === "RankedList";
    return isList ? this.#checker.getTypeArguments(type as ts.TypeReference)[0] : undefined;
  }

  /** Returns the symbol of an object type that the sources declare by name. */
  #named(type: ts.Type): ts.Symbol | undefined {
    const symbol = type.aliasSymbol ?? type.symbol;
    const declaration = symbol?.declarations?.[0];
    const isList = this.#checker.isArrayType(type) || this.#checker.isTupleType(type);
    if (isList || declaration === undefined || !declaration.getSourceFile().fileName.startsWith(SOURCE))
      return undefined;
    const isNamed = ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration);
    return isNamed && (type.flags & OBJECTS) !== 0 ? symbol : undefined;
  }

  #text(type: ts.Type): string {
    const element = this.#elementOf(type);
    if (element !== undefined) {
      const text = this.#text(element);
      return `${text.includes(" | ") ? `(${text})` : text}[]`;
    }
    const named = this.#named(type);
    if (named !== undefined) return this.#link(named);
    if (type.isUnion()) {
      // TypeScript orders a union by the first uses of its members in all files, which any file may change.
      const texts = type.types
        .filter(({ flags }) => (flags & ts.TypeFlags.Undefined) === 0)
        .map((each) => this.#text(each))
        .sort();
      const isBoolean = texts.includes("true") && texts.includes("false");
      const others = isBoolean
        ? ["boolean", ...texts.filter((text) => text !== "true" && text !== "false")]
        : texts.filter((text) => text !== "number" || !texts.includes("u64"));
      return [...others.filter((text) => text !== "null"), ...(others.includes("null") ? ["null"] : [])].join(
        " | ",
      );
    }
    if (this.#checker.isTupleType(type)) {
      const names = ((type as ts.TupleTypeReference).target.labeledElementDeclarations ?? []).map(
        (label) => label?.name.getText() ?? "",
      );
      const elements = this.#checker
        .getTypeArguments(type as ts.TypeReference)
        .map((each) => this.#text(each));
      return `[${elements.map((text, index) => names[index] || text).join(", ")}]`;
    }
    if ((type.flags & ts.TypeFlags.BigIntLike) !== 0) return "u64";
    if ((type.flags & OBJECTS) === 0) return this.#checker.typeToString(type);
    const [index] = this.#checker.getIndexInfosOfType(type);
    if (index !== undefined) return `object of ${this.#text(index.type)}`;
    return this.#inline(type);
  }

  /** Formats an object type of few members: `{ contexts, blocks: number }`. */
  #inline(type: ts.Type): string {
    const groups: { names: string[]; text: string }[] = [];
    for (const property of type.getProperties()) {
      const text = this.#text(this.#checker.getTypeOfSymbol(property));
      const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0;
      const name = `\`${property.name}\`${isOptional ? "?" : ""}`;
      const last = groups.at(-1);
      if (last?.text === text) last.names.push(name);
      else groups.push({ names: [name], text });
    }
    return `{ ${groups.map(({ names, text }) => `${names.join(", ")}: ${text}`).join("; ")} }`;
  }

  #link(symbol: ts.Symbol): string {
    if (!this.#headings.has(symbol)) {
      const other = [...this.#headings].find(([, heading]) => heading === symbol.name);
      if (other !== undefined) throw new Error(`two types are named ${symbol.name}`);
      this.#headings.set(symbol, symbol.name);
      this.#mentioned.push(symbol);
    }
    const heading = this.#headings.get(symbol)!;
    return `[${heading.replace(/[`:].*$/, "")}](#${anchorOf(heading)})`;
  }
}

function bareName(name: string): string {
  return name.replaceAll(/[`?]/g, "");
}

/** Returns the anchor of a heading, as in Markdown pages. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replace(/\s/g, "-");
}

/**
 * Returns the declaration whose docstring describes a member: its own, or the nearest one before it, because a
 * docstring also covers the members that follow without one.
 */
function docOwner(property: ts.Symbol): ts.Node | undefined {
  const declaration = property.declarations?.[0];
  if (declaration === undefined) return undefined;
  const { parent } = declaration;
  if (!ts.isInterfaceDeclaration(parent) && !ts.isTypeLiteralNode(parent)) return undefined;
  for (let index = parent.members.indexOf(declaration as ts.TypeElement); index >= 0; index--)
    if (ts.getJSDocCommentsAndTags(parent.members[index]!).length > 0) return parent.members[index];
  return undefined;
}

function docText(node: ts.Node): string {
  const [doc] = ts.getJSDocCommentsAndTags(node);
  const text = doc === undefined ? "" : (ts.getTextOfJSDocComment(doc.comment) ?? "");
  return oneLine(text);
}

function docOf(symbol: ts.Symbol | undefined, checker: ts.TypeChecker): string {
  if (symbol === undefined) return "";
  return oneLine(ts.displayPartsToString(symbol.getDocumentationComment(checker)));
}

/** Returns the first paragraph of a docstring as one line. */
function oneLine(text: string): string {
  const [paragraph = ""] = text.split("\n\n");
  return paragraph
    .replaceAll(/\bundefined\b/g, "absent")
    .replaceAll(/\{@link (?:\w+\.)?(\w+)\}/g, "`$1`")
    .replaceAll(/\s*\n\s*/g, " ")
    .trim();
}
