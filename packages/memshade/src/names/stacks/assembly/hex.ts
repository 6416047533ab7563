/** Writes a number in hexadecimal, in 16 columns, with spaces in front. */
export function writeHex(at: u32, value: u64): void {
  let rest = value;
  store<u64>(at, 0x2020_2020_2020_2020);
  store<u64>(at, 0x2020_2020_2020_2020, 8);
  let digit = at + 16;
  do {
    const nibble = <u32>rest & 15;
    store<u8>(--digit, nibble < 10 ? 0x30 + nibble : 0x57 + nibble);
    rest >>= 4;
  } while (rest !== 0);
}
