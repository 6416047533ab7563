import { ByteWriter } from "../../../src/ground/bytes/writer.ts";

export interface SectionPicture {
  name: string;
  type: number;
  content?: Uint8Array;
  flags?: number;
  address?: number;
  /** Name of the section that `sh_link` points to. */
  link?: string;
  /** Size in memory of a section without content. */
  size?: number;
}

export interface ElfPicture {
  bits?: 32 | 64;
  machine?: number;
  type?: number;
  sections?: readonly SectionPicture[];
  segments?: readonly { type: number; flags: number; address: number; section: string }[];
  /** Writes the counts to section 0, as files with counts of more than 16 bits do. */
  overflowCounts?: boolean;
}

export function drawElf(picture: ElfPicture): Uint8Array {
  const { bits = 64, machine = 62, type = 3, segments = [], overflowCounts = false } = picture;
  const is64 = bits === 64;
  const named = [...(picture.sections ?? []), { name: ".shstrtab", type: 3 }];
  const names = stringTable(named.map(({ name }) => name));
  const sections = named.map((section) =>
    section.name === ".shstrtab" ? { ...section, content: names.bytes } : section,
  ) as SectionPicture[];
  const headerBytes = is64 ? 64 : 52;
  let end = headerBytes;
  const offsets = sections.map(({ content }) => {
    const offset = end;
    end = align8(end + (content?.length ?? 0));
    return offset;
  });
  const sectionHeaders = end;
  const programHeaders = sectionHeaders + (sections.length + 1) * (is64 ? 64 : 40);
  const writer = new ByteWriter(programHeaders + segments.length * (is64 ? 56 : 32));
  const word = (value: number) => (is64 ? u64(writer, value) : writer.u32(value));
  for (const byte of [0x7f, 0x45, 0x4c, 0x46, is64 ? 2 : 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]) writer.u8(byte);
  u16(writer, type);
  u16(writer, machine);
  writer.u32(1);
  word(0x1000);
  word(segments.length === 0 ? 0 : programHeaders);
  word(sectionHeaders);
  writer.u32(0);
  u16(writer, headerBytes);
  u16(writer, is64 ? 56 : 32);
  u16(writer, overflowCounts ? 0xffff : segments.length);
  u16(writer, is64 ? 64 : 40);
  u16(writer, overflowCounts ? 0 : sections.length + 1);
  u16(writer, overflowCounts ? 0xffff : sections.length);
  sections.forEach(({ content }, index) => {
    while (writer.length < offsets[index]) writer.u8(0);
    if (content !== undefined) writer.bytes(content);
  });
  while (writer.length < sectionHeaders) writer.u8(0);
  const header = (values: readonly number[]) => {
    const [name, kind, flags, address, offset, size, link, info] = values;
    writer.u32(name).u32(kind);
    for (const value of [flags, address, offset, size]) word(value);
    writer.u32(link).u32(info);
    word(1);
    word(0);
  };
  header(
    overflowCounts
      ? [0, 0, 0, 0, 0, sections.length + 1, sections.length, segments.length]
      : Array(8).fill(0),
  );
  sections.forEach(({ name, type: kind, flags = 0, address = 0, content, size, link }, index) => {
    const linked = link === undefined ? 0 : sections.findIndex((one) => one.name === link) + 1;
    header([
      names.offsets.get(name)!,
      kind,
      flags,
      address,
      offsets[index],
      size ?? content?.length ?? 0,
      linked,
      0,
    ]);
  });
  for (const { type: kind, flags, address, section } of segments) {
    const index = sections.findIndex(({ name }) => name === section);
    const size = sections[index].content!.length;
    writer.u32(kind);
    if (is64) writer.u32(flags);
    for (const value of [offsets[index], address, address, size, size]) word(value);
    if (!is64) writer.u32(flags);
    word(0x1000);
  }
  return writer.finish();
}

export function drawSymbols(
  symbols: readonly { name: string; address: number; size?: number; info?: number; section?: number }[],
): { symbols: Uint8Array; strings: Uint8Array } {
  const strings = stringTable(symbols.map(({ name }) => name));
  const writer = new ByteWriter(24 * (symbols.length + 1));
  for (let i = 0; i < 24; i++) writer.u8(0);
  for (const { name, address, size = 0, info = 0x12, section = 1 } of symbols) {
    writer.u32(strings.offsets.get(name)!).u8(info).u8(0);
    u16(writer, section);
    u64(writer, address);
    u64(writer, size);
  }
  return { symbols: writer.finish(), strings: strings.bytes };
}

export function drawNote(owner: string, type: number, content: Uint8Array): Uint8Array {
  const writer = new ByteWriter(64);
  writer
    .u32(owner.length + 1)
    .u32(content.length)
    .u32(type);
  writer.bytes(new TextEncoder().encode(owner)).u8(0);
  while (writer.length % 4 !== 0) writer.u8(0);
  writer.bytes(content);
  while (writer.length % 4 !== 0) writer.u8(0);
  return writer.finish();
}

function stringTable(texts: readonly string[]): { bytes: Uint8Array; offsets: Map<string, number> } {
  const writer = new ByteWriter(64).u8(0);
  const offsets = new Map([["", 0]]);
  for (const text of texts) {
    if (offsets.has(text)) continue;
    offsets.set(text, writer.length);
    writer.bytes(new TextEncoder().encode(text)).u8(0);
  }
  return { bytes: writer.finish(), offsets };
}

function align8(value: number): number {
  return Math.ceil(value / 8) * 8;
}

function u16(writer: ByteWriter, value: number): void {
  writer.u8(value & 0xff).u8(value >> 8);
}

function u64(writer: ByteWriter, value: number): void {
  writer.u32(value % 2 ** 32).u32(Math.floor(value / 2 ** 32));
}
