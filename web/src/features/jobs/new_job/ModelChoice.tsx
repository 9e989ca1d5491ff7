import { useId } from 'react';
import { formatNumber, joinWords } from '../../../ui/format';
import { Badge } from '../../../ui/Badge';
import { type ModelCard, readCard, modelKey, sortModels } from './model_card';
import type { Model } from '../queries';

interface Props {
  models: readonly Model[];
  chosen: string | null; // `keyOf` of one
  onChoose: (model: Model) => void;
  fault: string | undefined;
}

export function ModelChoice({ models, chosen, onChoose, fault }: Props) {
  const id = useId();
  return (
    <fieldset aria-describedby={`${id}-research${fault ? ` ${id}-fault` : ''}`}>
      <legend className="mb-2 text-base font-semibold">Model</legend>
      <p id={`${id}-research`} className="mb-3 text-sm text-muted">
        For research only. No model here is a medical device or intended for diagnosis.
      </p>
      {fault && (
        <p id={`${id}-fault`} className="mb-2 text-sm text-bad">
          {fault}
        </p>
      )}
      <div className="flex flex-col gap-2">
        {sortModels(models).map((model) => (
          <ModelOption
            key={modelKey(model)}
            model={model}
            isChosen={modelKey(model) === chosen}
            isInvalid={fault !== undefined}
            onChoose={() => {
              onChoose(model);
            }}
          />
        ))}
      </div>
    </fieldset>
  );
}

interface ModelOptionProps {
  model: Model;
  isChosen: boolean;
  isInvalid: boolean;
  onChoose: () => void;
}

function ModelOption({ model, isChosen, isInvalid, onChoose }: ModelOptionProps) {
  const id = useId();
  const card = readCard(model);
  return (
    <div className={`relative flex gap-3 rounded-lg border p-4 ${isChosen ? 'border-accent bg-sunken' : 'border-line bg-raised'}`}>
      <input
        type="radio"
        id={id}
        name="model"
        checked={isChosen}
        onChange={onChoose}
        aria-describedby={`${id}-card`}
        data-invalid={isInvalid || undefined}
        className="relative z-1 mt-0.5 size-5 shrink-0 accent-accent"
      />
      <div className="min-w-0 text-sm">
        {/* The label covers the card, so that a click anywhere on it selects the model. */}
        <label htmlFor={id} className="font-medium before:absolute before:inset-0 before:cursor-pointer before:content-['']">
          {model.name} <span className="font-normal text-muted">{model.version}</span>
        </label>{' '}
        {!model.is_default && <Badge tone="plain">Other version</Badge>}
        <div id={`${id}-card`}>
          <p className="mt-1">{card.description ?? 'The model card states no purpose.'}</p>
          <p className="mt-1 text-muted">{[describeOwner(model), ...describeCard(card)].join(' · ')}</p>
        </div>
      </div>
    </div>
  );
}

const describeOwner = ({ owner }: Model): string => (owner === 'tenant' ? 'yours' : 'of the installation');

export function describeCard(card: ModelCard): string[] {
  const { stain, organ, mpp, range, licence, isBuiltIn } = card;
  const scale = mpp === null ? 'scale not stated' : `${mpp} µm per pixel`;
  return [
    stain === null ? 'stain not stated' : `for ${stain}`,
    ...(organ === null ? [] : [`made for ${organ}`]),
    range === null ? scale : `${scale}, validated for slides of ${range[0]} to ${range[1]}`,
    describeOutput(card),
    licence === null ? (isBuiltIn ? 'part of Tessera' : 'licence not stated') : `licence ${licence}`,
  ];
}

function describeOutput({ columns, dimensions, classes }: ModelCard): string {
  if (dimensions !== null) return `a vector of ${formatNumber(dimensions)} numbers a tile`;
  if (classes !== null) return `outlines of ${joinWords(classes)}`;
  return `${columns.length} ${columns.length === 1 ? 'value' : 'values'} a tile`;
}
