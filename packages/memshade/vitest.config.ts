import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/generated-files.ts", "test/command.ts", "test/temporary-folder.ts"],
    setupFiles: ["test/property-seed.ts", "test/strict.ts"],
    // Whole-tool tests start processes of their own: more workers than this only wait for each other.
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
