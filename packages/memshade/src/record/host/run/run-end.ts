import type { RunEnd } from "../../../profile/model/run.ts";

/** Returns the end of a program that threw `error` out of its last function. */
export function describeEnd(error: unknown): RunEnd {
  if (error instanceof WebAssembly.RuntimeError) return { kind: "trap", message: error.message };
  if (error instanceof RangeError && error.message.includes("call stack"))
    return { kind: "trap", message: "call stack exhausted" };
  return { kind: "exception", message: describeThrown(error) };
}

export function describeThrown(error: unknown): string {
  if (error instanceof WebAssembly.Exception) return "uncaught WebAssembly exception";
  const text = error instanceof Error ? `${error.name}: ${error.message}` : safeString(error);
  return text.split("\n", 1)[0];
}

function safeString(value: unknown): string {
  try {
    return String(value);
  } catch {
    return `a value of type ${typeof value}`;
  }
}
