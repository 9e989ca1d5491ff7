/** Numbers as people read them. */

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;

/** "3.2 GB"; powers of 1000, as shops and file managers count. */
export function bytes(count: number): string {
  const power = count < 1000 ? 0 : Math.min(Math.floor(Math.log10(count) / 3), UNITS.length - 1);
  const value = count / 1000 ** power;
  return `${number(value, power === 0 || value >= 100 ? 0 : 1)} ${UNITS[power] ?? ''}`;
}

export function number(value: number, digits = 0): string {
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}

/** "$0.04"; of less than a cent only that. */
export function money(dollars: number): string {
  if (dollars === 0) return '$0';
  return dollars < 0.01 ? 'less than $0.01' : `$${dollars.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** Of a duration in seconds: "45 s", "3 min", "2 h 10 min". */
export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** In the reader's zone: "28 Nov 2026, 14:03". */
export function moment(iso: string): string {
  return new Date(iso).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
}
