import ts from "typescript";

/** JSON Schema of a value, draft 2020-12. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Knowledge of types that {@link JsonSchemas} shares with the tables of docs/report-json.md. */
export interface TypeKnowledge {
  readonly checker: ts.TypeChecker;
  /** Returns the symbol of an object type that the sources declare by name. */
  named(type: ts.Type): ts.Symbol | undefined;
  /** Returns the type of a list's values; undefined for other types. */
  elementOf(type: ts.Type): ts.Type | undefined;
  /** Returns the docstring of a member as one line. */
  meaningOf(member: ts.Symbol): string;
}

/** A number, or decimal text if a double does not represent it exactly. */
const U64: JsonSchema = { anyOf: [{ type: "number" }, { type: "string", pattern: "^-?[0-9]+$" }] };

/** Makes the JSON Schema of declared types. Members that are not declared are allowed, as readers ignore them. */
export class JsonSchemas {
  readonly #known: TypeKnowledge;
  readonly #definitions = new Map<string, JsonSchema>();

  constructor(known: TypeKnowledge) {
    this.#known = known;
  }

  /** Returns the schema of a document, with the types that it mentions as definitions. */
  document(symbol: ts.Symbol, id: string): JsonSchema {
    this.#definitions.clear();
    const schema = this.#object(this.#known.checker.getDeclaredTypeOfSymbol(symbol));
    return {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: id,
      ...schema,
      $defs: Object.fromEntries([...this.#definitions].sort(([a], [b]) => (a < b ? -1 : 1))),
    };
  }

  #schema(type: ts.Type): JsonSchema {
    const { checker } = this.#known;
    if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return {};
    if (type.flags & ts.TypeFlags.BigIntLike) return U64;
    if (type.flags & ts.TypeFlags.Null) return { type: "null" };
    if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
    if (type.flags & ts.TypeFlags.BooleanLiteral) return { const: checker.typeToString(type) === "true" };
    if (type.flags & ts.TypeFlags.StringLike) return { type: "string" };
    if (type.flags & ts.TypeFlags.NumberLike) return { type: "number" };
    if (type.flags & ts.TypeFlags.BooleanLike) return { type: "boolean" };
    if (type.isUnion()) return this.#union(type);
    const element = this.#known.elementOf(type);
    if (element !== undefined) return { type: "array", items: this.#schema(element) };
    if (checker.isTupleType(type)) {
      const items = checker.getTypeArguments(type as ts.TypeReference).map((each) => this.#schema(each));
      return { type: "array", prefixItems: items, items: false, minItems: items.length };
    }
    const symbol = this.#known.named(type);
    if (symbol === undefined || type.aliasTypeArguments !== undefined) return this.#object(type);
    if (!this.#definitions.has(symbol.name)) {
      this.#definitions.set(symbol.name, {});
      this.#definitions.set(symbol.name, this.#object(type));
    }
    return { $ref: `#/$defs/${symbol.name}` };
  }

  #union(type: ts.UnionType): JsonSchema {
    const present = type.types.filter(({ flags }) => (flags & ts.TypeFlags.Undefined) === 0);
    const schemas = present.map((each) => this.#schema(each));
    const constants = schemas.filter((schema) => "const" in schema).map((schema) => schema.const);
    const isBoolean = constants.includes(true) && constants.includes(false);
    const words = constants.filter((value) => !isBoolean || typeof value !== "boolean").sort();
    const kinds = [
      ...new Map(
        schemas.filter((schema) => !("const" in schema)).map((schema) => [JSON.stringify(schema), schema]),
      ).entries(),
    ]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, schema]) => schema);
    const all = [
      ...(isBoolean ? [{ type: "boolean" }] : []),
      ...(words.length > 0 ? [{ enum: words }] : []),
      ...kinds,
    ];
    return all.length === 1 ? all[0]! : { anyOf: all };
  }

  #object(type: ts.Type): JsonSchema {
    const { checker } = this.#known;
    const members = type.getProperties().filter((member) => (member.flags & ts.SymbolFlags.Method) === 0);
    const typeOf = (member: ts.Symbol) => checker.getTypeOfSymbol(member);
    const mayLack = (member: ts.Symbol) =>
      (member.flags & ts.SymbolFlags.Optional) !== 0 ||
      (typeOf(member).isUnion() &&
        (typeOf(member) as ts.UnionType).types.some(({ flags }) => flags & ts.TypeFlags.Undefined)) ||
      (typeOf(member).flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Undefined)) !== 0;
    const properties = members
      .filter((member) => (typeOf(member).flags & ts.TypeFlags.Undefined) === 0)
      .map((member) => {
        const description = this.#known.meaningOf(member);
        const isInColumns = member.getJsDocTags(checker).some(({ name }) => name === "columns");
        const schema = isInColumns ? { type: "object" } : this.#schema(typeOf(member));
        return [member.name, description === "" ? schema : { description, ...schema }] as const;
      });
    const required = members.filter((member) => !mayLack(member)).map(({ name }) => name);
    const [index] = checker.getIndexInfosOfType(type);
    return {
      type: "object",
      ...(properties.length === 0 ? {} : { properties: Object.fromEntries(properties) }),
      ...(required.length === 0 ? {} : { required }),
      ...(index === undefined ? {} : { additionalProperties: this.#schema(index.type) }),
    };
  }
}
