/** A WebSocket whose server is the test. */
export class FakeSocket {
  static readonly made: FakeSocket[] = [];

  readyState = 0;
  readonly sent: { type: string; payload?: { data: string; extensions: { authorization: unknown } } }[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  onerror: (() => void) | null = null;

  constructor(
    readonly url: string,
    readonly protocols: string[],
  ) {
    FakeSocket.made.push(this);
  }

  static readonly connect = (url: string, protocols: string[]): WebSocket => {
    return new FakeSocket(url, protocols) as unknown as WebSocket;
  };

  static get last(): FakeSocket {
    const socket = FakeSocket.made.at(-1);
    if (socket === undefined) throw new Error('No socket was opened.');
    return socket;
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as FakeSocket['sent'][number]);
  }

  close(): void {
    this.readyState = 3;
  }

  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  say(frame: object): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }

  /** Play the server up to an active subscription. */
  admit(): void {
    this.open();
    this.say({ type: 'connection_ack', payload: { connectionTimeoutMs: 300_000 } });
    this.say({ type: 'ka' });
    this.say({ type: 'start_ack', id: '1' });
  }

  push(onJobUpdate: object): void {
    this.say({ type: 'data', id: '1', payload: { data: { onJobUpdate } } });
  }

  drop(): void {
    this.readyState = 3;
    this.onerror?.();
    this.onclose?.();
  }
}
