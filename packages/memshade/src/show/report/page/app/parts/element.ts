import { type ComponentChildren, h, type VNode } from "preact";

/** Returns an element without attributes but classes: `p.dim` is a paragraph of class `dim`. */
export function el(selector: string, ...children: ComponentChildren[]): VNode {
  const [name, ...classes] = selector.split(".");
  return h(name!, classes.length === 0 ? null : { class: classes.join(" ") }, ...children);
}

export function tableHead(names: readonly string[]): VNode {
  return el(
    "thead",
    el(
      "tr",
      names.map((name) => h("th", { key: name, scope: "col" }, name)),
    ),
  );
}
