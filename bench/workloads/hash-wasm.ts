import {
  Digest,
  embeddedIn,
  generateText,
  packageFile,
  requireAnew,
  runAsScript,
  type Workload,
} from "./workload.ts";

/** hash-wasm: C; hashes and checksums of a text, and two hashes of passwords. */
export const hashWasm: Workload = {
  name: "hash-wasm",
  files: () => embeddedIn(packageFile("hash-wasm", "dist/index.umd.js")),
  load: async () => {
    const hashes = requireAnew("hash-wasm");
    const texts = { full: generateText(1_500_000, 9), small: generateText(10_000, 9) };
    return {
      run: async (scale) => {
        const text = texts[scale];
        const digest = new Digest();
        for (const name of ["md5", "sha1", "sha256", "sha3", "blake3", "crc32", "xxhash64", "whirlpool"])
          digest.add(await hashes[name](text));
        const salt = new Uint8Array(16).fill(7);
        digest.add(
          await hashes.argon2id({
            password: "a word",
            salt,
            parallelism: 1,
            iterations: 2,
            memorySize: scale === "full" ? 4096 : 64,
            hashLength: 32,
          }),
        );
        digest.add(await hashes.bcrypt({ password: "a word", salt, costFactor: scale === "full" ? 7 : 4 }));
        return digest.finish(`${text.length} bytes`);
      },
    };
  },
};

if (import.meta.main) await runAsScript(hashWasm);
