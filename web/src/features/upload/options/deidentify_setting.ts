/** Stores in this browser whether uploads are de-identified. */
const KEY = 'tessera.deidentify';

export const readDeidentifySetting = (): boolean => localStorage.getItem(KEY) === 'yes';

export function saveDeidentifySetting(isWanted: boolean): void {
  if (isWanted) localStorage.setItem(KEY, 'yes');
  else localStorage.removeItem(KEY);
}
