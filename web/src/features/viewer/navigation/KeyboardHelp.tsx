const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['Arrow keys, W A S D', 'move'],
  ['+  −', 'zoom in, zoom out'],
  ['Shift with ↑ ↓', 'zoom in, zoom out'],
  ['0', 'whole slide'],
  ['Enter', 'scores of the tile in the centre, while you move'],
  ['Escape', 'clear the tile'],
  ['Tab', 'leave the slide'],
];

/** The keys of OpenSeadragon and of the stage; they work while the slide has the focus. */
export function KeyboardHelp() {
  return (
    <details>
      <summary className="cursor-pointer text-sm font-medium">Keyboard</summary>
      <p className="mt-1 text-xs text-muted">While the slide has the focus (Tab goes to it):</p>
      <dl className="mt-1 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-xs">
        {KEYS.map(([keys, does]) => (
          <div key={keys} className="contents">
            <dt className="font-mono">{keys}</dt>
            <dd className="text-muted">{does}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
