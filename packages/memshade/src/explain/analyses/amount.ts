const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
};

export const UNIT_WORDS = "B, KiB, MiB, GiB, k, M, G or %";

export interface Amount {
  readonly value: number;
  /** True if the value is a percentage of another one. */
  readonly isPercent: boolean;
}

/** Parses `8MiB`, `1.5 k`, `5%`; undefined for other texts. */
export function parseAmount(text: string): Amount | undefined {
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?)\s*(%|[A-Za-z]+)?$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  if (unit === "%") return { value: Number(digits), isPercent: true };
  const factor = Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined;
  const value = Number(digits) * (factor ?? Number.NaN);
  return Number.isFinite(value) ? { value, isPercent: false } : undefined;
}
