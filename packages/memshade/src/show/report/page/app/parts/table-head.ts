import { h, type VNode } from "preact";
import { el } from "./element.ts";

export function tableHead(names: readonly string[]): VNode {
  return el(
    "thead",
    el(
      "tr",
      names.map((name) => h("th", { key: name, scope: "col" }, name)),
    ),
  );
}
