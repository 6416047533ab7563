import { printableHtml } from "../../../../profile/model/printable.ts";
import type { ColumnReference, ColumnType, TypedColumn } from "./columns.ts";
import type { PageData } from "./page-data.ts";

/**
 * Encodes page data as text that may stand in any element: base64 of deflate-raw of a header (length of the
 * JSON as u32, JSON) and the columns after it.
 */
export async function encodePage(data: PageData): Promise<string> {
  return base64(await deflated(packed(data)));
}

export function packed(data: PageData): Uint8Array<ArrayBuffer> {
  const columns = new ByteList();
  const json = new TextEncoder().encode(JSON.stringify(withReferences(data, columns)));
  const bytes = new Uint8Array(4 + json.length + columns.length);
  new DataView(bytes.buffer).setUint32(0, json.length, true);
  bytes.set(json, 4);
  bytes.set(columns.bytes(), 4 + json.length);
  return bytes;
}

/** Copies a value; typed arrays move to the columns. */
function withReferences(value: unknown, columns: ByteList): unknown {
  if (value instanceof Float64Array) return referenceTo("f", value, columns);
  if (value instanceof Int32Array) return referenceTo("i", value, columns);
  if (value instanceof Uint8Array) return referenceTo("b", value, columns);
  if (Array.isArray(value)) return value.map((item) => withReferences(item, columns));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withReferences(item, columns)]));
}

function referenceTo(type: ColumnType, values: TypedColumn, columns: ByteList): ColumnReference {
  const at = columns.length;
  if (!isWhole(values)) {
    columns.addAll(littleEndian(values));
    return { "@": [type, "raw", values.length, at, 0] };
  }
  let nonzero = 0;
  for (const value of values) if (value !== 0) nonzero++;
  if (3 * nonzero < values.length) {
    let zeros = 0;
    for (const value of values)
      if (value === 0) zeros++;
      else {
        columns.addUnsigned(zeros);
        columns.addSigned(value);
        zeros = 0;
      }
    return { "@": [type, "sparse", values.length, at, nonzero] };
  }
  const lag = bytesOf(values, 1) < bytesOf(values, 0) ? 1 : 0;
  for (let row = 0; row < values.length; row++)
    columns.addSigned(values[row]! - (lag === 1 && row > 0 ? values[row - 1]! : 0));
  return { "@": [type, "int", values.length, at, lag] };
}

/** True if zigzag encoding can represent all values. */
function isWhole(values: TypedColumn): boolean {
  for (const value of values) if (!Number.isSafeInteger(2 * value) || Object.is(value, -0)) return false;
  return true;
}

/** Estimates the bytes that the numbers take. */
function bytesOf(values: TypedColumn, lag: 0 | 1): number {
  let bytes = values.length;
  for (let row = 0; row < values.length; row++) {
    const value = values[row]! - (lag === 1 && row > 0 ? values[row - 1]! : 0);
    if (!Number.isSafeInteger(2 * value)) return Number.POSITIVE_INFINITY;
    for (let rest = Math.abs(value); rest >= 64; rest /= 128) bytes++;
  }
  return bytes;
}

function littleEndian(values: TypedColumn): Uint8Array {
  const bytes = new Uint8Array(8 * values.length);
  const view = new DataView(bytes.buffer);
  for (let row = 0; row < values.length; row++) view.setFloat64(8 * row, values[row]!, true);
  return bytes;
}

/** A growing list of bytes. */
class ByteList {
  #bytes = new Uint8Array(1 << 12);
  length = 0;

  /** Appends a non-negative whole number as LEB128. */
  addUnsigned(value: number): void {
    this.#reserve(10);
    let rest = value;
    while (rest >= 128) {
      this.#bytes[this.length++] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.length++] = rest;
  }

  addSigned(value: number): void {
    this.addUnsigned(value < 0 ? -2 * value - 1 : 2 * value);
  }

  addAll(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  #reserve(more: number): void {
    if (this.length + more <= this.#bytes.length) return;
    const old = this.#bytes;
    this.#bytes = new Uint8Array(2 * (this.length + more));
    this.#bytes.set(old);
  }
}

async function deflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function base64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  // A multiple of 3, so that only the last piece is padded.
  const most = 3 << 13;
  for (let at = 0; at < bytes.length; at += most)
    pieces.push(btoa(String.fromCharCode(...bytes.subarray(at, at + most))));
  return pieces.join("");
}

/** Placeholders in the page's template; each occurs exactly once. */
const PLACES = ["{{title}}", "{{text}}", "{{data}}"] as const;

/**
 * Returns the HTML file of a page, in pieces.
 *
 * @param template the page without data, which the build makes
 * @param text the report as text, for browsers without scripts
 */
export async function pageFile(template: string, page: PageData, text: string): Promise<string[]> {
  const { program, before } = page.head;
  const title = `${before === undefined ? "" : `${before.program} → `}${program} · memshade`;
  const fillings = [printableHtml(title), printableHtml(text), await encodePage(page)];
  const pieces: string[] = [];
  let rest = template;
  // Only the template is searched, because names and text may contain anything.
  for (const [index, place] of PLACES.entries()) {
    const parts = rest.split(place);
    if (parts.length !== 2) throw new Error(`the template has ${parts.length - 1} of ${place}`);
    pieces.push(parts[0]!, fillings[index]!);
    rest = parts[1]!;
  }
  return [...pieces, rest];
}
