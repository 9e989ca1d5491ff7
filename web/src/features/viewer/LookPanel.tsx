import { Checkbox } from '../../ui/Checkbox';
import { Select } from '../../ui/Select';
import { COLOUR_MAPS, type ColourMap } from './colours';
import type { Settings } from './shown';
import { Slider } from './Slider';

const NAMES: Record<ColourMap, string> = { viridis: 'Viridis', cividis: 'Cividis', magma: 'Magma' };

interface Props {
  settings: Settings;
  hasMask: boolean;
  hasObjects: boolean;
  onChange: (settings: Settings) => void;
}

/** How results lie over the slide, for all panes. */
export function LookPanel({ settings, hasMask, hasObjects, onChange }: Props) {
  const { heatmap, opacity, map, tissue, objects } = settings;
  return (
    <section aria-label="Overlay" className="flex flex-col gap-3 border-t border-line pt-3">
      <Checkbox
        label="Heatmap"
        checked={heatmap}
        onChange={(event) => {
          onChange({ ...settings, heatmap: event.target.checked });
        }}
      />
      <Slider
        label="Opacity"
        value={opacity}
        min={0}
        max={1}
        step={0.05}
        shown={`${Math.round(opacity * 100)} %`}
        disabled={!heatmap}
        onChange={(value) => {
          onChange({ ...settings, opacity: value });
        }}
      />
      <Select
        label="Colours"
        value={map}
        options={COLOUR_MAPS.map((value) => ({ value, label: NAMES[value] }))}
        onChange={(event) => {
          onChange({ ...settings, map: event.target.value as ColourMap });
        }}
      />
      {hasMask && (
        <Checkbox
          label="Outline of the tissue"
          checked={tissue}
          onChange={(event) => {
            onChange({ ...settings, tissue: event.target.checked });
          }}
        />
      )}
      {hasObjects && (
        <Checkbox
          label="Outlines of objects"
          checked={objects}
          onChange={(event) => {
            onChange({ ...settings, objects: event.target.checked });
          }}
        />
      )}
    </section>
  );
}
