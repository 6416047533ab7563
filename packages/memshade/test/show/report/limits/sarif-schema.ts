/** The part of JSON Schema that the schema of SARIF needs here. */
export interface Schema {
  readonly type: "object" | "array" | "string" | "integer";
  readonly required?: readonly string[];
  /** Only these properties are allowed. */
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly allowed?: readonly string[];
  readonly pattern?: RegExp;
  readonly least?: number;
  /** True if any property is allowed. */
  readonly isOpen?: true;
}

const text: Schema = { type: "string" };
const message: Schema = { type: "object", required: ["text"], properties: { text } };
const uri: Schema = { type: "string", pattern: /^(?:[^\s\\<>^`{|}"]|%[0-9A-Fa-f]{2})+$/ };
const number = (least: number): Schema => ({ type: "integer", least });
const list = (items: Schema): Schema => ({ type: "array", items });
const object = (required: readonly string[], properties: NonNullable<Schema["properties"]>): Schema => ({
  type: "object",
  required,
  properties,
});

const location = object([], {
  physicalLocation: object(["artifactLocation"], {
    artifactLocation: object(["uri"], { uri }),
    region: object(["startLine"], {
      startLine: number(1),
      startColumn: number(1),
      endLine: number(1),
      endColumn: number(1),
    }),
  }),
  message,
});

/** Schema of the SARIF 2.1.0 objects that are written (OASIS, section 3), with required and allowed members. */
export const SARIF: Schema = object(["version", "runs"], {
  $schema: uri,
  version: { type: "string", allowed: ["2.1.0"] },
  runs: list(
    object(["tool"], {
      tool: object(["driver"], {
        driver: object(["name"], {
          name: text,
          version: text,
          informationUri: uri,
          rules: list(
            object(["id"], {
              id: text,
              name: text,
              shortDescription: message,
              fullDescription: message,
              help: message,
              properties: { type: "object", isOpen: true },
            }),
          ),
        }),
      }),
      automationDetails: object([], { id: text }),
      results: list(
        object(["message"], {
          ruleId: text,
          ruleIndex: number(-1),
          message,
          locations: list(location),
          level: { type: "string", allowed: ["none", "note", "warning", "error"] },
          partialFingerprints: { type: "object", isOpen: true },
          codeFlows: list(
            object(["threadFlows"], {
              threadFlows: list(object(["locations"], { locations: list(object([], { location })) })),
            }),
          ),
        }),
      ),
    }),
  ),
});

export function violations(value: unknown, schema: Schema, path = "$"): string[] {
  const { type, required = [], properties, items, allowed, pattern, least } = schema;
  const is = Array.isArray(value) ? "array" : Number.isSafeInteger(value) ? "integer" : typeof value;
  if (is !== type || value === null) return [`${path} is ${value === null ? "null" : is}, not ${type}`];
  if (allowed !== undefined && !allowed.includes(value as string)) return [`${path} is ${value}`];
  if (pattern !== undefined && !pattern.test(value as string)) return [`${path} is ${value}`];
  if (least !== undefined && (value as number) < least) return [`${path} is ${value}`];
  if (items !== undefined)
    return (value as unknown[]).flatMap((item, index) => violations(item, items, `${path}[${index}]`));
  if (type !== "object" || schema.isOpen) return [];
  const found = Object.entries(value as object);
  return [
    ...required.filter((key) => !found.some(([name]) => name === key)).map((key) => `${path} has no ${key}`),
    ...found.flatMap(([key, one]) =>
      properties?.[key] === undefined
        ? [`${path} has ${key}`]
        : violations(one, properties[key], `${path}.${key}`),
    ),
  ];
}
