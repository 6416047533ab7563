import type { ByteWriter } from "../../../ground/bytes/writer.ts";
import {
  type BlockWords,
  framesOf,
  type MemprofBlocks,
  type MemprofFrame,
  type MemprofFrames,
  type MemprofProfile,
  type MemprofStacks,
  type ProfileView,
} from "../../model/memprof/index.ts";
import { MIB_FIELDS, type MibField } from "../../model/mib-fields.ts";
import { functionGuid } from "../memprof/guid.ts";
import { ENCODING, HISTOGRAM_TAG, PIECE_BYTES, totalOf } from "./layout.ts";
import type { RecordPlace } from "./record-chunks.ts";
import type { ProfileOrigin } from "./types.ts";
import type { VarintReader } from "./varint-reader.ts";

interface StoredColumn {
  readonly tag: number;
  readonly encoding: number;
  /** Tag of the total whose mean the values are stored against. */
  readonly total: number;
  /** Field of the column; undefined if this reader does not support it. */
  readonly field: MibField | undefined;
}

export type BlocksView = Pick<ProfileView, "fields" | "field" | "hasHistograms" | "histogramOf">;

/** Fields that are derived from other values, or are meaningless in a file. */
const LEFT_OUT: readonly MibField["name"][] = ["accessHistogramSize", "accessHistogram"];

function schemaOf({ fields, hasHistograms }: BlocksView): StoredColumn[] {
  const columns: StoredColumn[] = [];
  const knows = (field: MibField | undefined) => field !== undefined && fields.includes(field);
  const canDivide = knows(MIB_FIELDS[0]);
  for (const field of fields) {
    if (LEFT_OUT.includes(field.name)) continue;
    const total = totalOf(field);
    const isFromMean = canDivide && knows(total);
    columns.push({
      tag: field.tag,
      encoding: isFromMean ? ENCODING.fromMean : ENCODING.plain,
      total: isFromMean ? total!.tag : 0,
      field,
    });
  }
  if (hasHistograms)
    columns.push({ tag: HISTOGRAM_TAG, encoding: ENCODING.list, total: 0, field: undefined });
  return columns;
}

export function writeSchema(writer: ByteWriter, profile: BlocksView & { readonly blockCount: number }): void {
  const columns = schemaOf(profile);
  writer.u32Leb(profile.blockCount).u32Leb(columns.length);
  for (const { tag, encoding, total } of columns) {
    writer.u32Leb(tag).u32Leb(encoding);
    if (encoding === ENCODING.fromMean) writer.u32Leb(total);
  }
}

export interface StoredSchema {
  readonly contexts: number;
  readonly columns: readonly StoredColumn[];
}

export function readSchema(reader: VarintReader): StoredSchema {
  const contexts = reader.number("number of contexts");
  const count = reader.count(2, "columns");
  const columns = Array.from({ length: count }, () => {
    const tag = reader.number("tag");
    const encoding = reader.number("encoding");
    if (encoding > ENCODING.list) throw reader.error(`encoding ${encoding} of field ${tag} is not known`);
    const total = encoding === ENCODING.fromMean ? reader.number("total") : 0;
    return { tag, encoding, total, field: MIB_FIELDS.find((field) => field.tag === tag) };
  });
  return { contexts, columns };
}

export function writeContexts(writer: ByteWriter, profile: BlocksView, first: number, end: number): void {
  const counts = profile.field(MIB_FIELDS[0]!);
  for (const { encoding, total, field } of schemaOf(profile)) {
    if (encoding === ENCODING.list) {
      for (let block = first; block < end; block++) {
        const histogram = profile.histogramOf(block) ?? [];
        writer.u32Leb(histogram.length);
        for (const value of histogram) writer.u64Leb(value);
      }
      continue;
    }
    const words = profile.field(field!)!;
    if (encoding === ENCODING.plain) {
      for (let block = first; block < end; block++) writer.wordsLeb(words.low(block), words.high(block));
      continue;
    }
    const totals = profile.field(MIB_FIELDS.find(({ tag }) => tag === total)!)!;
    for (let block = first; block < end; block++)
      writeFromMean(writer, words, totals, counts!.low(block), block);
  }
}

/**
 * Least upper word of a u64 for which doubles may be inexact: below it a double holds the value, and twice the value,
 * exactly.
 */
const LEAST_WIDE_HIGH = 2 ** 19;

