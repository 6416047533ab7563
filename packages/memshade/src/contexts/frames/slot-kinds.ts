import type { Frames } from "./call-frames.ts";

/** What the reader of frames has to know of slots: two bits per call. */
export function slotKinds({ calls, shapes }: Pick<Frames, "calls" | "shapes">): {
  slots: string;
  keeps: string;
} {
  const slots = new Uint8Array((calls.length + 7) >>> 3);
  const keeps = new Uint8Array(slots.length);
  for (let defined = 0; defined < shapes.pushes.length; defined++)
    for (let slot = shapes.firstSlot[defined]; slot < shapes.firstSlot[defined + 1]; slot++) {
      const call = shapes.callOfSlot[slot];
      slots[call >>> 3] |= 1 << (call & 7);
      if (slot - shapes.firstSlot[defined] >= shapes.pushes[defined]) keeps[call >>> 3] |= 1 << (call & 7);
    }
  return { slots: base64(slots), keeps: base64(keeps) };
}

export function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
