export function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}
