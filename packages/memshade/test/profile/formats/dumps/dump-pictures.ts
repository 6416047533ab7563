import { ByteWriter } from "../../../../src/ground/bytes/writer.ts";
import { drawElf, drawNote } from "../../../code/objects/elf-picture.ts";

export class DumpWriter extends ByteWriter {
  u16(value: number): this {
    return this.u8(value & 0xff).u8((value >> 8) & 0xff);
  }

  u64(value: number): this {
    return this.u32(value % 2 ** 32).u32(Math.floor(value / 2 ** 32));
  }

  zeros(count: number): this {
    return this.bytes(new Uint8Array(count));
  }

  to(offset: number): this {
    return this.zeros(offset - this.length);
  }

  text(text: string): this {
    return this.bytes(new TextEncoder().encode(text));
  }
}

export const RIP = 0x401000;
export const RSP = 0x7ffe_0000_1000;
export const X86_64 = 62;
export const AARCH64 = 183;

/** NT_PRSTATUS of a thread at `pc` with its stack at `RSP`. */
export function drawThread(lwp: number, pc: number, machine = X86_64, signal = 11): Uint8Array {
  const writer = new DumpWriter().to(12).u16(signal).to(32).u32(lwp).to(112);
  if (machine === X86_64) {
    for (let register = 0; register < 27; register++)
      writer.u64(register === 16 ? pc : register === 19 ? RSP : register === 4 ? 0x1234 : register);
    return drawNote("CORE", 1, writer.to(336).finish());
  }
  for (let register = 0; register < 31; register++) writer.u64(register);
  return drawNote("CORE", 1, writer.u64(RSP).u64(pc).to(392).finish());
}

/** NT_FILE with one entry per file. */
export function drawFiles(
  files: readonly [start: number, end: number, page: number, path: string][],
): Uint8Array {
  const writer = new DumpWriter().u64(files.length).u64(4096);
  for (const [start, end, page] of files) writer.u64(start).u64(end).u64(page);
  for (const [, , , path] of files) writer.text(path).u8(0);
  return drawNote("CORE", 0x46494c45, writer.finish());
}

export function drawCore(
  notes: readonly Uint8Array[],
  memory: readonly [address: number, content: Uint8Array][],
  machine = X86_64,
): Uint8Array {
  const writer = new DumpWriter();
  for (const note of notes) writer.bytes(note);
  return drawElf({
    type: 4,
    machine,
    sections: [
      { name: "notes", type: 7, content: writer.finish() },
      ...memory.map(([, content], index) => ({ name: `memory${index}`, type: 1, content })),
    ],
    segments: [
      { type: 4, flags: 4, address: 0, section: "notes" },
      ...memory.map(([address], index) => ({ type: 1, flags: 6, address, section: `memory${index}` })),
    ],
  });
}

interface Stream {
  type: number;
  content: Uint8Array;
}

export interface MinidumpPicture {
  processor?: number;
  /** Threads with their program counters; all have their stack at `RSP`. */
  threads?: readonly { id: number; pc: number }[];
  crashed?: { id: number; pc: number; code?: number; flags?: number };
  platform?: number;
  modules?: readonly { base: number; size: number; path: string; codeView?: Uint8Array }[];
  stack?: Uint8Array;
  /** Memory as a Memory64List instead of in the thread list. */
  memory64?: readonly [address: number, content: Uint8Array][];
  padLists?: boolean;
}

const HEADER_AND_DIRECTORY = 32 + 6 * 12;

const LINUX = 0x8201;

export function drawMinidump(picture: MinidumpPicture): Uint8Array {
  const { processor = 9, threads = [], crashed, modules = [], stack = new Uint8Array(0) } = picture;
  const blobs = new DumpWriter().to(HEADER_AND_DIRECTORY);
  const put = (content: Uint8Array) => {
    const offset = blobs.length;
    blobs.bytes(content);
    blobs.zeros((8 - (blobs.length % 8)) % 8);
    return { size: content.length, offset };
  };
  const count = (value: number) => new DumpWriter().u32(value).zeros(picture.padLists ? 4 : 0);
  const stackAt = put(stack);
  const threadList = count(threads.length);
  for (const { id, pc } of threads) {
    const context = put(drawContext(processor, pc));
    threadList
      .u32(id)
      .zeros(20)
      .u64(RSP)
      .u32(stackAt.size)
      .u32(stackAt.offset)
      .u32(context.size)
      .u32(context.offset);
  }
  const moduleList = count(modules.length);
  for (const { base, size, path, codeView = new Uint8Array(0) } of modules) {
    const name = put(utf16(path));
    const view = put(codeView);
    const end = moduleList.length + 108;
    moduleList
      .u64(base)
      .u32(size)
      .zeros(8)
      .u32(name.offset)
      .zeros(52)
      .u32(view.size)
      .u32(view.offset)
      .to(end);
  }
  const streams: Stream[] = [
    { type: 3, content: threadList.finish() },
    { type: 4, content: moduleList.finish() },
    {
      type: 7,
      content: new DumpWriter()
        .u16(processor)
        .to(20)
        .u32(picture.platform ?? LINUX)
        .to(56)
        .finish(),
    },
  ];
  if (crashed !== undefined) {
    const context = put(drawContext(processor, crashed.pc));
    const content = new DumpWriter()
      .u32(crashed.id)
      .u32(0)
      .u32(crashed.code ?? 11)
      .u32(crashed.flags ?? 0)
      .to(160)
      .u32(context.size)
      .u32(context.offset);
    streams.push({ type: 6, content: content.finish() });
  }
  if (picture.memory64 !== undefined) {
    const pieces = picture.memory64.map(([, content]) => content);
    const [first, ...rest] = pieces.map((content) => {
      const offset = blobs.length;
      blobs.bytes(content);
      return offset;
    });
    const list = new DumpWriter().u64(1 + rest.length).u64(first!);
    for (const [address, content] of picture.memory64) list.u64(address).u64(content.length);
    streams.push({ type: 9, content: list.finish() });
  }
  const directory = new DumpWriter().u32(0x504d444d).u32(0xa793).u32(streams.length).u32(32).to(32);
  for (const { type, content } of streams) {
    const { size, offset } = put(content);
    directory.u32(type).u32(size).u32(offset);
  }
  const file = blobs.finish();
  file.set(directory.finish());
  return file;
}

function drawContext(processor: number, pc: number): Uint8Array {
  if (processor === 9)
    return new DumpWriter().to(144).u64(0x1234).u64(RSP).u64(6).to(248).u64(pc).to(1232).finish();
  return new DumpWriter().to(8).u64(0xa0).to(248).u64(0xa30).u64(RSP).u64(pc).to(912).finish();
}

function utf16(text: string): Uint8Array {
  const writer = new DumpWriter().u32(text.length * 2);
  for (const character of text) writer.u16(character.charCodeAt(0));
  return writer.u16(0).finish();
}
