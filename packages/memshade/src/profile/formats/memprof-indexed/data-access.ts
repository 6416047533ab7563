/// <reference path="../pako.d.ts" />

import { deflate, inflate } from "pako";
import { entryOf } from "../../../ground/bytes/entries.ts";
import { readU64Leb, skipLeb64 } from "../../../ground/bytes/leb128.ts";
import type { Window } from "../../../ground/bytes/window.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import type { DataAccessProfile, DataAccessRecord } from "../../model/memprof/index.ts";
import { Cursor } from "./cursor.ts";
import { padTo8 } from "./layout.ts";

const CONSTRUCT = "data access profile";
const SEPARATOR = "\u0001";

/** Hashes that LLVM's hash tables use as marks, so that an entry with such a key is lost. */
const LOST_HASHES: readonly bigint[] = [2n ** 64n - 1n, 2n ** 64n - 2n];

/** Bound on zlib's expansion, which is at most about a thousandfold. */
const MOST_EXPANSION = 1100;

/** Returns the section's bytes, without the known-cold hashes that LLVM could not read. */
export function writeDataAccess(profile: DataAccessProfile): Uint8Array {
  const indices = new Map<string, number>();
  const indexOf = (text: string) => {
    const index = entryOf(indices, text, () => indices.size);
    return BigInt(index);
  };
  const records = profile.records.map(({ symbol, accessCount, locations }) => ({
    symbol: typeof symbol === "string" ? indexOf(symbol) : symbol,
    isHash: typeof symbol !== "string",
    accessCount,
    locations: locations.map(({ file, line }) => ({ file: indexOf(file), line })),
  }));
  for (const name of profile.coldSymbols) indexOf(name);
  const blob = packStrings([...indices.keys(), ...profile.coldSymbols]);
  const writer = new ByteWriter(1024);
  const u64 = (value: bigint | number) => {
    const wide = BigInt(value);
    writer.u32(Number(wide & 0xffffffffn)).u32(Number(wide >> 32n));
  };
  u64(indices.size);
  u64(profile.coldSymbols.length);
  u64(blob.length);
  writer.bytes(blob).bytes(new Uint8Array(padTo8(blob.length) - blob.length));
  const hashes = profile.coldHashes.filter((hash) => !LOST_HASHES.includes(hash));
  u64(hashes.length);
  for (const hash of hashes) u64(hash);
  u64(records.length);
  for (const { symbol, isHash, accessCount, locations } of records) {
    u64(symbol);
    writer.u8(isHash ? 1 : 0);
    u64(accessCount);
    u64(locations.length);
    for (const { file, line } of locations) {
      u64(file);
      writer.u32(line);
    }
  }
  return writer.finish();
}

function packStrings(strings: readonly string[]): Uint8Array {
  if (strings.length === 0) return new Uint8Array(0);
  const text = new TextEncoder().encode(strings.join(SEPARATOR));
  const packed = deflate(text, { level: 9 });
  return new ByteWriter(packed.length + 20).u64Leb(text.length).u64Leb(packed.length).bytes(packed).finish();
}

export function readDataAccess(file: Window, start: number): DataAccessProfile {
  const cursor = new Cursor(file, start, CONSTRUCT);
  const stringCount = cursor.u64();
  const coldCount = cursor.u64();
  const blobBytes = cursor.count(1, "bytes of strings");
  const blob = file.slice(cursor.position, blobBytes);
  const strings = unpackStrings(blob, cursor);
  cursor.skip(padTo8(blobBytes));
  if (BigInt(strings.length) !== stringCount + coldCount)
    throw cursor.error(`${strings.length} strings where ${stringCount + coldCount} are announced`);
  const indexable = Number(stringCount);
  const nameAt = (index: bigint) => {
    if (index >= indexable) throw cursor.error(`string ${index} of ${indexable}`);
    return strings[Number(index)]!;
  };
  const coldHashes = Array.from({ length: cursor.count(8, "string hashes") }, () => cursor.u64());
  const records = Array.from({ length: cursor.count(25, "records") }, (): DataAccessRecord => {
    const symbol = cursor.u64();
    const isHash = cursor.u8() !== 0;
    const accessCount = cursor.u64();
    const locations = Array.from({ length: cursor.count(12, "locations") }, () => ({
      file: nameAt(cursor.u64()),
      line: cursor.u32(),
    }));
    return { symbol: isHash ? symbol : nameAt(symbol), accessCount, locations };
  });
  return { records, coldSymbols: strings.slice(indexable), coldHashes };
}

function unpackStrings(blob: Uint8Array, cursor: Cursor): string[] {
  const strings: string[] = [];
  const decoder = new TextDecoder();
  for (let at = 0; at < blob.length; ) {
    if (blob[at] === 0) {
      at++;
      continue;
    }
    const plainBytes = Number(readU64Leb(blob, at));
    at = skipLeb64(blob, at);
    const packedBytes = Number(readU64Leb(blob, at));
    at = skipLeb64(blob, at);
    const storedBytes = packedBytes === 0 ? plainBytes : packedBytes;
    if (storedBytes > blob.length - at || plainBytes > storedBytes * MOST_EXPANSION + 64)
      throw cursor.error(`strings of ${plainBytes} bytes, stored in ${storedBytes}`);
    const stored = blob.subarray(at, at + storedBytes);
    let plain = stored;
    if (packedBytes > 0)
      try {
        plain = inflate(stored) ?? new Uint8Array(0);
      } catch {
        throw cursor.error("the compressed strings are damaged");
      }
    if (plain.length !== plainBytes) throw cursor.error("the strings do not have their size");
    for (const text of decoder.decode(plain).split(SEPARATOR)) strings.push(text);
    at += storedBytes;
  }
  return strings;
}
