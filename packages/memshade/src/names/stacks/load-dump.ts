import fs, { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable, Transform } from "node:stream";
import { type ByteSource, sourceOfBytes } from "../../ground/bytes/byte-source.ts";
import { entryOf } from "../../ground/bytes/entries.ts";
import { FormatError, UserError } from "../../ground/bytes/errors.ts";
import { isElfCore, readElfCore } from "../../profile/formats/elf-core.ts";
import { isMinidump, readMinidump } from "../../profile/formats/minidump/index.ts";
import { isPerfData } from "../../profile/formats/perf-data/index.ts";
import type { ProcessImage } from "../../profile/model/process-image.ts";
import {
  type SampleFrame,
  type SampleProfile,
  SampleProfileBuilder,
} from "../../profile/model/sample-profile.ts";
import { openFile } from "../load/file.ts";
import { addressToName, type ImageStacks } from "./image-stacks.ts";
import { type FrameNamer, withoutParameters } from "./names.ts";
import { MappedModule, type NativeFile } from "./native-file.ts";

// The modules are loaded on demand: few files are compressed, and loading delays each start.
const zlib = () => process.getBuiltinModule("node:zlib");
const streams = () => process.getBuiltinModule("node:stream");

export type Dump =
  | { readonly kind: "image"; readonly image: ProcessImage; close(): void }
  | { readonly kind: "perf"; readonly source: ByteSource; readonly gaps: readonly string[]; close(): void };

/** Maximum size of decompressed files in memory; larger ones go to a temporary file. */
const MOST_IN_MEMORY = 2 ** 26;

/**
 * Limit of the decompressed size, relative to the compressed size. Larger content is cut, since no sensible dump
 * reaches the limit.
 */
const LARGEST_RATIO = 2000;
const ALWAYS_ALLOWED = 2 ** 32;

/**
 * Opens a core dump, perf.data or a minidump, possibly compressed by gzip or zstd. `-` is standard input.
 *
 * @throws UserError in one line if the file does not exist or has another format
 */
export async function openDump(file: string): Promise<Dump> {
  const { source, gaps, close } = await openContent(file);
  try {
    if (isPerfData(source)) return { kind: "perf", source, gaps, close };
    const image = isElfCore(source)
      ? readElfCore(source)
      : isMinidump(source)
        ? readMinidump(source)
        : undefined;
    if (image !== undefined)
      return { kind: "image", image: { ...image, gaps: [...gaps, ...image.gaps] }, close };
    const detail = source.size === 0 ? ": it is empty" : "";
    throw new UserError(`${file} is neither a core dump, perf.data nor a minidump${detail}`);
  } catch (error) {
    close();
    throw error instanceof FormatError ? new UserError(`${file}: ${error.message}`) : error;
  }
}

/** Size of decompressed pieces. With Node's default of 16 KiB most of the time is spent on passing them on. */
const CHUNK = { chunkSize: 2 ** 18 };

interface OpenContent {
  readonly source: ByteSource;
  readonly gaps: readonly string[];
  close(): void;
}

async function openContent(file: string): Promise<OpenContent> {
  if (file === "-") {
    const raw = await spool(process.stdin, Number.POSITIVE_INFINITY);
    return decompressed(raw, () => streamOf(raw.source));
  }
  const source = openFile(file);
  return decompressed({ source, gaps: [], close: () => source.close() }, () => fs.createReadStream(file));
}

async function decompressed(content: OpenContent, stream: () => Readable): Promise<OpenContent> {
  let result: OpenContent | undefined;
  try {
    const decompressor = decompressorFor(content.source.read(0, 4));
    if (decompressor === undefined) {
      result = content;
    } else {
      const limit = Math.max(ALWAYS_ALLOWED, content.source.size * LARGEST_RATIO);
      const input = stream();
      input.on("error", (error) => decompressor.destroy(error));
      result = await spool(input.pipe(decompressor), limit);
      input.destroy();
    }
  } finally {
    if (result !== content) content.close();
  }
  return result;
}

