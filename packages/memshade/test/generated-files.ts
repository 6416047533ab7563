import { BUILD_COMMAND, staleFiles } from "../scripts/assembly-sources.ts";

/** Before all tests: they would test other code than that which stands here. */
export default function setup(): void {
  const stale = staleFiles();
  if (stale.length > 0)
    throw new Error(`Generated files are older than their sources; run: ${BUILD_COMMAND}`);
}
