// Text functions for audio worklets, which lack those of pages.

type Base64Bytes = Uint8Array & { toBase64?(): string };
type Base64Class = Uint8ArrayConstructor & { fromBase64?(text: string): Uint8Array };

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const { toBase64 } = Uint8Array.prototype as Base64Bytes;
const { fromBase64 } = Uint8Array as Base64Class;
const { fromCharCode } = String;

/** Encodes bytes as base64, by the engine's own function if it has one. */
export function base64(bytes: Uint8Array): string {
  if (toBase64 !== undefined) return Reflect.apply(toBase64, bytes, []);
  const parts: string[] = [];
  for (let start = 0; start < bytes.length; start += 12_288) {
    const part = bytes.subarray(start, start + 12_288);
    let text = "";
    for (let at = 0; at < part.length; at += 3) {
      const word = (part[at]! << 16) | ((part[at + 1] ?? 0) << 8) | (part[at + 2] ?? 0);
      text += DIGITS[word >> 18]! + DIGITS[(word >> 12) & 63];
      text += at + 1 < part.length ? DIGITS[(word >> 6) & 63] : "=";
      text += at + 2 < part.length ? DIGITS[word & 63] : "=";
    }
    parts.push(text);
  }
  return parts.join("");
}

export function bytesOf(text: string): Uint8Array {
  if (fromBase64 !== undefined) return Reflect.apply(fromBase64, Uint8Array, [text]);
  const digits = new Uint8Array(128);
  for (let i = 0; i < 64; i++) digits[DIGITS.charCodeAt(i)] = i;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  for (let at = 0, to = 0; at < text.length; at += 4) {
    let word = 0;
    for (let i = 0; i < 4; i++) word = (word << 6) | digits[text.charCodeAt(at + i)]!;
    for (let shift = 16; shift >= 0 && to < bytes.length; shift -= 8) bytes[to++] = word >> shift;
  }
  return bytes;
}

/** Decodes UTF-8 like `TextDecoder`, for valid input. */
export class Utf8Decoder {
  decode(bytes: ArrayBuffer | Uint8Array): string {
    const from = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
    const parts: string[] = [];
    let text = "";
    for (let at = 0; at < from.length; ) {
      const first = from[at++]!;
      const more = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
      let code = more === 0 ? first : first & (0x3f >> more);
      for (let i = 0; i < more; i++) code = (code << 6) | (from[at++]! & 0x3f);
      text += code > 0xffff ? String.fromCodePoint(code) : fromCharCode(code);
      if (text.length > 4096) {
        parts.push(text);
        text = "";
      }
    }
    parts.push(text);
    return parts.join("");
  }
}

export class Utf8Encoder {
  encode(text: string): Uint8Array {
    const bytes: number[] = [];
    for (const character of text) {
      const code = character.codePointAt(0)!;
      const more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
      bytes.push(more === 0 ? code : ((0xff00 >> (more + 1)) & 0xff) | (code >> (6 * more)));
      for (let i = more - 1; i >= 0; i--) bytes.push(0x80 | ((code >> (6 * i)) & 0x3f));
    }
    return Uint8Array.from(bytes);
  }
}
