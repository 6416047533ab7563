/** Programs of which the report does not say what it should, each with the reason. */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {};
