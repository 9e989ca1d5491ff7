import type { WorkerReply } from './load_objects';
import { packObjects } from './found_objects';
import { parseFeatures } from './geojson';

async function* fetchText(url: string): AsyncGenerator<string> {
  const answer = await fetch(url);
  if (!answer.ok || answer.body === null) throw new Error(`Loading the results failed with status ${answer.status}. Try again.`);
  const reader = answer.body.pipeThrough(new DecompressionStream('gzip')).pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
}

self.onmessage = ({ data }: MessageEvent<string>) => {
  packObjects(parseFeatures(fetchText(data))).then(
    (objects) => {
      const { points, rings, objects: firsts, boxes, classOf, values } = objects;
      const handed = [points, rings, firsts, boxes, classOf, values].map(({ buffer }) => buffer);
      self.postMessage({ objects } satisfies WorkerReply, { transfer: handed });
    },
    (error: unknown) => {
      self.postMessage({ error: error instanceof Error ? error.message : String(error) } satisfies WorkerReply);
    },
  );
};
