import { Digest, generateText, packageFile, requireAnew, runAsScript, type Workload } from "./workload.ts";

/** brotli: Rust; generated text compressed at two qualities and decompressed again. */
export const brotli: Workload = {
  name: "brotli",
  files: () => [{ wasm: packageFile("brotli-wasm", "pkg.node/brotli_wasm_bg.wasm") }],
  load: async () => {
    const { compress, decompress } = requireAnew("brotli-wasm");
    const texts = { full: generateText(400_000, 3), small: generateText(5_000, 3) };
    return {
      run: (scale) => {
        const text = new TextEncoder().encode(texts[scale]);
        const digest = new Digest();
        const sizes: number[] = [];
        for (const quality of [4, 6]) {
          const compressed: Uint8Array = compress(text, { quality });
          if (Buffer.compare(decompress(compressed), text) !== 0)
            throw new Error(`quality ${quality} does not restore the text`);
          digest.add(compressed);
          sizes.push(compressed.length);
        }
        return digest.finish(`${text.length} bytes to ${sizes.join(", ")}`);
      },
    };
  },
};

if (import.meta.main) await runAsScript(brotli);
