import { FormatError } from "../../../ground/bytes/errors.ts";
import { ByteReader } from "../../../ground/bytes/reader.ts";

/** What of a `profile.proto` a heap profile is made of. Ids are those of the file. */
export interface DecodedPprof {
  readonly sampleTypes: readonly { readonly type: string; readonly unit: string }[];
  readonly samples: readonly DecodedSample[];
  readonly locations: ReadonlyMap<bigint, DecodedLocation>;
  readonly functions: ReadonlyMap<bigint, DecodedFunction>;
  readonly mappings: ReadonlyMap<bigint, DecodedMapping>;
  readonly period: number;
  readonly comments: readonly string[];
  /** Regular expressions of names: viewers of pprof hide functions that the first fits and the second does not, with what they call. */
  readonly dropFrames: string;
  readonly keepFrames: string;
}

export interface DecodedSample {
  /** The leaf first. */
  readonly locations: readonly bigint[];
  readonly values: readonly bigint[];
  /** Numbers by their key. */
  readonly numbers: ReadonlyMap<string, bigint>;
  readonly offset: number;
}

export interface DecodedLocation {
  readonly mapping: bigint;
  readonly address: bigint;
  /** Innermost first. */
  readonly lines: readonly { readonly function: bigint; readonly line: number; readonly column: number }[];
}

export interface DecodedFunction {
  readonly name: string;
  readonly file: string;
}

export interface DecodedMapping {
  readonly start: bigint;
  readonly fileOffset: bigint;
  readonly file: string;
  readonly buildId: string;
}

const CONSTRUCT = "pprof profile";

type Value = { readonly number: bigint } | { readonly bytes: ByteReader };

/**
 * Decodes a profile that is not compressed.
 *
 * @throws FormatError with the offset of what is no part of one, or is cut off
 */
export function decodePprof(bytes: Uint8Array): DecodedPprof {
  const sampleTypes: [number, number][] = [];
  const samples: { fields: Fields; offset: number }[] = [];
  const locations: Fields[] = [];
  const functions: Fields[] = [];
  const mappings: Fields[] = [];
  const strings: string[] = [];
  const comments: number[] = [];
  let period = 0;
  let [dropFrames, keepFrames] = [0, 0];
  const utf8 = new TextDecoder();
  for (const { field, value, offset } of fieldsOf(new ByteReader(bytes)))
    if (field === 1) {
      const fields = messageOf(value, offset);
      sampleTypes.push([indexOf(fields, 1), indexOf(fields, 2)]);
    } else if (field === 2) samples.push({ fields: messageOf(value, offset), offset });
    else if (field === 3) mappings.push(messageOf(value, offset));
    else if (field === 4) locations.push(messageOf(value, offset));
    else if (field === 5) functions.push(messageOf(value, offset));
    else if (field === 6) strings.push(utf8.decode(viewOf(bytesOf(value, offset))));
    else if (field === 7) dropFrames = Number(numberOf(value, offset));
    else if (field === 8) keepFrames = Number(numberOf(value, offset));
    else if (field === 12) period = Number(signed(numberOf(value, offset)));
    else if (field === 13) for (const comment of numbersOf([value])) comments.push(Number(comment));
  if (strings[0] !== "" || sampleTypes.length === 0)
    throw new FormatError("malformed", 0, CONSTRUCT, "it has no table of strings, or no types of values");
  const text = (index: number): string => {
    const found = strings[index];
    if (found === undefined)
      throw new FormatError("malformed", 0, CONSTRUCT, `string ${index} of ${strings.length} is named`);
    return found;
  };
  return {
    sampleTypes: sampleTypes.map(([type, unit]) => ({ type: text(type), unit: text(unit) })),
    samples: samples.map(({ fields, offset }) => sampleOf(fields, offset, sampleTypes.length, text)),
    mappings: byId(mappings, (fields) => ({
      start: numberIn(fields, 2),
      fileOffset: numberIn(fields, 4),
      file: text(indexOf(fields, 5)),
      buildId: text(indexOf(fields, 6)),
    })),
    locations: byId(locations, (fields) => ({
      mapping: numberIn(fields, 2),
      address: numberIn(fields, 3),
      lines: (fields.get(4) ?? []).map((value) => {
        const line = messageOf(value, 0);
        return { function: numberIn(line, 1), line: indexOf(line, 2), column: indexOf(line, 3) };
      }),
    })),
    functions: byId(functions, (fields) => ({
      name: text(indexOf(fields, 2)) || text(indexOf(fields, 3)),
      file: text(indexOf(fields, 4)),
    })),
    period,
    comments: comments.map(text),
    dropFrames: text(dropFrames),
    keepFrames: text(keepFrames),
  };
}

