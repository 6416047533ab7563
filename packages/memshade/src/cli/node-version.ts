/** Several memories in one module came with this version of Node. */
export const OLDEST_NODE = "22.15";

/** Whether a version of Node such as `24.1.0` runs what memshade makes of programs. */
export function isSuitable(version: string): boolean {
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split(".").map(Number);
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}
