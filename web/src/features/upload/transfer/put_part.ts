/** Sends a part to the address that the API granted. `onSent` receives the number of bytes sent so far. */
export type PutPart = (
  granted: { url: string; headers: Record<string, string> },
  part: Blob,
  onSent: (bytes: number) => void,
  signal: AbortSignal,
) => Promise<void>;

export class PutFailed extends Error {
  override readonly name = 'PutFailed';
}

/** Send by XMLHttpRequest, since fetch does not report upload progress. The browser reads the slice itself. */
export const putPart: PutPart = ({ url, headers }, part, onSent, signal) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const stop = () => {
      request.abort();
    };
    const settle = (end: () => void) => () => {
      signal.removeEventListener('abort', stop);
      end();
    };
    const fail = (what: string) => {
      reject(new PutFailed(`A part could not be sent (${what}). Check your connection, then try again.`));
    };
    request.open('PUT', url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => {
      onSent(loaded);
    };
    request.onload = settle(() => {
      if (request.status >= 200 && request.status < 300) resolve();
      else fail(`status ${request.status}`);
    });
    request.onerror = settle(() => {
      fail('the connection broke');
    });
    request.onabort = settle(() => {
      reject(signal.reason as Error);
    });
    signal.addEventListener('abort', stop, { once: true });
    request.send(part);
  });
