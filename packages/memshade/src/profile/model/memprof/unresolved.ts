/** A place in a module of which there is no debug information: its build id, and the offset from its load address. */
export interface UnresolvedPlace {
  /** Hexadecimal; empty for modules without one. */
  readonly buildId: string;
  readonly offset: number;
}

const NAME = /^\[([0-9a-f]*)\]\+0x([0-9a-f]+)$/;

/** The name of the function that stands for such a place, as no linkage name can be. */
export function unresolvedName({ buildId, offset }: UnresolvedPlace): string {
  return `[${buildId}]+0x${offset.toString(16)}`;
}

/** What a name stands for that `unresolvedName` made; undefined for names of functions. */
export function unresolvedPlace(name: string | undefined): UnresolvedPlace | undefined {
  if (name?.[0] !== "[") return undefined;
  const found = NAME.exec(name);
  return found === null ? undefined : { buildId: found[1]!, offset: Number.parseInt(found[2]!, 16) };
}

export function isUnresolved(name: string | undefined): boolean {
  return unresolvedPlace(name) !== undefined;
}
