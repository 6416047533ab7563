import { existsSync } from "node:fs";
import { InvalidArgumentError } from "commander";
import { UserError } from "../ground/bytes/errors.ts";

/** `--interval`: a length in accesses, or in nanoseconds of time. */
export interface Interval {
  unit: "accesses" | "time";
  length: number;
}

const NANOSECONDS: Readonly<Record<string, number>> = { us: 1e3, ms: 1e6, s: 1e9 };

export function parseInterval(text: string): Interval {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(acc|us|ms|s)$/.exec(text) ?? [];
  const length = Number(digits) * (unit === "acc" ? 1 : NANOSECONDS[unit]);
  if (unit === undefined || !Number.isSafeInteger(length) || length < 1)
    throw new InvalidArgumentError("It must be a length such as 1000000acc, 20ms or 1s.");
  return { unit: unit === "acc" ? "accesses" : "time", length };
}

/** `0.01` or `1%`, in (0, 1]. */
export function parseRate(text: string): number {
  const [, digits, percent] = /^(\d*\.?\d+(?:e-\d+)?)(%?)$/.exec(text) ?? [];
  const rate = Number(digits) / (percent === "%" ? 100 : 1);
  if (!(rate >= 1e-6 && rate <= 1))
    throw new InvalidArgumentError("It must be a part of all lines from 0.000001 to 1, or of 100%.");
  return rate;
}

/** Timers are served as often as the system's clock ticks, which is 1000 times a second at most. */
const MOST_HZ = 1000;

/** `--sample`: samples per second, `97hz` or `97`. */
export function parseSampleRate(text: string): number {
  const [, digits] = /^(\d{1,6}(?:\.\d{1,6})?)(?:hz)?$/i.exec(text) ?? [];
  const rate = Number(digits);
  if (!(rate >= 0.1 && rate <= MOST_HZ))
    throw new InvalidArgumentError(`It must be a rate such as 97hz, from 0.1hz to ${MOST_HZ}hz.`);
  return rate;
}

/** A whole number from 0. */
export function parseCount(text: string): number {
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidArgumentError("It must be a whole number from 0.");
  return value;
}

const BYTES: Readonly<Record<string, number>> = { "": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

/** `--memory-limit`: `2G`, `500MiB` or a number of bytes. */
export function parseBytes(text: string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(|[KMG])(?:i?B)?$/.exec(text) ?? [];
  const value = Math.floor(Number(digits) * BYTES[unit]);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError("It must be a size such as 500M or 2G.");
  return value;
}

export function parsePositive(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError("It must be a positive integer.");
  return value;
}

/** Of an option that names files and folders to look in: each must be there, or what is looked for goes missing without a word. */
export function assertPlaces(option: string): (places: readonly string[] | undefined) => void {
  return (places = []) => {
    const missing = places.find((place) => !existsSync(place));
    if (missing !== undefined) throw new UserError(`${option} ${missing}: there is no such file or folder`);
  };
}
