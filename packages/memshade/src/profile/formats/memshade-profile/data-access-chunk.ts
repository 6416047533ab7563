import { ByteWriter } from "../../../ground/bytes/writer.ts";
import type { DataAccessProfile } from "../../model/memprof/index.ts";
import type { VarintReader } from "./varint-reader.ts";

export function writeDataAccessChunk({ records, coldSymbols, coldHashes }: DataAccessProfile): Uint8Array {
  const writer = new ByteWriter(1 << 10).u32Leb(records.length);
  for (const { symbol, accessCount, locations } of records) {
    if (typeof symbol === "string") writer.u8(0).name(symbol);
    else writer.u8(1).u64Leb(symbol);
    writer.u64Leb(accessCount).u32Leb(locations.length);
    for (const { file, line } of locations) writer.name(file).u32Leb(line);
  }
  writer.u32Leb(coldSymbols.length);
  for (const name of coldSymbols) writer.name(name);
  writer.u32Leb(coldHashes.length);
  for (const hash of coldHashes) writer.u64Leb(hash);
  return writer.finish();
}

export function readDataAccessChunk(reader: VarintReader): DataAccessProfile {
  const decoder = new TextDecoder();
  const text = () => decoder.decode(reader.take(reader.count(1, "bytes")));
  const records = Array.from({ length: reader.count(4, "records") }, () => {
    const symbol = reader.index(2, "kind of symbol") === 0 ? text() : reader.wide();
    const accessCount = reader.wide();
    const locations = Array.from({ length: reader.count(2, "locations") }, () => ({
      file: text(),
      line: reader.index(2 ** 32, "line"),
    }));
    return { symbol, accessCount, locations };
  });
  const coldSymbols = Array.from({ length: reader.count(1, "symbols") }, text);
  const coldHashes = Array.from({ length: reader.count(1, "hashes") }, () => reader.wide());
  return { records, coldSymbols, coldHashes };
}
