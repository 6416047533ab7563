/** Sizes of the check values behind blocks, by their type: none, CRC-32, CRC-64, SHA-256 and reserved ones. */
export function checkBytes(check: number): number {
  return check === 0 ? 0 : 4 * 2 ** Math.floor((check - 1) / 3);
}

/** CRC-32 of IEEE 802.3. */
export function crc32(bytes: Uint8Array): number {
  crc32OfByte ??= makeCrc32Table();
  let crc = -1;
  for (const byte of bytes) crc = (crc >>> 8) ^ crc32OfByte[(crc ^ byte) & 0xff]!;
  return ~crc >>> 0;
}

/** CRC-64 of ECMA-182. */
export function crc64(bytes: Uint8Array): bigint {
  crc64OfByte ??= makeCrc64Table();
  let low = -1;
  let high = -1;
  for (const byte of bytes) {
    const index = 2 * ((low ^ byte) & 0xff);
    low = ((low >>> 8) | (high << 24)) ^ crc64OfByte[index]!;
    high = (high >>> 8) ^ crc64OfByte[index + 1]!;
  }
  return (BigInt(~high >>> 0) << 32n) | BigInt(~low >>> 0);
}

// What one byte makes of a sum, with the lowest bit first; made when first needed.
let crc32OfByte: Int32Array | undefined;
/** Low and high words. */
let crc64OfByte: Int32Array | undefined;

function makeCrc32Table(): Int32Array {
  return Int32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb8_8320 : value >>> 1;
    return value;
  });
}

function makeCrc64Table(): Int32Array {
  const table = new Int32Array(512);
  for (let byte = 0; byte < 256; byte++) {
    let value = BigInt(byte);
    for (let bit = 0; bit < 8; bit++)
      value = value & 1n ? (value >> 1n) ^ 0xc96c_5795_d787_0f42n : value >> 1n;
    table[2 * byte] = Number(BigInt.asIntN(32, value));
    table[2 * byte + 1] = Number(BigInt.asIntN(32, value >> 32n));
  }
  return table;
}
