// What a program hands to the engine as a module: bytes, responses, and what it is to import.
import type { AnyFunction } from "./replace-property.ts";

/** Whether the engine would take the import object: it looks at it before it compiles anything. */
export function acceptsImports([imports]: unknown[]): boolean {
  return (
    imports === undefined ||
    (typeof imports === "object" && imports !== null) ||
    typeof imports === "function"
  );
}

const { Memory } = WebAssembly;
const lengthOf = (prototype: object): AnyFunction =>
  Object.getOwnPropertyDescriptor(prototype, "byteLength")!.get!;
const bufferLengths: AnyFunction[] = [lengthOf(ArrayBuffer.prototype)];

/**
 * The ways to ask a buffer for its length. The class of shared ones has a name in some pages alone, and workers of others crash that
 * ask for it before their script begins.
 */
function* lengthGetters(): Generator<AnyFunction> {
  yield bufferLengths[0]!;
  bufferLengths[1] ??= lengthOf(
    Object.getPrototypeOf(new Memory({ initial: 0, maximum: 0, shared: true }).buffer),
  );
  yield bufferLengths[1];
}

/** Whether a value is a buffer, of this realm or another. */
function isBuffer(value: unknown): value is ArrayBuffer {
  for (const length of lengthGetters())
    try {
      return Reflect.apply(length, value, []) >= 0;
    } catch {
      // Not one of these.
    }
  return false;
}

/** A copy of the bytes of a buffer source, or undefined for anything else. */
export function copyBytes(
  source: unknown,
  roomFor: (length: number) => Uint8Array = (length) => new Uint8Array(length),
): Uint8Array | undefined {
  try {
    let bytes: Uint8Array;
    if (ArrayBuffer.isView(source))
      bytes = new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    else if (isBuffer(source)) bytes = new Uint8Array(source);
    else return undefined;
    const copy = roomFor(bytes.length);
    copy.set(bytes);
    return copy;
  } catch {
    // A detached buffer, which the engine refuses too.
    return undefined;
  }
}

/** Reads a response that the engine would take. Undefined, with the response untouched: let the engine judge it. */
export async function readResponse(
  response: unknown,
): Promise<{ bytes: Uint8Array; url: string } | undefined> {
  if (!(response instanceof Response) || !response.ok || response.bodyUsed) return undefined;
  if (response.headers.get("content-type")?.trim().toLowerCase() !== "application/wasm") return undefined;
  return { bytes: new Uint8Array(await response.arrayBuffer()), url: response.url };
}

export function moduleResponse(bytes: Uint8Array): Response {
  return new Response(bytes as BodyInit, { headers: { "content-type": "application/wasm" } });
}
