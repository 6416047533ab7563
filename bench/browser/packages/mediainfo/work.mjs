/** A second of silence, as a WAV file has it. */
function wav() {
  const bytes = new Uint8Array(44 + 16_000);
  const view = new DataView(bytes.buffer);
  const text = (at, letters) => bytes.set([...letters].map((letter) => letter.charCodeAt(0)), at);
  text(0, "RIFF");
  view.setUint32(4, bytes.length - 8, true);
  text(8, "WAVEfmt ");
  [[16, 16], [24, 8000], [28, 16_000], [40, 16_000]].forEach(([at, value]) => view.setUint32(at, value, true));
  [[20, 1], [22, 1], [32, 2], [34, 16]].forEach(([at, value]) => view.setUint16(at, value, true));
  text(36, "data");
  return bytes;
}

/** Says what is known of a sound. */
export async function work(mediaInfoFactory, locateFile) {
  const info = await mediaInfoFactory({ format: "JSON", locateFile });
  const bytes = wav();
  const found = await info.analyzeData(
    () => bytes.length,
    (size, offset) => bytes.subarray(offset, offset + size),
  );
  info.close();
  return found;
}
