import { readFileSync } from "node:fs";
import { Digest, packageFile, requireAnew, runAsScript, sequence, type Workload } from "./workload.ts";

/** A drawing of shapes, gradients, strokes and a blur; needs no font. */
function drawing(shapes: number): string {
  const next = sequence(11);
  const parts: string[] = [];
  for (let i = 0; i < shapes; i++) {
    const [x, y, size] = [next(800), next(600), 5 + next(60)];
    const colour = `rgb(${next(256)},${next(256)},${next(256)})`;
    if (i % 4 === 0) parts.push(`<circle cx="${x}" cy="${y}" r="${size}" fill="url(#g)" opacity="0.6"/>`);
    else if (i % 4 === 1)
      parts.push(`<rect x="${x}" y="${y}" width="${size}" height="${size}" rx="4" fill="${colour}"/>`);
    else if (i % 4 === 2)
      parts.push(
        `<path d="M${x} ${y} q ${size} ${-size} ${size * 2} 0 t ${size} ${size} z" stroke="${colour}" stroke-width="3" fill="none"/>`,
      );
    else
      parts.push(
        `<g transform="translate(${x} ${y}) rotate(${next(360)})"><polygon points="0,0 ${size},10 10,${size}" fill="${colour}" ${i % 40 === 3 ? 'filter="url(#b)"' : ""}/></g>`,
      );
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="800" height="600" viewBox="0 0 800 600">
<defs><linearGradient id="g"><stop offset="0" stop-color="#fc6"/><stop offset="1" stop-color="#36c"/></linearGradient>
<filter id="b"><feGaussianBlur stdDeviation="3"/></filter></defs>
<rect width="800" height="600" fill="#fff"/>${parts.join("\n")}</svg>`;
}

/** resvg: Rust through wasm-bindgen; a drawing rendered to pixels and to PNG. */
export const resvg: Workload = {
  name: "resvg",
  files: () => [
    {
      wasm: packageFile("@resvg/resvg-wasm", "index_bg.wasm"),
      glue: packageFile("@resvg/resvg-wasm", "index.js"),
    },
  ],
  load: async () => {
    const { initWasm, Resvg } = requireAnew("@resvg/resvg-wasm");
    await initWasm(readFileSync(packageFile("@resvg/resvg-wasm", "index_bg.wasm")));
    return {
      run: (scale) => {
        const digest = new Digest();
        const renderer = new Resvg(drawing(scale === "full" ? 300 : 10), {
          fitTo: { mode: "width", value: scale === "full" ? 800 : 100 },
        });
        const image = renderer.render();
        digest.add(image.pixels).add(image.asPng());
        const summary = `${image.width} x ${image.height}`;
        image.free();
        renderer.free();
        return digest.finish(summary);
      },
    };
  },
};

if (import.meta.main) await runAsScript(resvg);
