import type { ByteWriter } from "../../../ground/bytes/writer.ts";
import type { BlockWords, MemprofBlocks, ProfileView } from "../../model/memprof/index.ts";
import { MIB_FIELDS, type MibField } from "../../model/mib-fields.ts";
import { ENCODING, HISTOGRAM_TAG, totalOf } from "./layout.ts";
import type { VarintReader } from "./varint-reader.ts";

/** A column as the file's schema describes it. */
export interface StoredColumn {
  readonly tag: number;
  readonly encoding: number;
  /** Tag of the total whose mean the values are stored against. */
  readonly total: number;
  /** Undefined for fields that this reader does not know. */
  readonly field: MibField | undefined;
}

/** The blocks of a profile. */
export type BlocksView = Pick<ProfileView, "fields" | "field" | "hasHistograms" | "histogramOf">;

/** The fields whose values can be told from others, or mean nothing in a file. */
const LEFT_OUT: readonly MibField["name"][] = ["accessHistogramSize", "accessHistogram"];

/** Columns in file order. */
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

/** The blocks `first` to before `end`, column by column. */
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

/** Upper words below this make numbers that doubles hold exactly, twice them too. */
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

/** Reads a chunk of `count` blocks, of which it keeps the fields that are wanted. */
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
  // Totals may be differences themselves in files that others wrote: these count as what they were written as.
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

/** Turns differences into what they are differences of, modulo 2^64. */
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

/** Differences are taken modulo 2^64, so that any two values have one. */
function zigzag(value: bigint): bigint {
  const signed = BigInt.asIntN(64, value);
  return BigInt.asUintN(64, (signed << 1n) ^ (signed >> 63n));
}

function unzigzag(value: bigint): bigint {
  return (value >> 1n) ^ -(value & 1n);
}
