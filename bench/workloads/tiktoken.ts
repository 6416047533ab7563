import { Digest, generateText, packageFile, requireAnew, runAsScript, type Workload } from "./workload.ts";

/** tiktoken: Rust; builds a table of a hundred thousand tokens, then encodes and decodes text. */
export const tiktoken: Workload = {
  name: "tiktoken",
  files: () => [
    {
      wasm: packageFile("tiktoken", "tiktoken_bg.wasm"),
      glue: packageFile("tiktoken", "tiktoken_bg.cjs"),
    },
  ],
  load: async () => {
    const { get_encoding } = requireAnew("tiktoken");
    const texts = { full: generateText(300_000), small: generateText(2_000) };
    return {
      run: (scale) => {
        const digest = new Digest();
        const encoding = get_encoding(scale === "full" ? "cl100k_base" : "gpt2");
        const tokens: Uint32Array = encoding.encode(texts[scale]);
        digest.add(new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength));
        digest.add(encoding.decode(tokens));
        encoding.free();
        return digest.finish(`${tokens.length} tokens`);
      },
    };
  },
};

if (import.meta.main) await runAsScript(tiktoken);
