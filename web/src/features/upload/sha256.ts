export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';

  constructor() {
    super('The file can not be read any more: it was changed, moved or taken away. Choose it again to go on.');
  }
}

/** Hex. Holds the slice in memory while it lasts. Throws UnreadableFile. */
export async function sha256(part: Blob): Promise<string> {
  let bytes: ArrayBuffer;
  try {
    bytes = await part.arrayBuffer();
  } catch {
    throw new UnreadableFile(); // a DOMException whose words are for developers
  }
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
