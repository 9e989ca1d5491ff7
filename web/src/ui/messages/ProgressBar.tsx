import { useId } from 'react';

interface Props {
  label: string;
  value: number | undefined; // 0 to 1; undefined: unknown
  detail?: string; // "1,204 of 9,800 tiles"
}

export function ProgressBar({ label, value, detail }: Props) {
  const id = useId();
  const percent = value === undefined ? undefined : Math.floor(Math.min(Math.max(value, 0), 1) * 100);
  return (
    <div className="flex flex-col gap-1">
      <div className="flex justify-between gap-4 text-sm">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        <span className="text-muted tabular-nums">{detail ?? (percent === undefined ? '' : `${percent} %`)}</span>
      </div>
      <progress
        id={id}
        max={100}
        {...(percent === undefined ? {} : { value: percent })}
        className="h-2 w-full overflow-hidden rounded-full bg-sunken"
      />
    </div>
  );
}
