import { ByteReader } from "../../../ground/bytes/reader.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";
import type { WasmModule } from "../types.ts";

const FUNCTIONS = 1;

/**
 * Returns the content of the module's name section with the names of further functions, whose indices are above all
 * present ones and ascend. Undefined if there is no name section, no function has a name, or the section is
 * damaged.
 */
export function appendFunctionNames(
  module: WasmModule,
  names: Iterable<readonly [index: number, name: string]>,
): Uint8Array | undefined {
  const entries = new ByteWriter(1024);
  let count = 0;
  for (const [index, name] of names) {
    entries.u32Leb(index).name(name);
    count++;
  }
  const section = module.customs.find(({ name }) => name === "name");
  if (section?.contentStart === undefined || count === 0) return undefined;
  try {
    const reader = new ByteReader(module.bytes, section.contentStart, section.payloadEnd);
    while (!reader.atEnd) {
      const start = reader.position;
      const id = reader.u8();
      const content = new ByteReader(reader.bytes, 0, reader.end);
      const size = reader.u32Leb();
      content.position = reader.skip(size);
      if (id !== FUNCTIONS) continue;
      const total = content.u32Leb() + count;
      const writer = new ByteWriter(section.payloadEnd - section.contentStart + entries.length + 16);
      writer.range(module.bytes, section.contentStart, start).u8(FUNCTIONS);
      writer.sized(() =>
        writer.u32Leb(total).range(module.bytes, content.position, reader.position).bytes(entries.view()),
      );
      return writer.range(module.bytes, reader.position, reader.end).finish();
    }
  } catch {}
  return undefined;
}
