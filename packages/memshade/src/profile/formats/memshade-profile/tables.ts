import type { ByteWriter } from "../../../ground/bytes/writer.ts";
import {
  framesOf,
  type MemprofFrame,
  type MemprofFrames,
  type MemprofProfile,
  type MemprofStacks,
} from "../../model/memprof/index.ts";
import { functionGuid } from "../memprof/guid.ts";
import { PIECE_BYTES } from "./layout.ts";
import type { RecordPlace } from "./record-chunks.ts";
import type { ProfileOrigin } from "./types.ts";
import type { VarintReader } from "./varint-reader.ts";

const NOT_KNOWN = 0;

/** What the tables are written of. */
export interface TablesSource {
  readonly frames: MemprofFrames;
  /** Number of stacks, without the empty one. */
  readonly stackCount: number;
  /** Writes all of them. Stops whenever the writer holds enough to be handed on. */
  writeStacks(writer: ByteWriter): Iterable<void>;
  readonly recordCount: number;
}

/**
 * Strings, paths, functions, stack entries, stacks, the index of the records, and where all comes from. Stops whenever
 * the writer holds enough to be handed on.
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

/** Sorted, each as what it shares with the one before and the rest. */
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

/** Strings may not become larger, all together, than so many times the bytes that they stand in. */
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
    const known = this.#indices.get(path);
    if (known !== undefined) return known;
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
