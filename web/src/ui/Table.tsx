import type { ReactNode } from 'react';

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ReactNode;
  isNumber?: boolean;
  hideTitle?: boolean; // for images or buttons
  isForWide?: boolean; // hidden in narrow windows
  isRowHeader?: boolean; // the column that names a row
}

const NARROW = 'max-lg:hidden';

interface Props<Row> {
  caption: string; // for screen readers
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}

export function Table<Row>({ caption, columns, rows, keyOf }: Props<Row>) {
  return (
    // The table scrolls on its own in narrow windows, also by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div role="region" aria-label={caption} tabIndex={0} className="overflow-x-auto rounded-lg border border-line bg-raised">
      <table className="w-full text-sm">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr className="border-b border-line text-left text-muted">
            {columns.map(({ title, isNumber, hideTitle, isForWide }) => (
              <th key={title} scope="col" className={`px-4 py-2.5 font-medium ${isNumber ? 'text-right' : ''} ${hideTitle ? 'w-px' : ''} ${isForWide ? NARROW : ''}`}>
                <span className={hideTitle ? 'sr-only' : ''}>{title}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} className="border-b border-line align-middle last:border-0">
              {columns.map((column) => (
                <Cell key={column.title} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column: { cell, isNumber, isForWide, isRowHeader }, row }: { column: Column<Row>; row: Row }) {
  const look = `px-4 py-2.5 text-left ${isNumber ? 'text-right tabular-nums' : ''} ${isForWide ? NARROW : ''}`;
  return isRowHeader ? (
    <th scope="row" className={`${look} font-medium`}>
      {cell(row)}
    </th>
  ) : (
    <td className={look}>{cell(row)}</td>
  );
}
