import { Digest, generateText, packageFile, requireAnew, runAsScript, type Workload } from "./workload.ts";

/** zstd: generated text compressed at three levels and decompressed again. */
export const zstd: Workload = {
  name: "zstd",
  files: () => [
    {
      wasm: packageFile("@bokuweb/zstd-wasm", "dist/common/zstd.wasm"),
      glue: packageFile("@bokuweb/zstd-wasm", "dist/common/zstd.js"),
    },
  ],
  load: async () => {
    const { init, compress, decompress } = requireAnew("@bokuweb/zstd-wasm");
    await init();
    const texts = { full: generateText(2_000_000), small: generateText(20_000) };
    return {
      run: (scale) => {
        const text = new TextEncoder().encode(texts[scale]);
        const digest = new Digest();
        const sizes: number[] = [];
        for (const level of [1, 4, 7]) {
          const compressed = compress(text, level);
          const restored = decompress(compressed);
          if (Buffer.compare(restored, text) !== 0)
            throw new Error(`level ${level} does not restore the text`);
          digest.add(compressed);
          sizes.push(compressed.length);
        }
        return digest.finish(`${text.length} bytes to ${sizes.join(", ")}`);
      },
    };
  },
};

if (import.meta.main) await runAsScript(zstd);
