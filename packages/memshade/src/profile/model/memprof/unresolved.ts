/** Position in a module without debug information: its build id, and the offset from its load address. */
export interface UnresolvedPlace {
  /** Hexadecimal; empty for modules without one. */
  readonly buildId: string;
  readonly offset: number;
}

const NAME = /^\[([0-9a-f]*)\]\+0x([0-9a-f]+)$/;

/** Returns a function name that encodes the position; no linkage name has this form. */
export function unresolvedName({ buildId, offset }: UnresolvedPlace): string {
  return `[${buildId}]+0x${offset.toString(16)}`;
}

/** Parses a name of `unresolvedName`; undefined for names of functions. */
export function unresolvedPlace(name: string | undefined): UnresolvedPlace | undefined {
  if (name?.[0] !== "[") return undefined;
  const found = NAME.exec(name);
  return found === null ? undefined : { buildId: found[1]!, offset: Number.parseInt(found[2]!, 16) };
}

export function isUnresolved(name: string | undefined): boolean {
  return unresolvedPlace(name) !== undefined;
}
