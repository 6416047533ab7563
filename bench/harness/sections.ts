const CODE_SECTION = 10;

/** Size of a module's code section payload in bytes; 0 if there is none. */
export function codeSectionBytes(module: Uint8Array): number {
  for (let at = 8; at < module.length; ) {
    const id = module[at++];
    let size = 0;
    let shift = 0;
    for (let more = true; more; shift += 7) {
      const byte = module[at++] as number;
      size += (byte & 0x7f) * 2 ** shift;
      more = byte > 0x7f;
    }
    if (id === CODE_SECTION) return size;
    at += size;
  }
  return 0;
}