function writeFromMean(
  writer: ByteWriter,
  words: BlockWords,
  totals: BlockWords,
  count: number,
  block: number,
): void {
  const [low, high] = [words.low(block), words.high(block)];
  const [totalLow, totalHigh] = [totals.low(block), totals.high(block)];
  if (high >= LEAST_WIDE_HIGH || totalHigh >= LEAST_WIDE_HIGH) {
    writer.u64Leb(zigzag(wideOf(low, high) - meanOf(wideOf(totalLow, totalHigh), BigInt(count))));
    return;
  }
  const mean = count === 0 ? 0 : Math.floor((totalHigh * 2 ** 32 + totalLow) / count);
  const difference = high * 2 ** 32 + low - mean;
  const folded = difference < 0 ? -2 * difference - 1 : 2 * difference;
  writer.wordsLeb(folded >>> 0, Math.floor(folded / 2 ** 32));
}

function wideOf(low: number, high: number): bigint {
  return (BigInt(high) << 32n) | BigInt(low);
}

export function readContexts(
  reader: VarintReader,
  columns: readonly StoredColumn[],
  count: number,
  fields: readonly MibField[],
): MemprofBlocks {
  const histograms = new Map<number, BigUint64Array>();
  const words = new Map<number, Uint32Array<ArrayBuffer>>();
  const delayed: StoredColumn[] = [];
  for (const column of columns) {
    if (column.encoding === ENCODING.list) {
      readLists(reader, count, column.tag === HISTOGRAM_TAG ? histograms : undefined);
      continue;
    }
    const read = new Uint32Array(2 * count);
    for (let at = 0; at < 2 * count; at += 2) {
      reader.words();
      read[at] = reader.low;
      read[at + 1] = reader.high;
    }
    if (column.field === undefined) continue;
    words.set(column.tag, read);
    if (column.encoding === ENCODING.fromMean) delayed.push(column);
  }
  // A total may itself be a stored difference in files of other writers. Means are computed from plain columns only.
  const plain = new Map(words);
  for (const { tag } of delayed) plain.delete(tag);
  for (const { tag, total } of delayed) {
    const counts = plain.get(1);
    const totals = plain.get(total);
    if (counts === undefined || totals === undefined)
      throw reader.error(`field ${tag} depends on a total that is not there`);
    addMeans(words.get(tag)!, totals, counts);
  }
  const sizes = Uint32Array.from({ length: count }, (_, row) => histograms.get(row)?.length ?? 0);
  return {
    length: count,
    fields,
    columns: fields.map(({ tag, name, bytes }) => {
      if (name === "accessHistogramSize") return sizes;
      const read = words.get(tag) ?? new Uint32Array(2 * count);
      return bytes === 8 ? new BigUint64Array(read.buffer) : read.filter((_, at) => at % 2 === 0);
    }),
    histograms,
  };
}

function readLists(
  reader: VarintReader,
  count: number,
  histograms: Map<number, BigUint64Array> | undefined,
): void {
  for (let row = 0; row < count; row++) {
    const length = reader.count(1, "entries");
    const list = BigUint64Array.from({ length }, () => reader.wide());
    if (length > 0) histograms?.set(row, list);
  }
}

/** Adds the means to the stored differences, modulo 2^64. */
function addMeans(values: Uint32Array, totals: Uint32Array, counts: Uint32Array): void {
  for (let at = 0; at < values.length; at += 2) {
    const [low, high] = [values[at]!, values[at + 1]!];
    const [totalLow, totalHigh] = [totals[at]!, totals[at + 1]!];
    const count = counts[at]! + counts[at + 1]! * 2 ** 32;
    if (high < LEAST_WIDE_HIGH && totalHigh < LEAST_WIDE_HIGH && counts[at + 1] === 0) {
      const folded = high * 2 ** 32 + low;
      const mean = count === 0 ? 0 : Math.floor((totalHigh * 2 ** 32 + totalLow) / count);
      const value = mean + (folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2);
      if (value >= 0) {
        values[at] = value >>> 0;
        values[at + 1] = Math.floor(value / 2 ** 32);
        continue;
      }
    }
    const mean = meanOf(wideOf(totalLow, totalHigh), wideOf(counts[at]!, counts[at + 1]!));
    const value = BigInt.asUintN(64, unzigzag(wideOf(low, high)) + mean);
    values[at] = Number(value & 0xffffffffn);
    values[at + 1] = Number(value >> 32n);
  }
}

function meanOf(total: bigint, count: bigint): bigint {
  return count === 0n ? 0n : total / count;
}

/** Encodes a difference, taken modulo 2^64 so that any two values have one. */
function zigzag(value: bigint): bigint {
  const signed = BigInt.asIntN(64, value);
  return BigInt.asUintN(64, (signed << 1n) ^ (signed >> 63n));
}

function unzigzag(value: bigint): bigint {
  return (value >> 1n) ^ -(value & 1n);
}

