/** The DWARF expressions of an object, each distinct one once. */
export class Expressions {
  readonly programs: Uint8Array[] = [];
  readonly #indices = new Map<string, number>();

  /** Number of the expression with these bytes. */
  add(bytes: Uint8Array): number {
    let key = "";
    for (const byte of bytes) key += String.fromCharCode(byte);
    const known = this.#indices.get(key);
    if (known !== undefined) return known;
    const index = this.programs.length;
    // A copy, so that the section's bytes need not stay in memory for a few expressions.
    this.programs.push(bytes.slice());
    this.#indices.set(key, index);
    return index;
  }
}
