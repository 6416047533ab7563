import { main } from "assemblyscript/asc";

export async function compileAssemblyScript(program: string, ...options: string[]): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  const { error, stderr } = await main(["program.ts", "--outFile", "program.wasm", ...options], {
    readFile: (name) => (name === "program.ts" ? program : null),
    writeFile: (name, content) => {
      if (name === "program.wasm") bytes = content as Uint8Array;
    },
    listFiles: () => [],
  });
  if (error !== null || bytes === undefined) throw new Error(`asc: ${stderr.toString()}`);
  return bytes;
}