const NOT_KNOWN = 0;

export interface TablesSource {
  readonly frames: MemprofFrames;
  /** Number of stacks, without the empty one. */
  readonly stackCount: number;
  /** Writes all stacks. Yields whenever the writer holds enough to be passed on. */
  writeStacks(writer: ByteWriter): Iterable<void>;
  readonly recordCount: number;
}

/**
 * Writes strings, paths, functions, stack entries, stacks, the index of the records, and the profile's origin. Yields
 * whenever the writer holds enough to be passed on.
 */
export function* writeTables(
  writer: ByteWriter,
  profile: TablesSource,
  origin: ProfileOrigin,
  places: Iterable<RecordPlace>,
): Generator<void, void, undefined> {
  writeStackEntries(writer, profile);
  writer.u32Leb(profile.stackCount);
  yield* profile.writeStacks(writer);
  writer.u32Leb(profile.recordCount);
  let lastGuid = 0n;
  for (const { guid, chunk, offset } of places) {
    writer
      .u64Leb(guid - lastGuid)
      .u32Leb(chunk)
      .u32Leb(offset);
    lastGuid = guid;
    if (writer.length >= PIECE_BYTES) yield;
  }
  writer.u32Leb(origin.inputs).u32Leb(origin.binaries.length);
  for (const { buildId, name } of origin.binaries) writer.name(buildId).name(name);
  writer.u32Leb(origin.unmatched.length);
  for (const buildId of origin.unmatched) writer.name(buildId);
}

function writeStackEntries(writer: ByteWriter, { frames }: TablesSource): void {
  const source = frames.source;
  const nameOf = (frame: number) => source?.strings[source.name[frame]!];
  const fileOf = (frame: number) => source?.strings[source.file[frame]!];
  const rows = Array.from({ length: frames.length }, (_, frame) => frame);
  const paths = new PathTree(new Set(rows.map(fileOf).filter((file) => file !== undefined)));
  const strings = [
    ...new Set([...rows.map(nameOf).filter((name) => name !== undefined), ...paths.parts()]),
  ].sort(compare);
  const stringIndex = new Map(strings.map((text, index) => [text, index]));
  writeStrings(writer, strings);
  paths.write(writer, stringIndex);
  const functionKeys = rows.map((frame) => nameOf(frame) ?? frames.guid[frame]!);
  const functions = [...new Set(functionKeys)];
  const functionIndex = new Map(functions.map((key, index) => [key, index]));
  writer.u32Leb(functions.length);
  for (const key of functions)
    if (typeof key === "string") writer.u32Leb(stringIndex.get(key)! + 1);
    else writer.u32Leb(NOT_KNOWN).u64Leb(key);
  writer.u32Leb(frames.length);
  for (const frame of rows) {
    const file = fileOf(frame);
    writer.u32Leb(functionIndex.get(functionKeys[frame]!)!);
    writer.u32Leb(file === undefined ? NOT_KNOWN : paths.indexOf(file) + 1);
    writer.u32Leb(source?.line[frame] ?? 0).s32Leb(frames.lineOffset[frame]! | 0);
    writer.u64Leb(frames.column[frame]! * 2 + frames.inline[frame]!);
    writer.u32Leb(source?.discriminator[frame] ?? 0);
  }
}

export interface StoredTables {
  readonly frames: MemprofProfile["frames"];
  readonly stacks: MemprofStacks;
  readonly places: readonly RecordPlace[];
  readonly origin: ProfileOrigin;
}

export function readTables(reader: VarintReader): StoredTables {
  const strings = readStrings(reader);
  const paths = readPaths(reader, strings);
  const functions = Array.from({ length: reader.count(1, "functions") }, () => {
    const name = reader.index(strings.length + 1, "name");
    if (name === NOT_KNOWN) return { guid: reader.wide(), name: undefined };
    return { guid: functionGuid(strings[name - 1]!), name: strings[name - 1]! };
  });
  const frames = Array.from({ length: reader.count(6, "stack entries") }, (): MemprofFrame => {
    const { guid, name } = functions[reader.index(functions.length, "function")]!;
    const file = reader.index(paths.length + 1, "path");
    const line = reader.index(2 ** 32, "line");
    const lineOffset = reader.signed("line offset") >>> 0;
    const columnAndInline = reader.index(2 ** 33, "column");
    return {
      guid,
      name,
      file: file === NOT_KNOWN ? undefined : paths[file - 1]!,
      line,
      lineOffset,
      column: Math.floor(columnAndInline / 2),
      inline: columnAndInline % 2 === 1,
      discriminator: reader.index(2 ** 32, "discriminator"),
    };
  });
  const stacks = readStacks(reader, frames.length);
  let guid = 0n;
  const places = Array.from({ length: reader.count(3, "functions with records") }, () => {
    guid = BigInt.asUintN(64, guid + reader.wide());
    return { guid, chunk: reader.number("chunk"), offset: reader.number("offset") };
  });
  return { frames: framesOf(frames, true), stacks, places, origin: readOrigin(reader) };
}

