const { crypto } = globalThis as Partial<typeof globalThis>;
const getRandomValues = crypto?.getRandomValues;

/** A name that no other context has; undefined in worklets. The program's own random numbers stay what they are. */
export function randomName(): string | undefined {
  if (getRandomValues === undefined) return undefined;
  return Reflect.apply(getRandomValues, crypto, [new Uint32Array(4)]).join("-");
}
