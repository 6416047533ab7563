import { NONE } from "../../model/indices.ts";
import type { SampleFrame, SampleProfile } from "../../model/sample-profile.ts";
import { jsonArray, jsonObject } from "../json-pieces.ts";

/** Rows of a table, written column by column. */
class Table {
  readonly #columns: Record<string, unknown[]>;

  constructor(columns: readonly string[]) {
    this.#columns = Object.fromEntries(columns.map((column) => [column, []]));
  }

  get length(): number {
    return Object.values(this.#columns)[0]!.length;
  }

  add(row: Record<string, unknown>): number {
    for (const [name, column] of Object.entries(this.#columns)) column.push(row[name] ?? null);
    return this.length - 1;
  }

  *write(): Generator<string> {
    const columns = Object.entries(this.#columns).map(([name, values]) => [name, jsonArray(values)]);
    yield* jsonObject({ ...Object.fromEntries(columns), length: this.length });
  }
}

/** `meta.categories`: the first one has to be there and grey. */
export const CATEGORIES = [
  { name: "Other", color: "grey" },
  { name: "User", color: "yellow" },
  { name: "JavaScript", color: "orange" },
  { name: "Library", color: "lightblue" },
] as const;

function categoryOf({ language, library }: SampleFrame): number {
  const name = library !== undefined ? "Library" : (language ?? "User");
  return CATEGORIES.findIndex((category) => category.name === name);
}

/** The tables that all threads share, in the shape of processed version 70. */
export class SharedTables {
  readonly #profile: SampleProfile;
  readonly #strings: string[] = [];
  readonly #stringIndex = new Map<string, number>();
  readonly #functions = new Table([
    "name",
    "isJS",
    "relevantForJS",
    "resource",
    "source",
    "lineNumber",
    "columnNumber",
    "originalLocation",
  ]);
  readonly #functionIndex = new Map<string, number>();
  readonly #sources = new Table(["id", "filename", "startLine", "startColumn", "sourceMapURL", "content"]);
  readonly #sourceIndex = new Map<string, number>();
  readonly #frames = new Table([
    "address",
    "lib",
    "inlineDepth",
    "category",
    "subcategory",
    "func",
    "nativeSymbol",
    "innerWindowID",
    "line",
    "column",
    "originalLocation",
  ]);
  /** Row of a frame at an inline depth; the same function can be inlined at several depths. */
  readonly #frameIndex = new Map<string, number>();
  readonly #stackFrame: number[] = [];
  readonly #prefixOffset: number[] = [];

  constructor(profile: SampleProfile) {
    this.#profile = profile;
    const depths: number[] = [];
    profile.stackPrefix.forEach((prefix, stack) => {
      const frame = profile.stackFrame[stack]!;
      const isInlined = profile.frames[frame]!.inlined === true && prefix !== NONE;
      depths.push(isInlined ? depths[prefix]! + 1 : 0);
      this.#stackFrame.push(this.#frame(frame, depths[stack]!));
      this.#prefixOffset.push(prefix === NONE ? 0 : stack - prefix);
    });
  }

  string(text: string): number {
    let index = this.#stringIndex.get(text);
    if (index === undefined) {
      index = this.#strings.push(text) - 1;
      this.#stringIndex.set(text, index);
    }
    return index;
  }

  write(): Generator<string> {
    return jsonObject({
      stackTable: jsonObject({
        frame: jsonArray(this.#stackFrame),
        prefixOffset: jsonArray(this.#prefixOffset),
        length: this.#stackFrame.length,
      }),
      frameTable: this.#frames.write(),
      funcTable: this.#functions.write(),
      resourceTable: { length: 0, name: [], host: [], type: [] },
      nativeSymbols: { length: 0, libIndex: [], address: [], name: [], functionSize: [] },
      sources: this.#sources.write(),
      sourceLocationTable: { length: 0, source: [], line: [], column: [] },
      stringArray: jsonArray(this.#strings),
    });
  }

  #frame(index: number, inlineDepth: number): number {
    const key = `${index} ${inlineDepth}`;
    const known = this.#frameIndex.get(key);
    if (known !== undefined) return known;
    const frame = this.#profile.frames[index]!;
    const row = this.#frames.add({
      address: frame.address ?? -1,
      lib: frame.module ?? -1,
      inlineDepth,
      category: categoryOf(frame),
      subcategory: 0,
      innerWindowID: 0,
      func: this.#function(frame),
      line: frame.line || null,
      column: frame.column || null,
    });
    this.#frameIndex.set(key, row);
    return row;
  }

  #function({ function: name, file, startLine, language }: SampleFrame): number {
    const key = JSON.stringify([name, file, startLine, language]);
    const known = this.#functionIndex.get(key);
    if (known !== undefined) return known;
    const row = this.#functions.add({
      name: this.string(name),
      isJS: language === "JavaScript",
      relevantForJS: false,
      resource: -1,
      source: file === undefined ? null : this.#source(file),
      lineNumber: startLine || null,
    });
    this.#functionIndex.set(key, row);
    return row;
  }

  #source(file: string): number {
    const known = this.#sourceIndex.get(file);
    if (known !== undefined) return known;
    const row = this.#sources.add({ filename: this.string(file), startLine: 1, startColumn: 1 });
    this.#sourceIndex.set(file, row);
    return row;
  }
}
