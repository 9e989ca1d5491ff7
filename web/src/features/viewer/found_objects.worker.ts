import type { Told } from './load_objects';
import { packed } from './found_objects';
import { featuresIn } from './geojson';

async function* textsOf(url: string): AsyncGenerator<string> {
  const answer = await fetch(url);
  if (!answer.ok || answer.body === null) throw new Error(`The store of results answered with status ${answer.status}. Try again.`);
  const reader = answer.body.pipeThrough(new DecompressionStream('gzip')).pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
}

self.onmessage = ({ data }: MessageEvent<string>) => {
  packed(featuresIn(textsOf(data))).then(
    (objects) => {
      const { points, rings, objects: firsts, boxes, classOf, values } = objects;
      const handed = [points, rings, firsts, boxes, classOf, values].map(({ buffer }) => buffer);
      self.postMessage({ objects } satisfies Told, { transfer: handed });
    },
    (error: unknown) => {
      self.postMessage({ error: error instanceof Error ? error.message : String(error) } satisfies Told);
    },
  );
};
