import { COLUMN_TYPES, type ColumnReference, type TypedColumn } from "./columns.ts";
import { inflated } from "./inflate.ts";
import { PAGE_SCHEMA, PAGE_VERSION, type PageData } from "./page-data.ts";

/** Reason why the data cannot be shown, as a sentence for the reader of the page. */
export class PageDataError extends Error {}

/**
 * Decodes page data from the text that `encodePage` made.
 *
 * @throws PageDataError if the data is damaged, or of a version that this page does not support
 */
export async function decodePage(text: string): Promise<PageData> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await inflated(text, "deflate-raw");
  } catch {
    throw new PageDataError("The data of this report is damaged or truncated. Write the report again.");
  }
  return unpacked(bytes);
}

/**
 * Decodes inflated page data.
 * @throws PageDataError as {@link decodePage} does
 */
export function unpacked(bytes: Uint8Array<ArrayBuffer>): PageData {
  const header = readHeader(bytes);
  if (typeof header !== "object" || header === null || header.schema !== PAGE_SCHEMA)
    throw new PageDataError("This file has no data of a memshade report.");
  if (header.version !== PAGE_VERSION)
    throw new PageDataError(
      `The data of this report has version ${JSON.stringify(header.version)}, and this page shows version ${PAGE_VERSION}: ` +
        "write the report again with one memshade.",
    );
  const columns = bytes.subarray(4 + new DataView(bytes.buffer).getUint32(0, true));
  return withColumns(header, columns) as PageData;
}

function readHeader(bytes: Uint8Array<ArrayBuffer>): { schema?: unknown; version?: unknown } | null {
  try {
    const length = new DataView(bytes.buffer).getUint32(0, true);
    return JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  } catch {
    return null;
  }
}

function withColumns(value: unknown, bytes: Uint8Array<ArrayBuffer>): unknown {
  if (Array.isArray(value))
    return value.length > 0 && typeof value[0] === "object"
      ? value.map((item) => withColumns(item, bytes))
      : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray((value as Partial<ColumnReference>)["@"])) return column(value as ColumnReference, bytes);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withColumns(item, bytes)]));
}

function column(reference: ColumnReference, bytes: Uint8Array<ArrayBuffer>): TypedColumn {
  const [type, code, length, start, extra] = reference["@"];
  const values = new COLUMN_TYPES[type](length);
  let at = start;
  const unsigned = (): number => {
    let byte = bytes[at++]!;
    if (byte < 128) return byte;
    let value = byte - 128;
    for (let factor = 128; ; factor *= 128) {
      byte = bytes[at++]!;
      if (byte < 128) return value + byte * factor;
      value += (byte - 128) * factor;
    }
  };
  const signed = (): number => {
    const value = unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  };
  if (code === "raw") {
    const view = new DataView(bytes.buffer, bytes.byteOffset + start);
    for (let row = 0; row < length; row++) values[row] = view.getFloat64(8 * row, true);
  } else if (code === "int") {
    let last = 0;
    for (let row = 0; row < length; row++) {
      values[row] = last + signed();
      last = extra === 1 ? values[row]! : 0;
    }
  } else {
    for (let pair = 0, row = 0; pair < extra; pair++, row++) {
      row += unsigned();
      values[row] = signed();
    }
  }
  return values;
}
