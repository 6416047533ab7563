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

const bufferLengths: AnyFunction[] = [ArrayBuffer, SharedArrayBuffer].map(
  (kind) => Object.getOwnPropertyDescriptor(kind.prototype, "byteLength")!.get!,
);

/** Whether a value is a buffer, of this realm or another. */
function isBuffer(value: unknown): value is ArrayBuffer {
  return bufferLengths.some((length) => {
    try {
      return Reflect.apply(length, value, []) >= 0;
    } catch {
      return false;
    }
  });
}

/** A copy of the bytes of a buffer source that threads can have in common, or undefined for anything else. */
export function copyBytes(source: unknown): Uint8Array | undefined {
  try {
    if (ArrayBuffer.isView(source))
      return sharedCopy(new Uint8Array(source.buffer, source.byteOffset, source.byteLength));
    return isBuffer(source) ? sharedCopy(new Uint8Array(source)) : undefined;
  } catch {
    // A detached buffer, which the engine refuses too.
    return undefined;
  }
}

function sharedCopy(bytes: Uint8Array): Uint8Array {
  // Pages that are not isolated have no shared memory, and one thread.
  if (typeof SharedArrayBuffer !== "function") return bytes.slice();
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
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
