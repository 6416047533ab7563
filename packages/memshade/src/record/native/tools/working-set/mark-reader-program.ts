import { compile } from "../../../../code/aot/index.ts";
import { headersEnd, PF_R, PF_W, PF_X, writeElfImage } from "../../../../code/objects/elf/write/image.ts";
import { Assembler, RDI, RSP } from "../../../../code/x64/index.ts";
import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { PAGE_BYTES } from "../../../../ground/bytes/sizes.ts";
import { MARK_READER_BASE64 } from "./reader.generated.ts";

const ET_EXEC = 2;
const ADDRESS = 0x40_0000;
const CODE_ALIGNMENT = 16;
const CALL = 0xe8;

/**
 * Builds the mark reader, a static ELF program. Its arguments are described at `read_marks`; `layout.ts` describes its
 * output.
 */
export function markReaderProgram(): Uint8Array {
  const { code, entries, relocations } = compile(bytesOfBase64(MARK_READER_BASE64));
  const asm = new Assembler();
  asm.put("mov", 8, RDI, RSP);
  asm.put("and", 8, RSP, -16);
  const behind = asm.here();
  const { bytes, offsetOf } = asm.finish();
  const start = bytes.subarray(0, offsetOf(behind));
  const at = headersEnd(2);
  const codeAt = Math.ceil((at + start.length + 5) / CODE_ALIGNMENT) * CODE_ALIGNMENT;
  const text = new Uint8Array(codeAt - at + code.length);
  const view = new DataView(text.buffer);
  text.set(start);
  text[start.length] = CALL;
  view.setInt32(
    start.length + 1,
    codeAt + (entries.get("read_marks") as number) - (at + start.length + 5),
    true,
  );
  text.set(code, codeAt - at);
  const slot = ADDRESS + Math.ceil((at + text.length) / PAGE_BYTES) * PAGE_BYTES;
  for (const { kind, offset, addend } of relocations) {
    if (kind !== "memory") throw new Error(`the reader of marks uses what it has not: ${kind}`);
    view.setInt32(codeAt - at + offset, slot - (ADDRESS + codeAt + offset) + addend, true);
  }
  return writeElfImage({
    type: ET_EXEC,
    entry: ADDRESS + at,
    segments: [
      { flags: PF_R | PF_X, address: ADDRESS + at, bytes: text },
      { flags: PF_R | PF_W, address: slot, bytes: new Uint8Array(0), memoryBytes: PAGE_BYTES },
    ],
  });
}