function readOrigin(reader: VarintReader): ProfileOrigin {
  const decoder = new TextDecoder();
  const text = () => decoder.decode(reader.take(reader.count(1, "bytes")));
  return {
    inputs: reader.number("number of inputs"),
    binaries: Array.from({ length: reader.count(2, "binaries") }, () => ({ buildId: text(), name: text() })),
    unmatched: Array.from({ length: reader.count(1, "build ids") }, text),
  };
}

function readStacks(reader: VarintReader, frameCount: number): MemprofStacks {
  const length = reader.count(2, "stacks") + 1;
  const parent = new Uint32Array(length);
  const frame = new Uint32Array(length);
  frame[0] = 0xffffffff;
  for (let stack = 1; stack < length; stack++) {
    const distance = reader.number("caller");
    if (distance === 0 || distance > stack) throw reader.error(`stack ${stack} is called by none before it`);
    parent[stack] = stack - distance;
    frame[stack] = reader.index(frameCount, "stack entry");
  }
  return { length, parent, frame };
}

/** Writes sorted strings, each as the length of its common prefix with the previous one, and the rest. */
function writeStrings(writer: ByteWriter, strings: readonly string[]): void {
  const encoder = new TextEncoder();
  writer.u32Leb(strings.length);
  let last = new Uint8Array(0);
  for (const text of strings) {
    const bytes = encoder.encode(text);
    let shared = 0;
    while (shared < last.length && shared < bytes.length && last[shared] === bytes[shared]) shared++;
    writer.u32Leb(shared).vector(bytes.subarray(shared));
    last = bytes;
  }
}

/** Bound on the total size of all strings, relative to the bytes that store them. */
const MOST_EXPANSION = 1000;

function readStrings(reader: VarintReader): string[] {
  const decoder = new TextDecoder();
  let budget = reader.remaining * MOST_EXPANSION;
  let last = new Uint8Array(0);
  return Array.from({ length: reader.count(2, "strings") }, () => {
    const shared = reader.index(last.length + 1, "shared bytes");
    const rest = reader.take(reader.count(1, "bytes"));
    const bytes = new Uint8Array(shared + rest.length);
    bytes.set(last.subarray(0, shared));
    bytes.set(rest, shared);
    budget -= bytes.length;
    if (budget < 0) throw reader.error("the strings repeat each other too often");
    last = bytes;
    return decoder.decode(bytes);
  });
}

/** Paths as a tree of their parts: `a/b/c.h` is `c.h` in `b` in `a`. */
class PathTree {
  readonly #nodes: { parent: number; part: string }[] = [];
  readonly #indices = new Map<string, number>();

  constructor(paths: ReadonlySet<string>) {
    for (const path of [...paths].sort(compare)) this.#add(path);
  }

  parts(): string[] {
    return this.#nodes.map(({ part }) => part);
  }

  indexOf(path: string): number {
    return this.#indices.get(path)!;
  }

  write(writer: ByteWriter, stringIndex: ReadonlyMap<string, number>): void {
    writer.u32Leb(this.#nodes.length);
    for (const { parent, part } of this.#nodes) writer.u32Leb(parent + 1).u32Leb(stringIndex.get(part)!);
  }

  #add(path: string): number {
    const existing = this.#indices.get(path);
    if (existing !== undefined) return existing;
    const slash = path.lastIndexOf("/");
    const parent = slash < 0 ? -1 : this.#add(path.slice(0, slash));
    const index = this.#nodes.push({ parent, part: path.slice(slash + 1) }) - 1;
    this.#indices.set(path, index);
    return index;
  }
}

function readPaths(reader: VarintReader, strings: readonly string[]): string[] {
  const paths: string[] = [];
  let budget = reader.remaining * MOST_EXPANSION;
  const count = reader.count(2, "paths");
  for (let index = 0; index < count; index++) {
    const parent = reader.index(index + 1, "folder");
    const part = strings[reader.index(strings.length, "name of a path")]!;
    const path = parent === 0 ? part : `${paths[parent - 1]}/${part}`;
    budget -= path.length;
    if (budget < 0) throw reader.error("the paths repeat each other too often");
    paths.push(path);
  }
  return paths;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