function decompressorFor(start: Uint8Array): Transform | undefined {
  const [first, second, third, fourth] = start;
  if (first === 0x1f && second === 0x8b) {
    const { constants, createGunzip } = zlib();
    return createGunzip({ ...CHUNK, finishFlush: constants.Z_SYNC_FLUSH });
  }
  const isZstd = first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd;
  return isZstd ? zlib().createZstdDecompress(CHUNK) : undefined;
}

/**
 * Collects a stream, in memory or in a private file. If the stream is damaged, the content before the damage is
 * kept.
 */
async function spool(stream: Readable, limit: number): Promise<OpenContent> {
  const pieces: Uint8Array[] = [];
  const gaps: string[] = [];
  let size = 0;
  let descriptor: number | undefined;
  try {
    for await (const piece of stream) {
      pieces.push(piece);
      size += piece.length;
      if (size > limit) {
        gaps.push("Only a part was decompressed: it became implausibly large.");
        break;
      }
      if (descriptor === undefined && size > MOST_IN_MEMORY) descriptor = temporaryFile();
      if (descriptor !== undefined) for (const buffered of pieces.splice(0)) writeFully(descriptor, buffered);
    }
  } catch (error) {
    gaps.push(`Only a part could be decompressed: ${(error as Error).message}.`);
  }
  if (descriptor === undefined)
    return { source: sourceOfBytes(Buffer.concat(pieces)), gaps, close: () => {} };
  const opened = descriptor;
  const read = (offset: number, length: number) => {
    const piece = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
    return piece.subarray(0, readSync(opened, piece, 0, piece.length, offset));
  };
  return { source: { size, read }, gaps, close: () => closeSync(opened) };
}

/** Opens an unlinked file, which disappears when it is closed or the process ends. */
function temporaryFile(): number {
  const folder = mkdtempSync(path.join(tmpdir(), "memshade-"));
  try {
    return openSync(path.join(folder, "content"), "wx+", 0o600);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function writeFully(descriptor: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
}

async function* piecesOf(source: ByteSource): AsyncGenerator<Uint8Array> {
  const step = 2 ** 20;
  for (let at = 0; at < source.size; at += step) yield source.read(at, step);
}

function streamOf(source: ByteSource): Readable {
  return streams().Readable.from(piecesOf(source));
}

/** Converts the threads of a dump into a profile with a sample for each, so that equal stacks are merged. */
export function profileOfImage({ image, threads }: ImageStacks, namer: FrameNamer): SampleProfile {
  const builder = new SampleProfileBuilder({
    name: image.command ?? "dump",
    valueTypes: [{ type: "threads", unit: "count" }],
    notes: ["Where each thread was when the process was stopped."],
  });
  const modules = new Map<NativeFile, number>();
  const moduleOf = (file: NativeFile): number => {
    return entryOf(modules, file, () => {
      const ends = file.found?.object.segments.map((segment) => segment.address + segment.memorySize) ?? [];
      const name = file.path.slice(file.path.lastIndexOf("/") + 1);
      const buildId = file.found?.object.buildId ?? file.buildId;
      return builder.addModule({ name, path: file.path, buildId, start: 0, end: Math.max(0, ...ends) });
    });
  };
  for (const { thread, frames } of threads) {
    const { lwp, name } = thread;
    const index = builder.addThread({ pid: image.pid ?? 0, tid: lwp, name: name ?? `LWP ${lwp}` });
    const stack = frames.flatMap((frame): SampleFrame[] => {
      if (!(frame.module instanceof MappedModule)) return [{ function: `0x${frame.pc.toString(16)}` }];
      const { file } = frame.module;
      const address = addressToName(frame);
      const module = moduleOf(file);
      return namer.name(file, address).frames.map((frame) => ({
        linkageName: frame.linkageName,
        file: frame.file,
        line: frame.line,
        column: frame.column,
        startLine: frame.startLine,
        inlined: frame.inlined,
        address,
        module,
        function: frame.function ? withoutParameters(frame.function) : `0x${address.toString(16)}`,
      }));
    });
    builder.addSample(index, builder.stackOf(stack), [1]);
  }
  return builder.finish();
}
