import { useEffect, useState } from 'react';
import { TextField } from './TextField';

const PAUSE = 300; // ms after the last keystroke

interface Props {
  label: string;
  value: string; // the current search
  onSearch: (text: string) => void;
  className?: string;
}

/** Calls `onSearch` when the user pauses typing; follows `value` when that changes from outside. */
export function SearchField({ label, value, onSearch, className = 'w-72' }: Props) {
  const [typed, setTyped] = useState(value);
  const [held, setHeld] = useState(value);
  if (held !== value) {
    setHeld(value);
    if (typed.trim() !== value) setTyped(value);
  }
  useEffect(() => {
    if (typed.trim() === value) return undefined;
    const timer = setTimeout(() => {
      onSearch(typed.trim());
    }, PAUSE);
    return () => {
      clearTimeout(timer);
    };
  }, [typed, value, onSearch]);
  return (
    <TextField
      label={label}
      type="search"
      className={className}
      maxLength={200}
      value={typed}
      onChange={(event) => {
        setTyped(event.target.value);
      }}
    />
  );
}
