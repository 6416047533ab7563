import { isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type YAMLMap } from "yaml";
import { UserError } from "../../../ground/bytes/errors.ts";
import type { Budget, BudgetLimit, BudgetSuppression } from "../../model/budget.ts";
import { isTooDeep } from "../yaml-depth.ts";

const KEYS = ["limits", "baseline", "suppressions"];
const LIMIT_KEYS = ["limit", "reason"];
const FILTER_KEYS = ["function", "file", "package", "module", "under"];
const SUPPRESSION_KEYS = ["from", "leak", ...FILTER_KEYS, "measures", "reason"];

/**
 * Reads a budget in YAML or JSON: limits, suppressions with their reasons, and a baseline. docs/ci.md describes the
 * format.
 *
 * @param file name of the file in messages
 * @throws UserError with the file and the line of the mistake
 */
export function readBudget(text: string, file: string): Budget {
  return new BudgetReader(text, file).read();
}

class BudgetReader {
  readonly #text: string;
  readonly #file: string;
  readonly #lines = new LineCounter();

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
  }

  read(): Budget {
    if (isTooDeep(this.#text)) throw new UserError(`${this.#file}: it is nested too deeply`);
    const document = parseDocument(this.#text, { lineCounter: this.#lines, stringKeys: true });
    const [error] = document.errors;
    if (error !== undefined)
      throw new UserError(`${this.#file}:${error.linePos?.[0].line ?? 1}: ${firstLine(error.message)}`);
    const { contents } = document;
    if (!isMap(contents))
      throw new UserError(`${this.#file}:1: a budget has ${KEYS.join(", ")}, each with a colon behind it`);
    const entries = this.#entries(contents as YAMLMap, KEYS);
    const limits = this.#limits(entries.get("limits"));
    if (limits.length === 0) throw new UserError(`${this.#file}:1: there are no limits in it`);
    const suppressions = this.#items(entries.get("suppressions"), "suppressions");
    return {
      limits,
      baseline: this.#optionalText(entries.get("baseline"), "baseline"),
      suppressions: suppressions.map((node) => this.#suppression(node)),
    };
  }

  #limits(node: Node | undefined): BudgetLimit[] {
    if (isMap(node))
      return (node as YAMLMap).items.map((pair) => {
        const [key, value] = this.#pair(pair);
        const amount = isScalar(value) ? value.value : undefined;
        if (typeof amount !== "string" && typeof amount !== "number")
          this.#fail(value ?? node, `${key} should have an amount, such as ${key}: 8 MiB`);
        return { limit: [key, amount], place: this.#placeOf(value ?? node) };
      });
    return this.#items(node, "limits").map((item): BudgetLimit => {
      const place = this.#placeOf(item);
      if (!isMap(item)) return { limit: this.#textOf(item, "a limit"), place };
      const entries = this.#entries(item as YAMLMap, LIMIT_KEYS);
      const limit = this.#optionalText(entries.get("limit"), "limit");
      if (limit === undefined) this.#fail(item, "a limit is missing, such as limit: peak<8MiB");
      return { limit, reason: this.#optionalText(entries.get("reason"), "reason"), place };
    });
  }

  #suppression(node: Node): BudgetSuppression {
    if (!isMap(node)) this.#fail(node, `a suppression has ${SUPPRESSION_KEYS.join(", ")}`);
    const entries = this.#entries(node as YAMLMap, SUPPRESSION_KEYS);
    const text = (key: string) => this.#optionalText(entries.get(key), key);
    const [from, leak, reason] = [text("from"), text("leak"), text("reason")];
    const filters = FILTER_KEYS.flatMap((key) => {
      const glob = text(key);
      return glob === undefined ? [] : [[key, glob] as const];
    });
    const places = filters.length === 0 ? undefined : Object.fromEntries(filters);
    const ways = [from, leak, places].filter((way) => way !== undefined).length;
    if (ways !== 1)
      this.#fail(node, `a suppression has one of from, leak, or places (${FILTER_KEYS.join(", ")})`);
    if (from === undefined && reason === undefined)
      this.#fail(node, "a suppression needs its reason, such as reason: a table for the life of the program");
    const measures = entries.get("measures");
    if (measures !== undefined && places === undefined)
      this.#fail(measures, `measures go with places (${FILTER_KEYS.join(", ")})`);
    return {
      from,
      leak,
      places,
      measures:
        measures === undefined
          ? undefined
          : isSeq(measures)
            ? this.#items(measures, "measures").map((item) => this.#textOf(item, "a measure"))
            : [this.#textOf(measures, "a measure")],
      reason,
      place: this.#placeOf(node),
    };
  }

  #entries(map: YAMLMap, keys: readonly string[]): Map<string, Node | undefined> {
    return new Map(
      map.items.map((pair) => {
        const [key, value] = this.#pair(pair);
        if (!keys.includes(key)) this.#fail(pair.key as Node, `"${key}" is none of ${keys.join(", ")}`);
        return [key, value];
      }),
    );
  }

  #pair({ key, value }: Pair): [string, Node | undefined] {
    return [String((key as { value?: unknown }).value), (value as Node | null) ?? undefined];
  }

  #items(node: Node | undefined, label: string): Node[] {
    if (node === undefined || (isScalar(node) && node.value === null)) return [];
    if (!isSeq(node)) this.#fail(node, `${label} should be a list`);
    return node.items as Node[];
  }

  #optionalText(node: Node | undefined, label: string): string | undefined {
    return node === undefined || (isScalar(node) && node.value === null)
      ? undefined
      : this.#textOf(node, label);
  }

  #textOf(node: Node, label: string): string {
    const value = isScalar(node) ? node.value : undefined;
    if (typeof value === "string" && value.trim() !== "") return value;
    return this.#fail(node, `${label} should be text`);
  }

  #placeOf(node: Node): string {
    const start = node.range?.[0] ?? 0;
    return `${this.#file}:${this.#lines.linePos(start).line}`;
  }

  #fail(node: Node, fault: string): never {
    throw new UserError(`${this.#placeOf(node)}: ${fault}`);
  }
}

function firstLine(message: string): string {
  return message.split("\n")[0]!.replace(/ at line \d+, column \d+:?$/, "");
}
