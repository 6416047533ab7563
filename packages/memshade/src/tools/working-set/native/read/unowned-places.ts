import type { AttributedPlace } from "../../attribution/read/read-attribution.ts";
import type { AddressRange } from "./address-regions.ts";
import type { Region } from "./marked-lines.ts";

interface NamedRange extends AddressRange {
  name: string;
}

/** What lies where no block is: the stack, static data by object, mapped files. Each has a key below 0. */
export class UnownedPlaces {
  /** By key. */
  readonly places = new Map<number, AttributedPlace>();
  readonly #keys = new Map<string, number>();

  /** @param of where the address is among `objects` and `files`, if it is in any */
  keyOf(
    region: Region,
    address: number,
    objects: readonly NamedRange[],
    files: readonly NamedRange[],
  ): number {
    const holds = ({ start, end }: AddressRange): boolean => address >= start && address < end;
    if (region === "static") return this.#key("static", objects.find(holds)?.name);
    const file = region === "heap" ? files.find(holds)?.name : undefined;
    return file === undefined ? this.#key(region) : this.#key("mapping", file);
  }

  #key(kind: AttributedPlace["kind"], of?: string): number {
    const name = `${kind} ${of}`;
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = -1 - this.#keys.size;
      this.#keys.set(name, key);
      this.places.set(key, { kind, path: [], of });
    }
    return key;
  }
}