type Fields = ReadonlyMap<number, readonly Value[]>;

function sampleOf(
  fields: Fields,
  offset: number,
  types: number,
  text: (index: number) => string,
): DecodedSample {
  const values = numbersOf(fields.get(2) ?? []).map(signed);
  if (values.length !== types)
    throw new FormatError(
      "malformed",
      offset,
      "sample",
      `it has ${values.length} values, and there are ${types} types`,
    );
  const labels = (fields.get(3) ?? []).map((value) => messageOf(value, offset));
  return {
    locations: numbersOf(fields.get(1) ?? []),
    values,
    numbers: new Map(labels.map((label) => [text(indexOf(label, 1)), signed(numberIn(label, 3))])),
    offset,
  };
}

function byId<T>(rows: readonly Fields[], make: (fields: Fields) => T): Map<bigint, T> {
  return new Map(rows.map((fields) => [numberIn(fields, 1), make(fields)]));
}

/** The fields of a message, repeated ones in their order. */
function messageOf(value: Value, offset: number): Fields {
  const fields = new Map<number, Value[]>();
  for (const { field, value: part } of fieldsOf(bytesOf(value, offset))) {
    const known = fields.get(field);
    if (known === undefined) fields.set(field, [part]);
    else known.push(part);
  }
  return fields;
}

function* fieldsOf(reader: ByteReader): Generator<{ field: number; value: Value; offset: number }> {
  while (!reader.atEnd) {
    const offset = reader.position;
    const tag = varint(reader);
    const field = Number(tag >> 3n);
    if (field === 0) throw new FormatError("malformed", offset, CONSTRUCT, "a field has the number 0");
    const wire = Number(tag & 7n);
    if (wire === 0) yield { field, value: { number: varint(reader) }, offset };
    else if (wire === 2) {
      const length = varint(reader);
      if (length > BigInt(reader.remaining))
        throw new FormatError(
          "truncated",
          offset,
          CONSTRUCT,
          `a field of ${length} bytes begins, ${reader.remaining} are left`,
        );
      const start = reader.skip(Number(length));
      yield { field, value: { bytes: new ByteReader(reader.bytes, start, start + Number(length)) }, offset };
    } else if (wire === 1 || wire === 5) {
      reader.skip(wire === 1 ? 8 : 4, CONSTRUCT);
    } else throw new FormatError("malformed", offset, CONSTRUCT, `a field has the wire type ${wire}`);
  }
}

/** Of at most ten bytes, as protocol buffers have them. */
function varint(reader: ByteReader): bigint {
  const start = reader.position;
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = reader.u8(CONSTRUCT);
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return BigInt.asUintN(64, value);
  }
  throw new FormatError("malformed", start, CONSTRUCT, "a number has more than ten bytes");
}

function numberOf(value: Value, offset: number): bigint {
  if ("number" in value) return value.number;
  throw new FormatError("malformed", offset, CONSTRUCT, "a number is expected");
}

function bytesOf(value: Value, offset: number): ByteReader {
  if ("bytes" in value) return value.bytes;
  throw new FormatError("malformed", offset, CONSTRUCT, "a message or text is expected");
}

function viewOf({ bytes, position, end }: ByteReader): Uint8Array {
  return bytes.subarray(position, end);
}

/** Repeated numbers, packed or not. */
function numbersOf(values: readonly Value[]): bigint[] {
  return values.flatMap((value) => {
    if ("number" in value) return [value.number];
    const { bytes, position, end } = value.bytes;
    const reader = new ByteReader(bytes, position, end);
    const numbers: bigint[] = [];
    while (!reader.atEnd) numbers.push(varint(reader));
    return numbers;
  });
}

function numberIn(fields: Fields, field: number): bigint {
  const value = fields.get(field)?.at(-1);
  return value === undefined ? 0n : numberOf(value, 0);
}

/** A number that is small where the file is right: an index, a line. */
function indexOf(fields: Fields, field: number): number {
  const value = signed(numberIn(fields, field));
  return value < 0n || value > 0xffff_ffffn ? 0 : Number(value);
}

function signed(value: bigint): bigint {
  return BigInt.asIntN(64, value);
}
