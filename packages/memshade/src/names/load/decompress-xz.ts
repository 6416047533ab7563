// Process of its own (mini-debug-info.ts): decompresses an .xz stream from standard input to standard output. A
// damaged stream ends it with code 1.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import xz from "xz-decompress";

try {
  const input = Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>;
  const output = new xz.XzReadableStream(input) as unknown as NodeReadableStream<Uint8Array>;
  await pipeline(Readable.fromWeb(output), process.stdout);
} catch {
  process.exitCode = 1;
}
