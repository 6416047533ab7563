/** Returns copies of the contents of the custom sections called `name`. The module's sections must be well formed. */
export function customSectionsOf(bytes: Uint8Array, name: string): ArrayBuffer[] {
  const found: ArrayBuffer[] = [];
  const decoder = new TextDecoder();
  let at = 8;
  const readU32 = () => {
    let value = 0;
    for (let scale = 1; at < bytes.length; scale *= 128) {
      const byte = bytes[at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const id = bytes[at++];
    const size = readU32();
    const end = at + size;
    if (id === 0) {
      const nameLength = readU32();
      const sectionName = decoder.decode(bytes.subarray(at, at + nameLength));
      if (sectionName === name) found.push(new Uint8Array(bytes.subarray(at + nameLength, end)).buffer);
    }
    at = end;
  }
  return found;
}
