import { Link } from 'react-router';
import { Badge } from '../../../ui/Badge';
import { Button, ButtonLink } from '../../../ui/Button';
import { withFieldLabels } from '../../../ui/fields/field_labels';
import { formatBytes, formatNumber } from '../../../ui/format';
import type { UploadLine } from '../transfer/uploads_view';
import { isFinished } from '../transfer/uploads_view';
import { PHASES, describeOptions, describeProgress } from './labels';

interface Props {
  line: UploadLine;
  onPause: () => void;
  onResume: () => void;
  onCancel: () => void;
  onRemove: () => void;
}

export function TransferRow({ line, ...does }: Props) {
  const { name, phase, sentence, size, arrived } = line;
  const isQuiet = isFinished(line) || phase === 'inspecting';
  return (
    <li className="grid gap-x-4 gap-y-1.5 border-b border-line px-4 py-3 last:border-0 md:grid-cols-[1fr_14rem]">
      <div className="min-w-0">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <span className="min-w-0 text-sm font-medium break-all">
            {phase === 'ready' && line.slideId !== null ? (
              <Link to={`/slides/${line.slideId}`} className="text-accent hover:underline">
                {name}
              </Link>
            ) : (
              name
            )}
          </span>
          <Badge tone={PHASES[phase].tone}>{PHASES[phase].label}</Badge>
        </div>
        <progress
          aria-label={`Upload of ${name}`}
          max={100}
          value={Math.floor((arrived / size) * 100)}
          className={`mt-2 block h-1.5 w-full overflow-hidden rounded-full bg-sunken ${isFinished(line) ? 'invisible' : ''}`}
        />
        <p className="mt-1.5 text-sm text-muted tabular-nums">
          {[isQuiet ? formatBytes(size) : describeProgress(line), describeUpload(line)].filter(Boolean).join(' · ')}
        </p>
        {sentence !== null && (
          <p role="alert" className="mt-1 max-w-prose text-sm text-bad">
            {withFieldLabels(sentence)}
          </p>
        )}
      </div>
      <div className="flex items-start justify-end gap-2">
        <TransferButtons line={line} {...does} />
      </div>
    </li>
  );
}

function TransferButtons({ line: { name, phase, slideId }, onPause, onResume, onCancel, onRemove }: Props) {
  switch (phase) {
    case 'waiting':
    case 'checking':
    case 'sending':
      return (
        <>
          <Button aria-label={`Pause ${name}`} onClick={onPause}>
            Pause
          </Button>
          <CancelButton name={name} onCancel={onCancel} />
        </>
      );
    case 'paused':
    case 'failed':
      return (
        <>
          <Button aria-label={`${phase === 'paused' ? 'Resume' : 'Try again'} ${name}`} onClick={onResume}>
            {phase === 'paused' ? 'Resume' : 'Try again'}
          </Button>
          <CancelButton name={name} onCancel={onCancel} />
        </>
      );
    case 'finishing':
    case 'inspecting':
      return null; // takes the server seconds
    case 'ready':
      return (
        <>
          <ButtonLink to={`/jobs/new?slide=${slideId ?? ''}`} aria-label={`Analyse ${name}`}>
            Analyse
          </ButtonLink>
          <RemoveButton name={name} onRemove={onRemove} />
        </>
      );
    case 'rejected':
    case 'cancelled':
      return <RemoveButton name={name} onRemove={onRemove} />;
  }
}

function CancelButton({ name, onCancel }: { name: string; onCancel: () => void }) {
  return (
    <Button look="quiet" aria-label={`Cancel ${name}`} onClick={onCancel}>
      Cancel
    </Button>
  );
}

function RemoveButton({ name, onRemove }: { name: string; onRemove: () => void }) {
  return (
    <Button look="quiet" aria-label={`Remove ${name} from this list`} onClick={onRemove}>
      Remove
    </Button>
  );
}

/** Describe an upload: "24 files in case-7 · 0.25 µm per pixel stated". */
function describeUpload({ fileCount, folder, choice }: UploadLine): string {
  const stated = describeOptions(choice);
  const folderName = folder.slice(0, -1).split('/').at(-1);
  return [
    fileCount > 1 && `${formatNumber(fileCount)} files${folderName ? ` in ${folderName}` : ''}`,
    stated && `${stated} stated`,
    choice.deidentify && 'to be de-identified',
  ]
    .filter(Boolean)
    .join(' · ');
}
