/** What was decoded of a unit, and can be decoded again. */
export interface DecodedUnit {
  /** Memory that it takes now, roughly. */
  readonly sizeBytes: number;
  forget(): void;
}

/** The units that are decoded. When they have become too large together, those that were decoded first are forgotten. */
export class DecodedUnits {
  readonly #mostBytes: number;
  /** In the order in which they were decoded, with the bytes that each is counted with. */
  readonly #sizes = new Map<DecodedUnit, number>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Counts what is decoded of a unit that was asked for something, and makes room for it. */
  count(unit: DecodedUnit): void {
    const { sizeBytes } = unit;
    const counted = this.#sizes.get(unit);
    if (counted === sizeBytes) return;
    this.#sizes.set(unit, sizeBytes);
    this.#bytes += sizeBytes - (counted ?? 0);
    if (this.#bytes <= this.#mostBytes) return;
    for (const [other, bytes] of this.#sizes) {
      if (other === unit) continue;
      other.forget();
      this.#sizes.delete(other);
      this.#bytes -= bytes;
      if (this.#bytes <= this.#mostBytes / 2) return;
    }
  }

  clear(): void {
    this.#sizes.clear();
    this.#bytes = 0;
  }
}
