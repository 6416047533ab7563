import { pathToFileURL } from "node:url";
import { Digest, embeddedIn, packageFile, runAsScript, sequence, type Workload } from "./workload.ts";

/** A directed graph in the DOT language. */
function graph(nodes: number, seed: number): string {
  const next = sequence(seed);
  const lines = Array.from({ length: nodes }, (_, node) => {
    const style = next(4) === 0 ? " [shape=box, style=filled]" : "";
    const edges = Array.from({ length: 1 + next(2) }, () => `n${node} -> n${next(nodes)};`);
    return `n${node}${style}; ${edges.join(" ")}`;
  });
  return `digraph {\n${lines.join("\n")}\n}\n`;
}

const entry = () => packageFile("@hpcc-js/wasm-graphviz", "dist/index.js");

/** Graphviz: C; directed graphs in layers, and one by springs, drawn as SVG. */
export const graphviz: Workload = {
  name: "graphviz",
  files: () => embeddedIn(entry()),
  load: async () => {
    const { Graphviz } = await import(pathToFileURL(entry()).href);
    Graphviz.unload();
    const engine = await Graphviz.load();
    return {
      run: (scale) => {
        const digest = new Digest();
        const nodes = scale === "full" ? 90 : 10;
        digest.add(engine.layout(graph(nodes, 3), "svg", "dot"));
        digest.add(engine.layout(graph(nodes, 4), "svg", "neato"));
        return digest.finish(`${nodes} nodes`);
      },
    };
  },
};

if (import.meta.main) await runAsScript(graphviz);
