import {
  type MemprofFrame,
  type UnresolvedPlace,
  unresolvedName,
  unresolvedPlace,
} from "../../../model/memprof/index.ts";
import { functionGuid } from "../../memprof/guid.ts";
import { COLUMN } from "./columns.ts";
import type { SymbolCoder } from "./symbol-coder.ts";
import { TEXT, type TextHistory } from "./text-coder.ts";

const NO_FILE = 0;

/** What is known of a function: its name and, of the frame seen last, where it stands. */
interface KnownFunction {
  readonly name: string;
  readonly guid: bigint;
  /** By number; 0 where there is none. */
  file: number;
  startLine: number;
  lineOffset: number;
}

/** Codes frames that are new. */
export class FrameCoder {
  private readonly coder: SymbolCoder;
  private readonly texts: TextHistory;
  private readonly buildIds: readonly string[];
  private readonly functions: KnownFunction[] = [];
  private readonly functionsByName = new Map<string, number>();
  /** By frame: its function, or -1 for places in modules. */
  private readonly functionOf: number[] = [];
  /** File 0 is none. */
  private readonly files: string[] = [""];
  private readonly filesByName = new Map<string, number>();
  /** By file: the first line of the function seen last. */
  private readonly lastLine: number[] = [0];
  private lastFile = 0;
  private lastModule = 0;
  private lastColumn = 0;
  private lastInline = 0;
  private wasKnown = 0;

  constructor(coder: SymbolCoder, texts: TextHistory, buildIds: readonly string[]) {
    this.coder = coder;
    this.texts = texts;
    this.buildIds = buildIds;
  }

  /**
   * @param caller place of the frame that calls it
   * @param depth number of frames around it
   * @param left number of frames of the stack from it on
   */
  frame(
    given: MemprofFrame | undefined,
    caller: number | undefined,
    depth: number,
    left: number,
  ): MemprofFrame {
    const { coder, buildIds, functions } = this;
    const place = unresolvedPlace(given?.name);
    const isPlace = place !== undefined && buildIds.includes(place.buildId);
    if (coder.number(COLUMN.isPlace, depth, left, isPlace ? 1 : 0) === 1 && buildIds.length > 0) {
      this.functionOf.push(-1);
      return this.place(place, left);
    }
    const known = this.functionsByName.get(given?.name ?? "");
    const isNew = coder.number(COLUMN.isNewFunction, this.wasKnown, left, known === undefined ? 1 : 0);
    this.wasKnown = 1 - isNew;
    if (isNew === 1 || functions.length === 0) return this.ofNewFunction(given);
    const calling = (this.functionOf[caller ?? -1] ?? -1) + 1;
    const back = coder.number(COLUMN.knownFunction, calling, left, functions.length - 1 - (known ?? 0));
    const number = Math.max(0, functions.length - 1 - back);
    this.functionOf.push(number);
    return this.ofKnownFunction(given, functions[number]!, number);
  }

  private place(given: UnresolvedPlace | undefined, left: number): MemprofFrame {
    const { coder, buildIds } = this;
    const number = given === undefined ? 0 : buildIds.indexOf(given.buildId);
    const module = coder.number(COLUMN.module, left, this.lastModule, number);
    this.lastModule = module;
    const offset = coder.number(COLUMN.offset, 0, 0, given?.offset ?? 0);
    const name = unresolvedName({ buildId: buildIds[module] ?? "", offset });
    return {
      guid: functionGuid(name),
      name,
      file: undefined,
      line: 0,
      lineOffset: 0,
      column: 0,
      inline: false,
      discriminator: 0,
    };
  }

  private ofNewFunction(given: MemprofFrame | undefined): MemprofFrame {
    const { coder, functions } = this;
    const name = this.texts.text(coder, TEXT.name, given?.name ?? "");
    const number = functions.length;
    this.functionOf.push(number);
    this.functionsByName.set(name, number);
    const file = this.file(given, 0, this.lastFile);
    const start = this.near(COLUMN.startLine, file, 0, startOf(given), this.lastLine[file]!);
    const lineOffset = this.near(COLUMN.lineOffset, this.lastInline, 0, given?.lineOffset ?? 0, 0);
    const known = { name, guid: functionGuid(name), file, startLine: start, lineOffset };
    functions.push(known);
    return this.rest(given, known, number);
  }

  private ofKnownFunction(
    given: MemprofFrame | undefined,
    known: KnownFunction,
    number: number,
  ): MemprofFrame {
    known.file = this.file(given, 1, known.file);
    known.startLine = this.near(COLUMN.startLineAgain, 0, 0, startOf(given), known.startLine);
    known.lineOffset = this.near(COLUMN.lineOffsetAgain, number, 0, given?.lineOffset ?? 0, known.lineOffset);
    return this.rest(given, known, number);
  }

  private rest(given: MemprofFrame | undefined, known: KnownFunction, number: number): MemprofFrame {
    const { coder } = this;
    const { name, guid, file, startLine, lineOffset } = known;
    this.lastLine[file] = startLine;
    this.lastFile = file;
    const column = coder.number(COLUMN.column, this.lastColumn, file, given?.column ?? 0);
    this.lastColumn = column;
    const inline = coder.number(COLUMN.isInline, this.lastInline, number, given?.inline === true ? 1 : 0);
    this.lastInline = inline;
    const discriminator = coder.number(COLUMN.discriminator, 0, 0, given?.discriminator ?? 0);
    return {
      guid,
      name,
      file: file === NO_FILE ? undefined : this.files[file]!,
      line: (startLine + lineOffset) >>> 0,
      lineOffset,
      column: column >>> 0,
      inline: inline === 1,
      discriminator: discriminator >>> 0,
    };
  }

  /** A file's number, which is mostly the one that is expected. */
  private file(given: MemprofFrame | undefined, isKnown: number, expected: number): number {
    const { coder, files, filesByName } = this;
    const name = given?.file;
    const known = name === undefined ? NO_FILE : (filesByName.get(name) ?? files.length);
    const isOther = coder.number(COLUMN.isOtherFile, isKnown, this.lastInline, known === expected ? 0 : 1);
    if (isOther === 0) return expected;
    const number = Math.min(files.length, coder.number(COLUMN.file, this.lastFile, files.length, known));
    if (number < files.length) return number;
    const text = this.texts.text(coder, TEXT.file, name ?? "");
    filesByName.set(text, number);
    files.push(text);
    this.lastLine.push(0);
    return number;
  }

  /** A number of 32 bits, as its difference to what is expected. */
  private near(column: number, x: number, y: number, value: number, expected: number): number {
    const difference = (value - expected) | 0;
    const folded = ((difference << 1) ^ (difference >> 31)) >>> 0;
    const coded = this.coder.number(column, x, y, folded) >>> 0;
    return (expected + ((coded >>> 1) ^ -(coded & 1))) >>> 0;
  }
}

/** The first line of a frame's function, modulo 2^32. */
function startOf(frame: MemprofFrame | undefined): number {
  return frame === undefined ? 0 : ((frame.line ?? 0) - frame.lineOffset) >>> 0;
}
