export function isMemprofYaml(bytes: Uint8Array): boolean {
  return bytes[0] === 0x2d && bytes[1] === 0x2d && bytes[2] === 0x2d;
}
