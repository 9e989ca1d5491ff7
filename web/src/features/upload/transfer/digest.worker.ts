import type { DigestRequest, DigestReply } from './digest';
import { Digester, UnreadableFile } from './sha256';

const digester = new Digester();
let before: Promise<void> = Promise.resolve();

async function answer({ id, part }: DigestRequest): Promise<DigestReply> {
  try {
    return { id, sha256: await digester.digest(part) };
  } catch (error) {
    if (error instanceof UnreadableFile) return { id, sha256: null };
    throw error;
  }
}

/** Digest one slice after the other, so that only one is in memory. */
self.onmessage = ({ data }: MessageEvent<DigestRequest>) => {
  before = before.then(async () => {
    self.postMessage(await answer(data));
  });
};
