/** First version of Node that supports several memories in a module. */
export const OLDEST_NODE = "22.15";

/** True if a version of Node, such as `24.1.0`, can run instrumented programs. */
export function isSuitable(version: string): boolean {
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split(".").map(Number);
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}
